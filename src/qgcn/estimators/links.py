"""Prediction of the links of a graph."""

from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from qgcn import metrics
from qgcn.answer import Answer
from qgcn.estimators.base import Estimator

__all__ = ["QGCNLinkPredictor"]

Array = np.ndarray[Any, Any]


class QGCNLinkPredictor(Estimator):
    """Learn the links of a graph, and tell how probable others are.

    The parameters and attributes of :class:`Estimator`. Some links are held out of training, to choose the best epoch and to be
    scored: ``options={"val": 0.05, "test": 0.1}`` if not given.

    Pairs of nodes are their names, shape ``(P, 2)``, the path of a table with two columns of names, or a tensor of positions in
    ``node_ids_``, shape ``(2, P)``. Probabilities are those of a pair that is a link in one case of two; among all pairs of a
    graph links are far rarer: take them as scores there.

    Attributes:
        classes_: 0 for a pair that is no link, 1 for a link.
        scores_: Scores on the links held out for the test.

    Example:
        >>> import networkx as nx
        >>> links = QGCNLinkPredictor("Q3,2", epochs=50, device="cpu").fit(nx.karate_club_graph())
        >>> links.predict_proba([(0, 1), (0, 33)]).shape
        (2, 2)
        >>> len(links.recommend(0, k=3))
        3
    """

    def fit(self, graph: Any, y: Any = None, features: Any = None) -> "QGCNLinkPredictor":
        """Learn the links of a graph.

        Args:
            graph: The graph, or a table, see :class:`Estimator`.
            y: Not used: the graph itself says what is linked.
            features: Features of the nodes, if the graph has none of its own: what :func:`qgcn.data.as_data` takes. Without
                features each node has a one-hot, and new nodes know their neighbours alone.

        Raises:
            ValueError: A parameter is wrong, the graph cannot be understood, or it has too few links or too few other pairs.
        """
        self._train(self._read(graph, features), "links", self._seed())
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, pairs: Any, graph: Any = None, features: Any = None) -> Array:
        """Return the log-odds of pairs, shape ``(P,)``: positive if a link is more probable than not.

        Args:
            pairs: The pairs.
            graph: A changed graph (default: the one that was fitted), in which nodes are found by their names.
            features: Features of its nodes, if the graph has none and new nodes need them; known nodes keep theirs.

        Raises:
            ValueError: A node is unknown, or the model cannot answer for that graph.
        """
        check_is_fitted(self, "run_")
        odds: Array = self.run_.with_graph(self._changed(graph, features)).score_links(pairs, raw=True)
        return odds

    def predict_proba(self, pairs: Any, graph: Any = None, features: Any = None) -> Array:
        """Return the probabilities of "no link" and "link", calibrated on validation, shape ``(P, 2)``.

        Args:
            pairs: The pairs.
            graph: As for :meth:`decision_function`.
            features: As for :meth:`decision_function`.
        """
        check_is_fitted(self, "run_")
        probability = self.run_.with_graph(self._changed(graph, features)).score_links(pairs)
        return np.stack((1 - probability, probability), axis=1)

    def predict(self, pairs: Any, graph: Any = None, features: Any = None) -> Array:
        """Return 1 for each pair that is more probably a link than not, else 0, shape ``(P,)``.

        Args:
            pairs: The pairs.
            graph: As for :meth:`decision_function`.
            features: As for :meth:`decision_function`.
        """
        probability = self.predict_proba(pairs, graph, features)
        found: Array = self.classes_[probability.argmax(1)]
        return found

    def recommend(
        self, nodes: Any = None, k: int = 20, exclude_known: bool = True, graph: Any = None, features: Any = None
    ) -> Answer:
        """Return the most probable links of nodes, the best first.

        Args:
            nodes: Names of nodes, or one name; all if not given.
            k: Number of links of each node.
            exclude_known: Leave out links that the graph has already.
            graph: As for :meth:`decision_function`.
            features: As for :meth:`decision_function`.

        Returns:
            Columns ``node``, ``other``, ``probability``; ``to_frame`` turns it into a pandas data frame.
        """
        check_is_fitted(self, "run_")
        return self.run_.with_graph(self._changed(graph, features)).recommend(nodes, k, exclude_known)

    def score(self, pairs: Any, y: Any, graph: Any = None, features: Any = None) -> float:
        """Return the area under the ROC curve: how often a link is preferred to a pair that is none.

        Args:
            pairs: The pairs.
            y: 1 for each pair that is a link, else 0, shape ``(P,)``.
            graph: As for :meth:`decision_function`.
            features: As for :meth:`decision_function`.

        Raises:
            ValueError: ``y`` does not tell links from pairs that are none.
        """
        linked, probability = column_or_1d(y), torch.from_numpy(self.predict_proba(pairs, graph, features)[:, 1])
        if len(linked) != len(probability) or set(np.unique(linked).tolist()) != {0, 1}:
            raise ValueError(f"y must hold 0 and 1, both of them, for {len(probability)} pairs, got {len(linked)} values")
        links = torch.from_numpy(linked == 1)
        return float(metrics.roc_auc(probability[links], probability[~links]))
