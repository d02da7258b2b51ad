"""Embeddings of the nodes of a graph."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from qgcn.answer import Answer
from qgcn.data import NodeNames, as_data
from qgcn.estimators.base import Estimator
from qgcn.tasks import find_task
from qgcn.training.pairs import best_of_rows

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["QGCNEmbedding"]

Array = np.ndarray[Any, Any]


class QGCNEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Embed the nodes of a graph in a pseudo-Riemannian space.

    The parameters and attributes of :class:`Estimator`, and these.

    Args:
        space: Name of the space, or ``auto``, see :class:`Estimator`.
        task: What the embedding is trained for: ``reconstruction`` (no features or labels needed), ``links``, or
            ``classification``, for which ``fit`` needs labels.
        model: See :class:`Estimator`; ``shallow`` for reconstruction and ``qgcn`` otherwise if not given.
        epochs: Maximum number of epochs.
        layers: See :class:`Estimator`.
        lr: See :class:`Estimator`.
        dropout: See :class:`Estimator`.
        weight_decay: See :class:`Estimator`.
        output: ``points`` of the space, or their ``tangent`` vectors at the origin, on which Euclidean methods such as a
            logistic regression can work.
        affinity: See :class:`Estimator`.
        n_neighbors: See :class:`Estimator`.
        random_state: See :class:`Estimator`.
        device: See :class:`Estimator`.
        verbose: See :class:`Estimator`.
        options: See :class:`Estimator`; of several seeds the first is the embedding.

    Attributes:
        embedding_: What ``fit_transform`` returns, shape ``(N, d)``.

    Example:
        >>> import networkx as nx
        >>> embedding = QGCNEmbedding("Q3,1", epochs=100, device="cpu")
        >>> embedding.fit_transform(nx.karate_club_graph()).shape
        (34, 4)
        >>> distances, nodes = embedding.kneighbors([0, 33], n_neighbors=5)
        >>> nodes.shape
        (2, 5)
    """

    def __init__(
        self,
        space: str | None = "auto",
        *,
        task: str = "reconstruction",
        model: str | None = None,
        epochs: int | None = 300,
        layers: int | None = None,
        lr: float | None = None,
        dropout: float | None = None,
        weight_decay: float | None = None,
        output: str = "points",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        random_state: int | np.random.RandomState | None = 0,
        device: str = "auto",
        verbose: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            space,
            model=model,
            epochs=epochs,
            layers=layers,
            lr=lr,
            dropout=dropout,
            weight_decay=weight_decay,
            affinity=affinity,
            n_neighbors=n_neighbors,
            random_state=random_state,
            device=device,
            verbose=verbose,
            options=options,
        )
        self.task = task
        self.output = output

    def fit(self, graph: Any, y: Any = None, features: Any = None) -> "QGCNEmbedding":
        """Train the embedding.

        Args:
            graph: The graph, or a table, see :class:`Estimator`.
            y: Labels of the nodes, shape ``(N,)``, -1 where unknown; used by tasks that need labels.
            features: Features of the nodes, if the graph has none and the model uses any: what :func:`qgcn.data.as_data` takes.

        Raises:
            ValueError: A parameter is wrong, or the graph cannot be understood.
        """
        if self.output not in ("points", "tangent"):
            raise ValueError(f"output must be 'points' or 'tangent', got {self.output!r}")
        task = find_task(self.task)
        data = self._read(graph, features)
        if y is not None and task.needs_labels:
            data = as_data(data, labels=y)
        blends = "blend" in task.config_type.model_fields  # what is not in the points is of no use here
        self._train(data, self.task, self._seed(), **{"blend": False} if blends else {})
        self.embedding_ = self._coordinates(None)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def fit_transform(self, graph: Any, y: Any = None, features: Any = None) -> Any:
        """Train the embedding and return it, shape ``(N, d)``."""
        self.fit(graph, y, features)
        return self._framed(self.embedding_, self.node_ids_ if self._rows is None else None)

    def transform(self, graph: Any, features: Any = None) -> Any:
        """Return the embedding of a graph, shape ``(N, d)``: the one that was fitted, or a changed one.

        Nodes are found by their names. A network embeds new nodes by their features and edges; the model ``shallow`` places
        them among the known ones, which stay where they are. Rows of a table that were not fitted are new nodes, linked to
        their nearest rows among those that were.

        Args:
            graph: The graph, or a table, see :class:`Estimator`.
            features: Features of the nodes, if the graph has none and the model uses any; known nodes keep theirs.

        Raises:
            ValueError: The model cannot embed that graph, such as new nodes without the features that it was trained with.
        """
        return self._framed(*self._answer(self._coordinates, graph, features))

    def kneighbors(
        self,
        X: Any = None,  # noqa: N803
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Return the nearest nodes of nodes, in the distance of the space, the nearest first.

        Args:
            X: Names of nodes that were fitted, shape ``(M,)``, or a tensor of their positions (default: all nodes). A node is
                never its own neighbour.
            n_neighbors: Number of neighbours (default: the parameter ``n_neighbors``).
            return_distance: Return distances, too.

        Returns:
            Distances, shape ``(M, n_neighbors)``, and positions of the neighbours in ``node_ids_``; or positions alone.

        Raises:
            ValueError: A node is unknown, or there are not so many neighbours.
        """
        check_is_fitted(self, "run_")
        count, size = self.n_neighbors if n_neighbors is None else n_neighbors, len(self.node_ids_)
        if isinstance(count, bool) or not 1 <= count < size:
            raise ValueError(f"n_neighbors must lie in [1, {size - 1}], of {size} nodes, got {count!r}")
        places, back = np.unique(_places(X, self.run_.names), return_inverse=True)
        run = self.run_
        models = run.models(run.config.seed)
        found = [others for _, others in best_of_rows(models.row_nearness, places, size, count)]
        nodes = np.concatenate(found or [np.zeros(0, dtype=np.int64)]).reshape(-1, count)
        pairs = np.stack((np.repeat(places, count), nodes.ravel()))
        distances = models.distances(torch.from_numpy(pairs))[0].reshape(nodes.shape)
        order = distances.argsort(1, kind="stable")
        distances, nodes = (np.take_along_axis(each, order, 1)[back] for each in (distances, nodes))
        return (distances, nodes) if return_distance else nodes

    def _coordinates(self, data: "Data | None") -> Array:
        """Return the points of a graph, or their tangent vectors, by the first seed."""
        points = self.run_.with_graph(data).embedding().points
        values: Array = (points if self.output == "points" else self.space_.logmap0(points)).numpy()
        return values

    def _framed(self, values: Array, ids: Array | None) -> Any:
        """Return a data frame with the names of the nodes if pandas is asked for; scikit-learn names the columns."""
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if wanted != "pandas" or ids is None:
            return values
        frame = Answer({str(k): column for k, column in enumerate(values.T)}).to_frame()
        frame.index = ids
        return frame

    def __sklearn_tags__(self) -> Any:
        """Add that coordinates have a type of their own, and that some tasks need labels."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = find_task(self.task).needs_labels
        return tags


def _places(nodes: Any, names: NodeNames) -> Array:
    """Return the positions of nodes; all if none are given."""
    if nodes is None:
        return np.arange(len(names))
    if not isinstance(nodes, torch.Tensor):
        return names.locate(np.atleast_1d(np.asarray(nodes)))
    places: Array = nodes.reshape(-1).cpu().numpy()
    if places.dtype.kind != "i" or (places < 0).any() or (places >= len(names)).any():
        raise ValueError(
            f"a tensor of nodes must hold positions in [0, {len(names)}), got {nodes.dtype} in {tuple(nodes.shape)}"
        )
    return places
