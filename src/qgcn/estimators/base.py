"""The common part of all estimators: parameters, what a graph is, training and progress."""

import math
import os
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import coo_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from qgcn.analysis.signature import Suggestion, auto_space, suggest_signature
from qgcn.data import NodeNames, as_data, undirected
from qgcn.estimators.rows import RowGraph, grown
from qgcn.manifolds import spaces_of_dimension
from qgcn.models import lives_in
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, find_task
from qgcn.training.run import Run

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Estimator"]

Array = np.ndarray[Any, Any]

AFFINITIES = ("precomputed", "nearest_neighbors")
"""What the first argument of ``fit`` is: a graph, or a table whose rows are linked to their nearest neighbours."""
SETTINGS = ("model", "epochs", "layers", "lr", "dropout", "weight_decay", "device")
"""Parameters that are keys of a config; one that is not given is left to the task."""
ROUNDS = 2
"""Rounds of trials for ``auto``: the third, with two seeds, is left to ``suggest_signature``."""
TRIAL_NODES = 500
"""Nodes that trials for ``auto`` reconstruct, at most."""


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and training of all estimators.

    A *graph* is anything that :func:`qgcn.data.as_data` takes: a PyG ``Data``, an ``edge_index``, an adjacency matrix, a
    NetworkX graph, the path of a file, or the name of a data set. Questions about a changed graph find nodes by their names.
    They also take what scikit-learn's cross-validation gives an estimator of a precomputed matrix: the links of new nodes, the
    rows, to the fitted nodes, the columns.

    Args:
        space: Name of the space, such as ``Q7,3``, ``H10`` or ``H5xS5``; that of the model if not given. ``auto``, or
            ``auto:10`` for another number of dimensions than 16, has it chosen by short trial runs on the graph that is fitted,
            see :func:`qgcn.analysis.suggest_signature`: a few spaces and two rounds. The choice depends on nothing but the
            graph, the parameters and ``random_state``.
        model: Name of the model, see :func:`qgcn.models.build`; that of the task if not given.
        epochs: Maximum number of epochs; that of the task if not given.
        layers: Number of layers; that of the task if not given.
        lr: Learning rate; that of the task if not given.
        dropout: Share of tangent coordinates dropped; that of the task if not given.
        weight_decay: L2 regularisation; that of the task if not given.
        affinity: ``precomputed``: the first argument of ``fit`` and of every question is a graph. ``nearest_neighbors``: it is
            a table of features, shape ``(n_samples, n_features)``, as scikit-learn's other estimators take it. Its rows are
            the nodes, each linked to its ``n_neighbors`` nearest rows in Euclidean distance, and their own features.
        n_neighbors: Number of neighbours of a row with ``affinity="nearest_neighbors"``, and of a node in ``kneighbors``.
        random_state: Seed, as scikit-learn takes it.
        device: ``auto``, ``cpu`` or ``cuda``.
        verbose: Print progress if not 0.
        options: Further keys of :class:`qgcn.tasks.Config`, such as ``{"seeds": 5}``: probabilities are then means over five
            models.

    Attributes:
        run_: The trained run, which can be asked more, see :class:`qgcn.training.Run`.
        space_: The space, with the curvature that was learned.
        suggestion_: How ``auto`` chose it, a :class:`qgcn.analysis.Suggestion`; ``None`` if the space was named.
        scores_: Scores of the task.
        node_ids_: Names of the nodes, in the order of the rows of every answer; numbers if they have none.
        n_features_in_: Number of nodes of a graph, or of columns of a table.
    """

    def __init__(
        self,
        space: str | None = None,
        *,
        model: str | None = None,
        epochs: int | None = None,
        layers: int | None = None,
        lr: float | None = None,
        dropout: float | None = None,
        weight_decay: float | None = None,
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        verbose: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.space = space
        self.model = model
        self.epochs = epochs
        self.layers = layers
        self.lr = lr
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.device = device
        self.verbose = verbose
        self.options = options

    # --- training ----------------------------------------------------------------------------------------------------

    def _read(self, graph: Any, features: Any = None) -> "Data":
        """Return the graph that is to be fitted.

        Raises:
            ValueError: ``affinity`` is unknown, or the argument is no graph or no table.
        """
        if self.affinity not in AFFINITIES:
            raise ValueError(f"affinity must be one of {', '.join(map(repr, AFFINITIES))}, got {self.affinity!r}")
        self._rows, self._matrix = None, False
        if self.affinity == "precomputed":
            given = self._checked(graph)
            self._matrix = issparse(given)
            data = as_data(given, features=features)
            self.n_features_in_ = int(data.num_nodes or 0)
            return data
        _check_no_features(features)
        self._rows = RowGraph(validate_data(self, graph, accept_sparse="csr", ensure_min_samples=2), self.n_neighbors)
        return self._rows.data

    def _checked(self, graph: Any, columns_allowed: int | None = None) -> Any:
        """Check a matrix as scikit-learn does, and return it as a sparse one; return any other graph as it is.

        Raises:
            ValueError: The matrix is neither square nor has as many columns as allowed, or a value is no weight.
        """
        if not _is_matrix(graph, integers=self._matrix):
            return graph
        least = 2 if columns_allowed is None else 1
        matrix = check_array(graph, accept_sparse=True, ensure_non_negative=True, ensure_min_samples=least, estimator=self)
        rows, columns = matrix.shape
        if rows != columns and columns != columns_allowed:
            raise ValueError(
                f"X has {columns} features, but {type(self).__name__} is expecting {rows} features as input: "
                f"an adjacency matrix must be square, got {matrix.shape}"
            )
        return coo_array(matrix)

    def _seed(self) -> int:
        given: Any = self.random_state
        return int(given) if isinstance(given, Integral) else int(check_random_state(given).randint(2**31 - 1))

    def _train(self, data: "Data", task: str, seed: int, **defaults: Any) -> None:
        """Choose a space if asked to, train, and set the attributes that all estimators have.

        Args:
            data: The graph.
            task: Name of the task.
            seed: The seed.
            defaults: Keys of the config that ``options`` may change.
        """
        progress: Progress = _Lines() if self.verbose else silent
        values = {name: getattr(self, name) for name in SETTINGS if getattr(self, name) is not None}
        values |= {
            "task": task,
            "data": str(getattr(data, "name", "graph") or "graph"),
            "seed": seed,
            "yardsticks": False,
        } | defaults
        values |= ({} if self.space is None else {"space": self.space}) | (self.options or {})
        dim = auto_space(str(values.get("space", "")))
        suggestion = None if dim is None else _suggest(data, dim, values, progress)
        run = Run(Config.checked(values if suggestion is None else values | {"space": suggestion.space}), data=data)
        run.train(progress)
        self.run_ = run
        self.suggestion_ = suggestion
        self.space_ = run.embedding().space
        self.scores_ = run.results[0]["test"]
        self.node_ids_ = run.node_ids

    # --- questions ---------------------------------------------------------------------------------------------------

    def _answer(self, question: "Callable[[Data | None], Array]", graph: Any, features: Any) -> tuple[Array, Array | None]:
        """Ask about every node of a graph, or every row of a table.

        Args:
            question: Answers for all nodes of a graph, of the one that was fitted if none is given.
            graph: A changed graph, links of new nodes, or a table; what was fitted if it is not given.
            features: Features of the nodes of a graph.

        Returns:
            The answers, and the names of the nodes; rows of a table have none.
        """
        check_is_fitted(self, "run_")
        if self._rows is not None:
            _check_no_features(features)
        if self._rows is not None and graph is not None:
            rows = validate_data(self, graph, accept_sparse="csr", reset=False)
            return self._rows.answer(rows, question), None
        size = self.n_features_in_
        links = self._checked(graph, size)
        if not issparse(links) or links.shape[0] == links.shape[1]:
            data = self._changed(links, features)
            return question(data), self.node_ids_ if data is None else NodeNames.of(data).ids
        if not np.array_equal(self.node_ids_, np.arange(size)):
            raise ValueError(f"an adjacency matrix must be square for nodes with names, got {links.shape}")
        data = grown(self.run_.task.source, links, features)
        return question(data)[size:], NodeNames.of(data).ids[size:]

    def _changed(self, graph: Any, features: Any) -> "Data | None":
        """Return a changed graph; ``None`` if it is the one that was fitted.

        Raises:
            ValueError: It cannot be understood, or may be something else than the whole graph.
        """
        if graph is None and features is None:
            return None
        fitted, given = self.run_.task.source, self._checked(graph)
        data = as_data(fitted if graph is None else given, features=features)
        if issparse(given) and data.directed and not fitted.directed:
            raise ValueError(
                "a square matrix must be symmetric, as the one that was fitted: it is a whole graph; "
                f"links of new nodes to the {self.n_features_in_} fitted ones must have another number of rows"
            )
        return None if _same(data, fitted) else data

    def __sklearn_tags__(self) -> Any:
        """Say what the input is: weights of edges, sparse or not, or a table."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.affinity == "precomputed"
        return tags


def _is_matrix(graph: Any, *, integers: bool) -> bool:
    """Tell whether a graph is a matrix of weights.

    Args:
        graph: The graph.
        integers: Take any array of integers for a matrix, because one was fitted. Otherwise it may be an ``edge_index`` or
            pairs of nodes, unless it is square.
    """
    if issparse(graph):
        return True
    if isinstance(graph, str | os.PathLike | torch.Tensor) or not hasattr(graph, "__array__") or hasattr(graph, "columns"):
        return False
    array = np.asarray(graph)
    if array.dtype.kind in "iu":
        return array.ndim == 2 and (integers or array.shape[0] == array.shape[1] != 2)
    pairs = array.ndim == 2 and array.shape[1] == 2
    return array.dtype.kind in "bfc" or (array.dtype.kind == "O" and not pairs)


def _check_no_features(features: Any) -> None:
    if features is not None:
        raise ValueError('features must be the rows themselves with affinity="nearest_neighbors", got others: leave them out')


def _same(data: "Data", fitted: "Data") -> bool:
    """Tell whether two graphs have the same nodes in the same order, the same edges with the same weights, and features."""
    data, fitted = undirected(data), undirected(fitted)
    if not np.array_equal(NodeNames.of(data).ids, NodeNames.of(fitted).ids):
        return False
    values = [(data.get(name), fitted.get(name)) for name in ("edge_index", "edge_weight")]
    if data.get("x") is not None:  # a graph without features keeps those that were fitted
        values.append((data.x, fitted.get("x")))
    return all(a is b or (a is not None and b is not None and torch.equal(a, b)) for a, b in values)


def _suggest(data: "Data", dim: int, values: dict[str, Any], progress: Progress) -> Suggestion:
    """Choose a space by trials with the settings of the estimator, within a budget of epochs: time would not repeat."""
    named = Config.checked(
        {name: value for name, value in values.items() if name != "space"}
    )  # what is wrong is said before anything is tried
    fixed = ("task", "data", "space", "epochs", "seed", "seeds", "eval_every", "patience")
    few = spaces_of_dimension(dim, few=True, twins=not named.capabilities.learns_nodes)
    return suggest_signature(
        data,
        dim,
        task=named.task,
        spaces=[space for space in few if lives_in(named.model, space)],
        rungs=find_task(named.task).rungs[:ROUNDS],
        options={name: value for name, value in values.items() if name not in fixed},
        trial_nodes=TRIAL_NODES,
        seconds=math.inf,
        seed=named.seed,
        progress=progress,
    )


class _Lines:
    """Print progress, a line for each tenth of a stage."""

    def __init__(self) -> None:
        self._printed = ("", -1)

    def __call__(self, stage: str, done: int = 0, total: int = 0, note: str = "") -> None:
        """Report progress; see :class:`qgcn.progress.Progress`."""
        place = (stage, 10 * done // total if total else 0)
        if place != self._printed:
            self._printed = place
            print(f"{stage}: {done:,} of {total:,}{f', {note}' * bool(note)}" if total else f"{stage} {note}".rstrip())
