"""Graphs of your own: tensors, matrices, NetworkX graphs and files become the same ``Data`` as a named data set."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgcn.data.assemble import assemble, count
from qgcn.data.attributes import read_features, read_labels
from qgcn.data.catalogue import CATALOGUE, GENERATORS
from qgcn.data.draft import Draft
from qgcn.data.edge_lists import EdgeColumns
from qgcn.data.graph_files import from_path
from qgcn.data.load import is_known, load
from qgcn.data.nodes import Nodes
from qgcn.data.objects import from_object
from qgcn.hints import nearest
from qgcn.progress import Progress, silent

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

__all__ = ["as_data", "read_graph"]


def read_graph(
    graph: Any,
    *,
    features: Any = None,
    labels: Any = None,
    num_nodes: int | None = None,
    split_seed: int = 0,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    progress: Progress = silent,
) -> "Data":
    """Read a graph of your own.

    ``graph`` is one of:

    - a PyG ``Data``; its ``x``, ``y``, ``classes``, masks and ``edge_weight`` are kept; ``adj_t`` may stand for ``edge_index``;
    - an ``edge_index`` of shape ``(2, E)``, or pairs of shape ``(E, 2)``: a tensor, an array or nested lists of integers. Shape
      ``(2, 2)`` is read as an ``edge_index``;
    - a list of tuples, ``("ann", "bob")`` or ``(0, 1)``, perhaps with a weight as the third entry; ids are names or integers;
    - a square adjacency matrix: an array, a dense or sparse tensor, nested lists or a SciPy sparse matrix. Rows are sources;
      values other than 1 are weights. Integers of shape ``(2, 2)`` are no matrix but an ``edge_index``;
    - a NetworkX graph; the edge attribute ``weight`` is the weight;
    - a pandas ``DataFrame``: an adjacency matrix if it is square and its index equals its columns, which name the nodes;
      otherwise read like an edge list with a header;
    - the path of an edge list (``.csv``, ``.tsv``, ``.txt``, ``.edges``, ``.edgelist``, ``.tab``, ``.dat``, each also with
      ``.gz``, or ``.parquet``): two ids a line and perhaps a weight, divided by commas, semicolons, tabs or blanks, with or
      without a header; lines that begin with ``#`` or ``%`` are comments. Ids are integers or names. Of a wider table, the
      columns called ``source`` and ``target`` (``src`` and ``dst``, ``from`` and ``to``, ...) or else the first two are read,
      and as weights the one called ``weight``; ``remarks`` names the columns that are ignored;
    - the path of an ``.npz``: ``edge_index`` of shape ``(2, E)`` or ``edges`` of shape ``(E, 2)``, perhaps ``x``, ``y``,
      ``edge_weight`` and ``node_ids``; or what ``scipy.sparse.save_npz`` or :func:`qgcn.data.save_graph` wrote;
    - the path of a ``.graphml``.

    A pickle is never read.

    Direction is kept: a file that lists each edge of an undirected graph once is directed until :func:`qgcn.data.undirected`
    adds the other direction, as every task and measurement does that needs it. Self-loops and edges of weight 0 are removed, an
    edge given more than once becomes one with the mean of its weights. ``remarks`` says how many of each. Isolated nodes stay
    where they are known: from ``num_nodes``, from the features, from a matrix, a ``Data`` or a NetworkX graph.

    Args:
        graph: The graph.
        features: Path of a table, first the id, then numbers; path of an ``.npy`` or ``.npz``; or an array or sparse matrix of
            shape ``(N, F)`` in the order of the nodes. Every node needs them.
        labels: Path of a table of id and label; path of an ``.npy`` or ``.npz``; or an array or list of shape ``(N,)``. Labels
            are strings or integers; no label is an empty string, a negative integer or ``None``.
        num_nodes: Number of nodes, if ids are ``0 .. N - 1`` and not all of them have edges.
        split_seed: Fixes the masks, 70 / 15 / 15 of the labelled nodes.
        source: Column of the source of an edge, by name or by its number from 1, in a table of edges. If source and target are
            given, columns that are not named are not read.
        target: Column of the target.
        weight: Column of the weight.
        progress: Progress callback, in bytes of a long edge list.

    Returns:
        The same as :func:`qgcn.data.load`; besides ``edge_weight`` float32 of shape ``(E,)`` if edges have weights, and
        ``classes``, the names of the classes, if nodes have labels. Nodes without a label have ``y == -1`` and are in no mask.

    Raises:
        OSError: A file cannot be read.
        ValueError: It cannot be understood: one line says what and where.
        TypeError: ``graph`` is none of these.
    """
    wanted = EdgeColumns(source, target, weight)
    if isinstance(graph, str | os.PathLike):
        draft = from_path(Path(graph), num_nodes, wanted, progress)
    else:
        draft = from_object(graph, num_nodes, wanted)
    draft.check_weights()
    x, nodes = _features(draft, features)
    y, classes, nodes = _labels(draft, labels, nodes)
    if x is not None and len(x) != len(nodes.ids):
        raise ValueError(f"labels are for {len(nodes.ids)} nodes, features for {len(x)}")
    edges = draft.edges if nodes is draft.nodes else nodes.locate(draft.nodes.ids)[draft.edges]
    bare = 0 if y is None else int((y < 0).sum())
    more = (f"{count(bare, 'node')} without label, in no mask",) if bare else ()
    data = assemble(
        edges,
        len(nodes.ids),
        name=draft.name,
        weights=draft.weights,
        node_ids=nodes.ids,
        x=x,
        y=y,
        masks=draft.masks if labels is None else None,
        split_seed=split_seed,
        remarks=(*draft.remarks, *more),
    )
    if data.edge_index.numel() == 0:
        raise ValueError(f"{draft.name} has no edges" + (f" ({'; '.join(data.remarks)})" if data.remarks else ""))
    if classes is not None:
        data.classes = classes
    return data


def _features(draft: Draft, features: Any) -> "tuple[Tensor | None, Nodes]":
    """Return the features of the nodes, and the nodes; features that are given go before those of the draft."""
    given = draft.x if features is None else features
    return (None, draft.nodes) if given is None else read_features(given, draft.nodes)


def _labels(draft: Draft, labels: Any, nodes: Nodes) -> "tuple[Tensor | None, list[str] | None, Nodes]":
    """Return the classes of the nodes, their names, and the nodes; labels that are given go before those of the draft."""
    if labels is not None:
        return read_labels(labels, nodes)
    if draft.y is None:
        return None, None, nodes
    y, classes, nodes = read_labels(draft.y, nodes)
    return y, classes if draft.classes is None else [draft.classes[int(number)] for number in classes], nodes


def check_found(graph: str) -> None:
    """Raise ``ValueError`` if a string is neither the name of a data set nor a file."""
    if not is_known(graph) and not Path(graph).exists():
        raise ValueError(f"no file and no data set {graph!r}{nearest(graph.lower(), [*CATALOGUE, *GENERATORS])}")


def as_data(
    graph: Any,
    root: str | Path | None = None,
    split_seed: int = 0,
    features: Any = None,
    labels: Any = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> "Data":
    """Turn whatever names or is a graph into ``Data``: the one door of the command line and the estimator.

    Args:
        graph: The name of a data set, for :func:`qgcn.data.load`, or anything that :func:`read_graph` takes. A string that is
            both a name and a file is the name; write ``./cora`` for the file.
        root: Folder of the data sets.
        split_seed: Fixes the masks.
        features: As for :func:`read_graph`.
        labels: As for :func:`read_graph`.
        source: As for :func:`read_graph`.
        target: As for :func:`read_graph`.
        weight: As for :func:`read_graph`.
        progress: As for :func:`read_graph`.
        options: As for :func:`qgcn.data.load`.

    Raises:
        OSError: A file cannot be read or downloaded.
        ValueError: A string is neither a name nor a file, or the graph cannot be understood.
    """
    columns: dict[str, Any] = {"source": source, "target": target, "weight": weight}
    if isinstance(graph, str):
        if is_known(graph):
            EdgeColumns(**columns).check_unused(f"the data set {graph}")
            data = load(graph, root, split_seed=split_seed, **options)
            if features is None and labels is None:
                return data
            return read_graph(data, features=features, labels=labels, split_seed=split_seed)
        check_found(graph)
    if options:
        raise ValueError(f"option {next(iter(options))!r} is for named data sets only")
    return read_graph(graph, features=features, labels=labels, split_seed=split_seed, progress=progress, **columns)
