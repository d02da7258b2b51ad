"""Cheap methods that a trained model has to beat: functions of graphs, features and labels, computed in seconds."""

from qgcn.yardsticks.beliefs import propagate_beliefs
from qgcn.yardsticks.logistic import STRENGTHS, Regression, logistic_regression
from qgcn.yardsticks.neighbours import adamic_adar, common_neighbours, preferential_attachment
from qgcn.yardsticks.spectral import (
    adjacency,
    laplacian_eigenmap,
    leading_eigenvectors,
    normalized,
    pair_scores,
    spectral_features,
)
from qgcn.yardsticks.verdict import Verdict, judge

__all__ = [
    "STRENGTHS",
    "Regression",
    "Verdict",
    "adamic_adar",
    "adjacency",
    "common_neighbours",
    "judge",
    "laplacian_eigenmap",
    "leading_eigenvectors",
    "logistic_regression",
    "normalized",
    "pair_scores",
    "preferential_attachment",
    "propagate_beliefs",
    "spectral_features",
]
