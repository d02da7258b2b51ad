import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from qgcn.estimators.labels import encode_labels, hold_out


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([3, -1, 5, 3], [0, -1, 1, 0], [3, 5]),
        (np.array([3, 200], dtype=np.uint8), [0, 1], [3, 200]),
        (torch.tensor([1, -1, 0]), [1, -1, 0], [0, 1]),
        ([2.0, float("nan"), -1.0, 1.0], [1, -1, -1, 0], [1.0, 2.0]),
        (["b", "", "a", "b"], [1, -1, 0, 1], ["a", "b"]),
        (["b", -1, "a", None], [1, -1, 0, -1], ["a", "b"]),
        (["b", float("nan"), "a"], [1, -1, 0], ["a", "b"]),
        (np.array(["b", "", "a"]), [1, -1, 0], ["a", "b"]),
        ([7, None, 5], [1, -1, 0], [5, 7]),
        ([True, False], [1, 0], [False, True]),
    ],
)
def test_labels_of_any_kind_are_numbered_in_their_order(y, codes, classes):
    found, names = encode_labels(y)
    assert found.tolist() == codes
    assert names.tolist() == classes


def test_labels_of_pandas_are_numbered():
    pandas = pytest.importorskip("pandas")
    for series in (
        pandas.Series(["b", None, "a"]),
        pandas.Series(["b", None, "a"], dtype="category"),
        pandas.Series(["b", None, "a"], dtype="string"),
    ):
        codes, classes = encode_labels(series)
        assert codes.tolist() == [1, -1, 0]
        assert classes.tolist() == ["a", "b"]
    assert encode_labels(pandas.Series([2, None, 1], dtype="Int64"))[0].tolist() == [1, -1, 0]


def test_a_column_is_taken_with_a_warning():
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert encode_labels(np.array([[1], [0]]))[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([-1, -1], "at least one node"),
        ([0.5, 1.5], "continuous"),
        ([1.0, np.inf], "Input y contains infinity"),
        (["a", 1], "one kind, got int and str"),
        (np.zeros((3, 2)), "1d array"),
    ],
)
def test_wrong_labels_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(y)


@given(st.lists(st.integers(-1, 4), min_size=2, max_size=60), st.floats(0.01, 0.99), st.integers(0, 5))
def test_some_nodes_of_classes_that_have_two_are_held_out(labels, val, seed):
    codes = np.array(labels)
    labelled = codes >= 0
    classes = set(codes[labelled].tolist())
    if labelled.sum() == len(classes):
        with pytest.raises(ValueError, match="two nodes of a class"):
            hold_out(codes, val, seed)
        return
    train, held = (mask.numpy() for mask in hold_out(codes, val, seed))
    np.testing.assert_array_equal(train ^ held, labelled)
    assert not (train & held).any()
    assert set(codes[train].tolist()) == classes
    assert held.sum() == min(max(1, round(val * labelled.sum())), labelled.sum() - len(classes))


def test_classes_are_held_out_in_proportion():
    codes = np.repeat([0, 1, 2], [200, 100, 20])
    _, held = hold_out(codes, 0.2, seed=3)
    assert np.abs(np.bincount(codes[held.numpy()]) - [40, 20, 4]).max() <= 1
    assert not torch.equal(held, hold_out(codes, 0.2, seed=4)[1])
    assert torch.equal(held, hold_out(codes, 0.2, seed=3)[1])


@pytest.mark.parametrize("val", [0.0, 1.0, -0.1, float("nan")])
def test_a_wrong_share_is_named(val):
    with pytest.raises(ValueError, match="val must be a share"):
        hold_out(np.zeros(5, dtype=int), val, 0)
