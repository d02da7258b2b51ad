"""Labels of nodes: encoded as scikit-learn does, some of them missing, and part of them held out."""

from typing import Any

import numpy as np
import torch
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite
from torch import Tensor

__all__ = ["encode_labels", "hold_out"]

Array = np.ndarray[Any, Any]


def encode_labels(y: Any) -> tuple[Array, Array]:
    """Number the labels of nodes.

    Args:
        y: Integers, strings, booleans or whole floats, shape ``(N,)``. ``-1``, ``None``, ``""`` and NaN mean no label.

    Returns:
        The class of each node, -1 for none, int64, shape ``(N,)``; the classes, sorted, in the type of ``y``.

    Raises:
        ValueError: There is no label at all, or labels are not of one kind, not finite or not discrete.

    Example:
        >>> encode_labels(["red", None, "blue", "red"])
        (array([ 1, -1,  0,  1]), array(['blue', 'red'], dtype=object))
    """
    if isinstance(y, list | tuple):  # NumPy would turn the -1 of ["a", -1] into a name
        y = np.array(y, dtype=object if any(each is None or isinstance(each, str) for each in y) else None)
    values: Array = column_or_1d(y, warn=True)
    labelled = ~_missing(values)
    given = values[labelled]
    if len(given) == 0:
        raise ValueError("y must label at least one node, got no label")
    if given.dtype.kind == "f":
        assert_all_finite(given, input_name="y")
        check_classification_targets(given)
    try:
        classes, numbers = np.unique(given, return_inverse=True)
    except TypeError:
        kinds = " and ".join(sorted({type(each).__name__ for each in given.tolist()}))
        raise ValueError(f"y must hold labels of one kind, got {kinds}") from None
    codes = np.full(len(values), -1)
    codes[labelled] = numbers
    return codes, classes


def _missing(values: Array) -> Array:
    """Tell which nodes have no label."""
    kind = values.dtype.kind
    if kind == "O":
        return np.array([_is_missing(each) for each in values.tolist()], dtype=bool)
    if kind == "b":
        return np.zeros(len(values), dtype=bool)
    none = values == (values.dtype.type() if kind in "US" else -1)
    return np.asarray(none | np.isnan(values) if kind == "f" else none)


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ == "NAType":  # pandas
        return True
    return isinstance(label, float | int | str) and (label != label or label in (-1, ""))


def hold_out(codes: Array, val: float, seed: int) -> tuple[Tensor, Tensor]:
    """Draw the labelled nodes that are kept for validation, classes in proportion.

    Laws: the masks are disjoint; together they are the labelled nodes; every class is trained on; the same seed gives the same
    masks.

    Args:
        codes: The class of each node, -1 for none, shape ``(N,)``.
        val: Share of the labelled nodes; at least one is drawn.
        seed: Fixes the draw.

    Returns:
        Boolean masks of training and validation, shape ``(N,)``.

    Raises:
        ValueError: ``val`` is no share, or no class has a second node.
    """
    if not 0 < val < 1:
        raise ValueError(f"val must be a share between 0 and 1, got {val!r}")
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(np.flatnonzero(codes >= 0))
    nodes = nodes[np.argsort(codes[nodes], kind="stable")]  # by class, shuffled within each
    spare = np.flatnonzero(np.diff(codes[nodes], prepend=-1) == 0)  # all but the first of each class
    if len(spare) == 0:
        raise ValueError(f"y must label two nodes of a class, one of them for validation, got {len(nodes)} labels")
    count = min(max(1, round(val * len(nodes))), len(spare))
    places = (np.arange(count) + rng.random()) * len(spare) / count
    masks = np.zeros((2, len(codes)), dtype=bool)
    masks[0, nodes] = True
    masks[:, nodes[spare[places.astype(np.int64)]]] = [[False], [True]]
    train, held = torch.from_numpy(masks)
    return train, held
