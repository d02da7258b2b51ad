"""Embeddings with scikit-learn's habits."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from qgcn.data import as_data
from qgcn.training.config import Config
from qgcn.training.run import Run

__all__ = ["QGCNEmbedding"]


class QGCNEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Embed the nodes of a graph in a pseudo-Riemannian space.

    Args:
        space: Name of the space, such as ``Q7,3``, ``H10`` or ``H5xS5``; ``auto`` takes ``Q8,2``, a space with room for
            hierarchies and cycles.
        task: What the embedding is trained for: ``reconstruction`` (no features or labels needed), ``links``, or
            ``classification``, for which ``fit`` needs labels.
        model: Name of the model, see :func:`qgcn.models.build`; ``shallow`` for reconstruction and ``qgcn`` otherwise if not
            given.
        epochs: Training steps.
        layers: Layers of the model; 1 for reconstruction and 2 otherwise if not given.
        lr: Learning rate; that of the task if not given.
        dropout: Share of tangent coordinates dropped.
        weight_decay: L2 regularisation.
        output: ``points`` of the space, or their ``tangent`` vectors at the origin, on which Euclidean methods such as a
            logistic regression can work.
        random_state: Seed, or what scikit-learn takes for one.
        device: ``auto``, ``cpu`` or ``cuda``.
        options: Further keys of :class:`qgcn.training.Config`.

    Attributes:
        embedding_: What ``fit_transform`` returns, shape ``(N, d)``.
        space_: The space, with the curvature that was learned.
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
        data = as_data(graph)
        if data.num_nodes != self.n_features_in_ or not np.array_equal(data.edge_index.numpy(), self._edges):
            raise ValueError("transform needs the graph that was fitted: there is no rule for other graphs, fit those instead")
        return self.embedding_

    def _train(self, graph: Any, y: Any) -> None:
        if self.output not in ("points", "tangent"):
            raise ValueError(f"output must be 'points' or 'tangent', got {self.output!r}")
        data = as_data(graph, labels=y) if y is not None and self.task == "classification" else as_data(graph)
        given: Any = self.random_state
        seed = int(given) if isinstance(given, Integral) else int(check_random_state(given).randint(2**31 - 1))
        names = ("task", "model", "epochs", "layers", "lr", "dropout", "weight_decay", "device")
        values = {name: getattr(self, name) for name in names if getattr(self, name) is not None} | {
            "data": str(getattr(data, "name", "graph") or "graph")
        }
        values |= {"space": "Q8,2" if self.space == "auto" else self.space, "seed": seed}
        run = Run(Config.checked(values | (self.options or {})), data=data)
        run.train()
        points, space = run.embedding(seed)
        self.space_ = space
        self.embedding_ = (points if self.output == "points" else space.logmap0(points)).cpu().numpy()
        self.scores_ = run.results[0]["test"]
        self.node_ids_ = np.asarray(getattr(data, "node_ids", np.arange(len(points))))
        self.n_features_in_ = int(data.num_nodes or 0)
        self._edges = data.edge_index.numpy()

    def __sklearn_tags__(self) -> Any:
        """Say that the input is a graph: a square, possibly sparse matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = True
        tags.target_tags.required = self.task == "classification"
        return tags
