"""Settings of the cells: ours, those of the published code, the paper's own, and ours with one of the paper's choices."""

import itertools
import random
from collections.abc import Mapping
from typing import Any

from qgcn.reproduction.paper import Method

__all__ = [
    "ABLATIONS",
    "GRID",
    "code",
    "network_of_reconstruction",
    "ours",
    "paper",
    "plain_network",
    "points",
    "shallow",
    "start",
    "with_features",
]

GRID: dict[str, tuple[Any, ...]] = {
    "layers": (1, 2, 3),
    "weight_decay": (0.0, 0.001, 0.0005, 0.0001),
    "dropout": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    "activation": ("relu", "tanh", "sigmoid", "elu"),
}
"""The grid of the paper's appendix: 384 points."""
FIRST = {"layers": 2, "weight_decay": 0.0, "dropout": 0.0, "activation": "relu"}
"""The first point that is tried, and the settings of pretraining."""

ALGORITHM_1 = {"aggregation": "sum", "projection": True, "perturbation": 0.02, "beta": -1.0}
"""Networks in a Q as the paper has them: the plain sum of Eq. 6, features by Algorithm 1, curvature from -1 on."""
ALONE = {"blend": False}
"""The network alone: spaces and models are compared, not what else knows the graph."""


def ours(task: str, method: Method, data: str) -> dict[str, Any]:
    """Return our defaults of a task; on Airport, whose nodes have four features, with degrees and without feature dropout."""
    found = _base(task, method, data) | ALONE
    if data == "airport" and task == "links":
        found["feature_dropout"] = 0.0
    return found


def paper(task: str, method: Method, data: str) -> dict[str, Any]:
    """Return the paper's own settings of a task, but for those of its grid.

    The Fermi-Dirac decoder reads the plain distance, with r = 2 and t = 1; classes are read off tangent coordinates by a
    linear layer. Networks in a Q follow Algorithm 1; the others aggregate as their own papers say: the mean of neighbours,
    or PyTorch Geometric's networks as they are.
    """
    found = _base(task, method, data) | ALONE | {"lr": 0.01, "curvature_lr": 0.0001, "edge_dropout": 0.0}
    found |= {"links": {"decoder": "distance"}, "classification": {"head": "linear", "ties": "first"}}[task]
    if method.model == "qgcn":
        found |= ALGORITHM_1
    elif method.model == "qnn":
        found |= {name: value for name, value in ALGORITHM_1.items() if name != "aggregation"}
    elif method.model in ("hgcn", "kappa-gcn"):
        found["aggregation"] = "mean"
    elif method.model == "gcn":
        found["aggregation"] = "sym"
    return found


def code(task: str, method: Method, data: str) -> dict[str, Any]:
    """Return the settings of the published code, but for those of the paper's grid.

    It enters a space by the exponential map, takes the mean of neighbours, squares distances, and starts at curvature -1.
    """
    found = _base(task, method, data) | ALONE | {"lr": 0.01, "curvature_lr": 0.0001, "edge_dropout": 0.0}
    found |= {"links": {}, "classification": {"head": "linear", "ties": "first"}}[task]
    if method.model in ("qgcn", "hgcn", "kappa-gcn", "gcn"):
        found["aggregation"] = "mean"
    return found | ({"beta": -1.0} if method.is_indefinite else {})


def points(count: int) -> list[dict[str, Any]]:
    """Return so many points of the paper's grid, the same for every method; dropout is that of features, too.

    The first is fixed, the others are drawn without replacement.
    """
    every = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    drawn = random.Random("the paper's grid").sample(every, len(every))  # noqa: S311
    chosen = [FIRST, *(point for point in drawn if point != FIRST)][:count]
    return [with_features(point) for point in chosen]


def with_features(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point of the grid with the dropout of features that belongs to it."""
    return {**point, "feature_dropout": point["dropout"]}


def start(method: Method, data: str) -> dict[str, Any]:
    """Return the settings of link prediction that classification is pretrained with, in the paper's way."""
    return paper("links", method, data) | with_features(FIRST)


ABLATIONS: dict[str, dict[str, dict[str, Any]]] = {
    "links": {
        "plain sum (Eq. 6)": {"aggregation": "sum"},
        "Algorithm 1, noise 0.02": {"projection": True, "perturbation": 0.02},
        "curvature from -1": {"beta": -1.0},
        "plain distance": {"decoder": "distance"},
        "no dropout of edges and features": {"edge_dropout": 0.0, "feature_dropout": 0.0},
    },
    "classification": {
        "plain sum (Eq. 6)": {"aggregation": "sum"},
        "Algorithm 1, noise 0.02": {"projection": True, "perturbation": 0.02},
        "curvature from -1": {"beta": -1.0},
        "linear classifier": {"head": "linear"},
        "pretrained by links": {},
    },
    "reconstruction": {
        "the paper's objective": {"objective": "paper"},
        "plain sum (Eq. 6)": {"aggregation": "sum"},
        "Algorithm 1, noise 0.02": {"projection": True, "perturbation": 0.02},
        "no skip connection": {"skip": False},
    },
}
"""What the paper does otherwise, one at a time, by task; reconstruction leaves out what the paper adds, too."""


def shallow(space: str, data: str) -> dict[str, Any]:
    """Return our recipe of reconstruction: coordinates alone."""
    return {"task": "reconstruction", "data": data, "space": space, "eval_every": 100}


def network_of_reconstruction(method: Method, data: str, objective: str) -> dict[str, Any]:
    """Return the network of reconstruction by the paper's text: a Q is entered by Algorithm 1 and adds up neighbours (Eq. 6).

    Args:
        method: The row.
        data: The graph.
        objective: ``paper`` or ``neighbours``.
    """
    return plain_network(method, data, objective) | (ALGORITHM_1 if method.is_indefinite else {})


def plain_network(method: Method, data: str, objective: str) -> dict[str, Any]:
    """Return the network of reconstruction by the published code, the same for every space.

    Two layers on one-hot features, symmetric aggregation, the mean of both layers' outputs.
    """
    found = _base("reconstruction", method, data) | {"objective": objective}
    found |= {"layers": 2, "skip": True, "epochs": 500, "eval_every": 50}
    return found | {"lr": 0.01, "curvature_lr": 0.0001, "adam_decay": 0.999, "schedule": "constant"}


def _base(task: str, method: Method, data: str) -> dict[str, Any]:
    found: dict[str, Any] = {"task": task, "data": data, "model": method.model, "space": method.space}
    return found | ({"degree_features": True} if data == "airport" else {})
