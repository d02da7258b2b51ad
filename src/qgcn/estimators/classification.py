"""Classification of the nodes of a graph."""

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length

from qgcn.estimators.base import Estimator
from qgcn.estimators.labels import encode_labels, hold_out

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["QGCNClassifier"]

Array = np.ndarray[Any, Any]


class QGCNClassifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Learn the classes of some nodes of a graph, and predict those of the others.

    The parameters and attributes of :class:`Estimator`, and these.

    Args:
        space: See :class:`Estimator`.
        model: See :class:`Estimator`.
        epochs: See :class:`Estimator`.
        layers: See :class:`Estimator`.
        lr: See :class:`Estimator`.
        dropout: See :class:`Estimator`.
        weight_decay: See :class:`Estimator`.
        val: Share of the labelled nodes that is kept for validation, classes in proportion: by it the best epoch is chosen and
            probabilities are calibrated.
        affinity: See :class:`Estimator`.
        n_neighbors: See :class:`Estimator`.
        random_state: Seed of the model and of the nodes kept for validation.
        device: See :class:`Estimator`.
        verbose: See :class:`Estimator`.
        options: See :class:`Estimator`.

    Attributes:
        classes_: The classes, sorted; columns of ``predict_proba`` are in this order.
        scores_: Scores on the nodes kept for validation, which also chose the epoch; on the test nodes if the graph's own
            labels and masks were fitted.

    Example:
        >>> import networkx as nx
        >>> graph = nx.karate_club_graph()
        >>> y = [""] * 34  # no label
        >>> y[0] = y[1] = y[2] = "Mr. Hi"
        >>> y[33] = y[32] = y[31] = "Officer"
        >>> classifier = QGCNClassifier("Q3,2", epochs=100, device="cpu").fit(graph, y)
        >>> classifier.classes_.tolist()
        ['Mr. Hi', 'Officer']
        >>> classifier.predict_proba().shape
        (34, 2)
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
        val: float = 0.15,
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
        self.val = val

    def fit(self, graph: Any, y: Any = None, features: Any = None) -> "QGCNClassifier":
        """Learn the classes of the labelled nodes.

        Args:
            graph: The graph, or a table, see :class:`Estimator`.
            y: A label for each node, shape ``(N,)``, of any kind; ``-1``, ``None``, ``""`` or NaN for a node without label. If
                not given, the graph's own labels and masks, such as those of a data set.
            features: Features of the nodes, if the graph has none of its own: what :func:`qgcn.data.as_data` takes. Without
                features each node has a one-hot, and new nodes know their neighbours alone.

        Raises:
            ValueError: A parameter is wrong, the graph cannot be understood, or there are too few labels.
        """
        data = self._read(graph, features)
        seed = self._seed()
        if y is None:
            if data.get("y") is None:
                raise ValueError(
                    f"{type(self).__name__} requires y to be passed, but the target y is None, and the graph has no labels"
                )
            names = data.get("classes")
            self.classes_ = np.arange(int(data.y.max()) + 1) if names is None else np.asarray(names)
        else:
            codes, self.classes_ = encode_labels(y)
            data = _labelled(data, codes, self.val, seed)
        self._train(data, "classification", seed)
        return self

    def predict(self, graph: Any = None, features: Any = None) -> Array:
        """Return the most probable class of every node, shape ``(N,)``.

        Args:
            graph: The graph, changed or not, or a table (default: what was fitted). Nodes are found by their names, rows by
                their values; others are new.
            features: Features of its nodes, if the graph has none and new nodes need them; known nodes keep theirs.

        Raises:
            ValueError: The model cannot answer for that graph, such as new nodes without the features that it was trained with.
        """
        probability = self.predict_proba(graph, features)
        found: Array = self.classes_[probability.argmax(1)]
        return found

    def predict_proba(self, graph: Any = None, features: Any = None) -> Array:
        """Return the probability of every class for every node, calibrated on validation, shape ``(N, C)``.

        Args:
            graph: As for :meth:`predict`.
            features: As for :meth:`predict`.
        """
        probability, _ = self._answer(lambda data: self.run_.with_graph(data).predict_proba(), graph, features)
        return probability

    def score(self, graph: Any, y: Any, sample_weight: Any = None, features: Any = None) -> float:
        """Return the accuracy over the nodes that ``y`` labels.

        Args:
            graph: As for :meth:`predict`.
            y: True labels, shape ``(N,)``; nodes without label, as in :meth:`fit`, do not count.
            sample_weight: Weights of the nodes, shape ``(N,)``.
            features: As for :meth:`predict`.
        """
        codes, classes = encode_labels(y)
        found = self.predict(graph, features)
        check_consistent_length(found, codes, sample_weight)
        kept = codes >= 0
        weights = None if sample_weight is None else np.asarray(sample_weight)[kept]
        return float(accuracy_score(classes[codes[kept]], found[kept], sample_weight=weights))


def _labelled(data: "Data", codes: Array, val: float, seed: int) -> "Data":
    """Return a graph with labels, of which a share is kept for validation; that is all there is to be scored on."""
    if len(codes) != data.num_nodes:
        raise ValueError(f"y must have a label for each of the {data.num_nodes} nodes, got {len(codes)}")
    made = copy.copy(data)
    made.y, made.classes = torch.from_numpy(codes), None
    made.train_mask, made.val_mask = hold_out(codes, val, seed)
    made.test_mask = made.val_mask
    return made
