"""Load a data set by its name."""

import hashlib
import io
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from qgcn.data.arrays import arrays_of
from qgcn.data.assemble import Array, assemble, degree_one_hot, undirected
from qgcn.data.catalogue import CATALOGUE, GENERATORS, Dataset, data_root, parts_of
from qgcn.data.citations import citations, published_fold
from qgcn.data.download import download
from qgcn.data.draft import from_index
from qgcn.data.hierarchies import published_arrays, published_split
from qgcn.data.pickles import Holder, read_pickle
from qgcn.hints import nearest

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["has_directed_splits", "is_known", "load", "load_directed_split", "load_entailment"]

# what separates the four classes of airports, in the scale of the file
_AIRPORT_BINS = (7 / 7, 8 / 7, 9 / 7)
ENTAILMENT = "wordnet-entailment"
CITATIONS = ("cora-ml", "citeseer-directed")
_OPTIONS = {"airport": ["degree_features"], "wordnet-nouns": ["relation"]}


def load(
    name: str, root: str | Path | None = None, *, split_seed: int = 0, mirror: str | None = None, **options: Any
) -> "Data":
    """Load a data set, after downloading it if it is not there yet.

    Args:
        name: One of :func:`qgcn.data.datasets`; case does not matter, ``_`` stands for ``-``.
        root: Folder of the data sets, one folder each; ``$QGCN_DATA``, then ``$XDG_CACHE_HOME/qgcn`` or ``~/.cache/qgcn`` by
            default.
        split_seed: Fixes the masks of a data set that has no public split.
        mirror: Address to download from instead of the publisher's: files are expected at ``MIRROR/NAME/FILE``.
        options: ``degree_features=True`` for airport: append a one-hot of ``min(degree, 5)``, six features;
            ``relation="hypernym"`` for wordnet-nouns: direct links instead of their transitive closure; the arguments of the
            generator for a generated graph.

    Returns:
        ``edge_index`` int64 of shape ``(2, E)``, sorted, no self-loops; ``directed``, false if each edge is there in both
        directions (all but wordnet-nouns, whose edges lead from a synset to its ancestors, wordnet-entailment, whose edges
        lead from a synset to those right below it, and the citations cora-ml and citeseer-directed); ``num_nodes``;
        ``node_ids``, the publisher's names of the nodes, shape ``(N,)``; ``name``; ``remarks``, what was cleaned. Where there
        are any: ``x`` float32 of shape ``(N, F)``, raw; ``y`` int64 of shape ``(N,)``; ``train_mask``, ``val_mask``,
        ``test_mask``.

    Raises:
        ValueError: Unknown name or option, or a file that is not the published one.
        OSError: A file is not there and cannot be downloaded.
    """
    key = name.lower().replace("_", "-")
    if key in GENERATORS:
        return _generate(key, GENERATORS[key], split_seed, options)
    if key not in CATALOGUE:
        known = [*CATALOGUE, *GENERATORS]
        raise ValueError(f"no data set {name!r}{nearest(key, known)} (known: {', '.join(known)})")
    entry = CATALOGUE[key]
    _check_options(key, options, _OPTIONS.get(key, []))
    files = _files(entry, data_root(root), mirror)
    if key == "airport":
        return _airport(files, split_seed, **options)
    if key == "wordnet-nouns":
        return _wordnet(files, **options)
    if key == ENTAILMENT:
        return _entailment(files)
    if key in CITATIONS:
        return citations(key, arrays_of(files[f"{key}.npz"], f"{key}.npz"), split_seed)
    return _planetoid(key, files) if entry.features else _edge_list(key, files)


def load_entailment(name: str, share: float, root: str | Path | None = None) -> dict[str, Tensor] | None:
    """Return the published split of the pairs of a hierarchy, ordered from ancestor to descendant.

    Args:
        name: Name of the data set.
        share: Share of the implied pairs that are trained on.
        root: Folder of the data sets.

    Returns:
        As for :func:`qgcn.data.split_hierarchy`; nothing if the data set has no published split.

    Raises:
        ValueError: The data set has no such share.
        OSError: A file is not there.
    """
    if name.lower().replace("_", "-") != ENTAILMENT:
        return None
    return published_split(_hierarchy(_files(CATALOGUE[ENTAILMENT], data_root(root), None)), share, ENTAILMENT)


def load_directed_split(name: str, fold: int, root: str | Path | None = None) -> dict[str, Tensor] | None:
    """Return a published split of the edges of a directed graph into ordered pairs.

    Args:
        name: Name of the data set.
        fold: Number of the split, from 0.
        root: Folder of the data sets.

    Returns:
        As for :func:`qgcn.data.split_directed`; nothing if the data set has no published split.

    Raises:
        ValueError: The data set has no such split.
        OSError: A file is not there.
    """
    key = name.lower().replace("_", "-")
    if not has_directed_splits(key):
        return None
    (content,) = _files(CATALOGUE[key], data_root(root), None).values()
    return published_fold(arrays_of(content, f"{key}.npz"), fold, key)


def has_directed_splits(name: str) -> bool:
    """Tell whether a data set has published splits for :func:`load_directed_split`; reads no file."""
    return name.lower().replace("_", "-") in CITATIONS


def is_known(name: str) -> bool:
    """Tell whether :func:`load` knows the name."""
    key = name.lower().replace("_", "-")
    return key in CATALOGUE or key in GENERATORS


def _check_options(name: str, options: dict[str, Any], known: list[str]) -> None:
    for option in options:
        if option not in known:
            listed = f"known: {', '.join(known)}" if known else "it takes none"
            raise ValueError(f"no option {option!r} for {name!r}{nearest(option.lower(), known)} ({listed})")


def _files(entry: Dataset, root: Path, mirror: str | None) -> dict[str, bytes]:
    """Return the content of each file, as checked: what is hashed is what is read."""
    folder, contents = root / entry.folder, {}
    if entry.joined and (folder / entry.joined).is_file():
        return {entry.joined: _content(folder / entry.joined)}
    base = entry.url if mirror is None else f"{mirror.rstrip('/')}/{entry.folder}/"
    for file, checksum in entry.files.items():
        path = folder / file
        if not path.is_file():
            if base is None:
                raise FileNotFoundError(
                    f"{path} is not there, and is not published as one file: place it there with {entry.layout}"
                )
            download(base + file, path, checksum)
        content = _content(path)
        # what users build themselves from WordNet need not be the same to the byte; it is no pickle
        if entry.url is not None and hashlib.sha256(content).hexdigest() != checksum:
            raise ValueError(f"{path} is not the published file: its SHA-256 is not {checksum}; delete it to download it again")
        contents[file] = content
    return contents


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OSError(f"cannot read {path}: {error.strerror or error}") from None


def _generate(name: str, generator: Callable[..., Any], split_seed: int, options: dict[str, Any]) -> "Data":
    _check_options(name, options, list(signature(generator).parameters))
    edge_index, labels, x = parts_of(generator(**options))
    bound = signature(generator).bind(**options)
    bound.apply_defaults()
    if labels is not None:
        nodes = len(labels)
    elif "nodes" in bound.arguments:
        nodes = bound.arguments["nodes"]
    else:
        nodes = int(edge_index.max()) + 1
    return undirected(assemble(edge_index.numpy(), nodes, name=name, x=x, y=labels, split_seed=split_seed))


def _planetoid(name: str, files: dict[str, bytes]) -> "Data":
    """Read the raw files: 20 training nodes a class, 500 for validation, 1000 for the test, as published."""

    def part(suffix: str) -> Any:
        return read_pickle(files[f"ind.{name}.{suffix}"], f"ind.{name}.{suffix}")

    allx, tx = _dense(part("allx")), _dense(part("tx"))
    ally, ty = part("ally"), part("ty")
    test = np.array(files[f"ind.{name}.test.index"].split(), dtype=np.int64)
    # row k of tx belongs to node test[k]; nodes in this range that are not listed (CiteSeer has 15) stay without features,
    # in class 0 and outside every mask
    nodes = int(test.max()) + 1
    x = np.zeros((nodes, allx.shape[1]), dtype=np.float32)
    x[: len(allx)], x[test] = allx, tx
    one_hot = np.zeros((nodes, ally.shape[1]))
    one_hot[: len(ally)], one_hot[test] = ally, ty

    graph = part("graph")
    sources = np.repeat(np.fromiter(graph, dtype=np.int64), [len(neighbours) for neighbours in graph.values()])
    targets = np.concatenate([np.array(neighbours, dtype=np.int64) for neighbours in graph.values()])
    masks = np.zeros((3, nodes), dtype=bool)
    labelled = len(part("y"))
    masks[0, :labelled] = masks[1, labelled : labelled + 500] = masks[2, test] = True
    train_mask, val_mask, test_mask = torch.from_numpy(masks)
    unlisted = nodes - len(allx) - len(test)
    data = assemble(
        np.stack((sources, targets)),
        nodes,
        name=name,
        x=torch.from_numpy(x),
        y=torch.from_numpy(one_hot.argmax(axis=1)),
        masks=(train_mask, val_mask, test_mask),
        remarks=(f"{unlisted} nodes without features and label: zeros, class 0, in no mask",) if unlisted else (),
    )
    return undirected(data)


def _dense(matrix: Holder) -> Array:
    from scipy.sparse import csr_matrix

    parts = vars(matrix)
    return np.asarray(csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=parts["_shape"]).toarray())


def _airport(files: dict[str, bytes], split_seed: int, *, degree_features: bool = False) -> "Data":
    graph = vars(read_pickle(files["airport.p"], "airport.p"))
    node_ids = np.fromiter(graph["_node"], dtype=np.int64)
    index = {int(node): k for k, node in enumerate(node_ids)}
    edges = np.array([(index[a], index[b]) for a, neighbours in graph["_adj"].items() for b in neighbours], dtype=np.int64).T
    table = np.array([attributes["feat"] for attributes in graph["_node"].values()])
    data = assemble(
        edges,
        len(node_ids),
        name="airport",
        node_ids=node_ids,
        x=torch.from_numpy(table[:, :4]).float(),
        y=torch.from_numpy(np.digitize(table[:, 4], _AIRPORT_BINS)).long(),
        split_seed=split_seed,
    )
    data = undirected(data)
    if degree_features:
        data.x = torch.cat((data.x, degree_one_hot(data.edge_index, len(node_ids))), dim=1)
    return data


def _edge_list(name: str, files: dict[str, bytes]) -> "Data":
    pairs = np.loadtxt(io.BytesIO(files[f"{name}.edges.csv"]), delimiter=",", dtype=np.int64)
    node_ids, edges = np.unique(pairs, return_inverse=True)
    return undirected(assemble(edges.reshape(pairs.shape).T, len(node_ids), name=name, node_ids=node_ids))


def _wordnet(files: dict[str, bytes], *, relation: str = "closure") -> "Data":
    relations = ("closure", "hypernym")
    if relation not in relations:
        raise ValueError(f"relation must be one of {', '.join(relations)}, got {relation!r}")
    arrays = arrays_of(files["wordnet-nouns.npz"], "wordnet-nouns.npz")
    edges, lemma = arrays.get(relation), arrays.get("lemma")
    if edges is None or lemma is None or edges.ndim != 2 or lemma.ndim != 1:
        raise ValueError(f"wordnet-nouns.npz must hold the arrays {relation!r} (E, 2) and 'lemma' (N,)")
    draft = from_index(edges.T, f"wordnet-nouns.npz: {relation}", "wordnet-nouns", len(lemma))
    return assemble(draft.edges, len(lemma), name="wordnet-nouns", node_ids=lemma)


def _hierarchy(files: dict[str, bytes]) -> dict[str, Array]:
    """Return the arrays of a hierarchy with a published split: of one file, or of the tables that it is published as."""
    joined = f"{ENTAILMENT}.npz"
    if joined in files:
        return arrays_of(files[joined], joined)
    return published_arrays({name.rpartition(".")[2]: content for name, content in files.items()})


def _entailment(files: dict[str, bytes]) -> "Data":
    arrays = _hierarchy(files)
    edges, names = arrays.get("train_0percent"), arrays.get("names")
    if edges is None or names is None or edges.ndim != 2 or names.ndim != 1:
        raise ValueError(f"{ENTAILMENT}.npz must hold the arrays 'train_0percent' (E, 2) and 'names' (N,)")
    draft = from_index(edges.T, f"{ENTAILMENT}.npz: train_0percent", ENTAILMENT, len(names))
    return assemble(draft.edges, len(names), name=ENTAILMENT, node_ids=names)
