"""Estimators in the style of scikit-learn: embeddings, node classification and link prediction."""

from qgcn.estimators.base import Estimator
from qgcn.estimators.classification import QGCNClassifier
from qgcn.estimators.embedding import QGCNEmbedding
from qgcn.estimators.links import QGCNLinkPredictor

__all__ = ["Estimator", "QGCNClassifier", "QGCNEmbedding", "QGCNLinkPredictor"]
