"""Embeddings as a scikit-learn style estimator."""

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from qgcn.analysis.signature import Suggestion, auto_space, suggest_signature
from qgcn.data import as_data, undirected
from qgcn.manifolds import candidate_spaces
from qgcn.models import lives_in
from qgcn.tasks import Config, find_task
from qgcn.training.run import Run

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["QGCNEmbedding"]

ROUNDS = 2
"""Rounds of trials for ``auto``: the third, with two seeds, is left to ``suggest_signature``."""
TRIAL_NODES = 500
"""Nodes that trials for ``auto`` reconstruct, at most."""


class QGCNEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embed the nodes of a graph in a pseudo-Riemannian space.

    Args:
        space: Name of the space, such as ``Q7,3``, ``H10`` or ``H5xS5``. ``auto``, or ``auto:10`` for another number of
            dimensions than 16, has it chosen by short trial runs on the graph that is fitted, see
            :func:`qgcn.analysis.suggest_signature`: a few spaces and two rounds, a few seconds on a small graph. The choice
            depends on nothing but the graph, the parameters and ``random_state``.
        task: What the embedding is trained for: ``reconstruction`` (no features or labels needed), ``links``, or
            ``classification``, for which ``fit`` needs labels.
        model: Name of the model, see :func:`qgcn.models.build`; ``shallow`` for reconstruction and ``qgcn`` otherwise if not
            given.
        epochs: Number of epochs.
        layers: Number of layers of the model; 1 for reconstruction and 2 otherwise if not given.
        lr: Learning rate; that of the task if not given.
        dropout: Share of tangent coordinates dropped.
        weight_decay: L2 regularisation.
        output: ``points`` of the space, or their ``tangent`` vectors at the origin, on which Euclidean methods such as a
            logistic regression can work.
        random_state: Seed, as scikit-learn takes it.
        device: ``auto``, ``cpu`` or ``cuda``.
        options: Further keys of :class:`qgcn.tasks.Config`.

    Attributes:
        embedding_: What ``fit_transform`` returns, shape ``(N, d)``.
        space_: The space, with the curvature that was learned.
        suggestion_: How ``auto`` chose it, a :class:`qgcn.analysis.Suggestion`; ``None`` if the space was named.
        scores_: Scores of the task.
        node_ids_: Names of the nodes, in the order of the rows.
        n_features_in_: Number of nodes of the graph.
    """

    def __init__(
        self,
        space: str = "auto",
        *,
        task: str = "reconstruction",
        model: str | None = None,
        epochs: int = 300,
        layers: int | None = None,
        lr: float | None = None,
        dropout: float = 0.0,
        weight_decay: float = 0.0,
        output: str = "points",
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        options: dict[str, Any] | None = None,
    ) -> None:
        self.space = space
        self.task = task
        self.model = model
        self.epochs = epochs
        self.layers = layers
        self.lr = lr
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.output = output
        self.random_state = random_state
        self.device = device
        self.options = options

    def fit(self, graph: Any, y: Any = None) -> "QGCNEmbedding":
        """Train the embedding.

        Args:
            graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, the name of a data set or a path.
            y: Labels of the nodes, shape ``(N,)``, -1 where unknown; used for ``task="classification"``.
        """
        self._train(graph, y)
        return self

    def fit_transform(self, graph: Any, y: Any = None) -> NDArray[np.floating[Any]]:
        """Train the embedding and return it, shape ``(N, d)``."""
        self._train(graph, y)
        return self.embedding_

    def transform(self, graph: Any) -> NDArray[np.floating[Any]]:
        """Return the embedding of the graph that was fitted: nodes that were not there have none.

        Raises:
            ValueError: Another graph is given.
        """
        check_is_fitted(self, "embedding_")
        data = undirected(as_data(graph))
        if data.num_nodes != self.n_features_in_ or not np.array_equal(data.edge_index.numpy(), self._edges):
            raise ValueError("transform needs the graph that was fitted: there is no rule for other graphs, fit those instead")
        return self.embedding_

    def _train(self, graph: Any, y: Any) -> None:
        if self.output not in ("points", "tangent"):
            raise ValueError(f"output must be 'points' or 'tangent', got {self.output!r}")
        wanted = y is not None and find_task(self.task).needs_labels
        data = as_data(graph, labels=y) if wanted else as_data(graph)
        values = self._settings(data)
        dim = auto_space(str(values["space"]))
        suggestion = None if dim is None else _suggest(data, dim, values)
        run = Run(Config.checked(values if suggestion is None else values | {"space": suggestion.space}), data=data)
        run.train()
        points, space, node_ids = run.embedding(run.config.seed)
        self.space_ = space
        self.suggestion_ = suggestion
        self.embedding_ = (points if self.output == "points" else space.logmap0(points)).cpu().numpy()
        self.scores_ = run.results[0]["test"]
        self.node_ids_ = node_ids
        self.n_features_in_ = int(data.num_nodes or 0)
        self._edges = undirected(data).edge_index.numpy()

    def _settings(self, data: "Data") -> dict[str, Any]:
        """Return the keys of a config that the arguments stand for."""
        given: Any = self.random_state
        seed = int(given) if isinstance(given, Integral) else int(check_random_state(given).randint(2**31 - 1))
        names = ("task", "model", "epochs", "layers", "lr", "dropout", "weight_decay", "device")
        values = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        values["data"] = str(getattr(data, "name", "graph") or "graph")
        return values | {"space": self.space, "seed": seed} | (self.options or {})

    def __sklearn_tags__(self) -> Any:
        """Say that the input is a graph: a square, possibly sparse matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        tags.target_tags.required = find_task(self.task).needs_labels
        return tags


def _suggest(data: "Data", dim: int, values: dict[str, Any]) -> Suggestion:
    """Choose a space by trials with the settings of the estimator, within a budget of epochs: time would not repeat."""
    named = Config.checked(
        {name: value for name, value in values.items() if name != "space"}
    )  # what is wrong is said before anything is tried
    fixed = ("task", "data", "space", "epochs", "seed", "seeds", "eval_every", "patience")
    return suggest_signature(
        data,
        dim,
        task=named.task,
        spaces=[space for space in candidate_spaces(dim, few=True) if lives_in(named.model, space)],
        rungs=find_task(named.task).rungs[:ROUNDS],
        options={name: value for name, value in values.items() if name not in fixed},
        trial_nodes=TRIAL_NODES,
        seed=named.seed,
    )
