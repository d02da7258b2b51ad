"""Features: checked, normalised, extended, laid out."""

import numpy as np
import pytest
import torch

from cases import problem
from cases import two_communities as graph
from qgcn.nn import SparseMatrix
from qgcn.tasks import NodeClassification, features
from qgcn.tasks.features import SPARSE_BELOW, check_features, extended, laid_out, normalize_rows
from tolerance import DTYPES

EDGES = torch.tensor([[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])  # a star of three rays
X = torch.tensor([[1.0, -3.0], [0.0, 0.0], [2.0, 2.0], [0.0, 1.0]])


@pytest.mark.parametrize("dtype", DTYPES)
def test_normalize_rows_divides_by_the_sum_of_magnitudes(dtype):
    x = torch.tensor([[1.0, -3.0], [0.0, 0.0], [0.5, 0.0]], dtype=dtype)
    given = x.clone()
    expected = torch.tensor([[0.25, -0.75], [0.0, 0.0], [1.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(normalize_rows(x), expected)
    assert torch.equal(x, given)
    task = problem(NodeClassification, graph(), row_normalize=True)
    torch.testing.assert_close(task.x.abs().sum(1), torch.ones(24))
    assert torch.equal(problem(NodeClassification, graph()).x, graph().x)


def test_features_are_stored_as_the_model_multiplies_them():
    assert isinstance(problem(NodeClassification, graph()).x, torch.Tensor)
    assert isinstance(problem(NodeClassification, graph(dense=False)).x, SparseMatrix)
    for model, kind in {"gcn": SparseMatrix, "gat": SparseMatrix, "sage": torch.Tensor, "mlp": torch.Tensor}.items():
        assert isinstance(problem(NodeClassification, graph(dense=False), model=model).x, kind)
    torch.testing.assert_close(problem(NodeClassification, graph(dense=False)).x.to_dense(), graph(dense=False).x)


def test_nodes_without_features_are_told_apart():
    assert torch.equal(extended(None, EDGES, 4).to_dense(), torch.eye(4))
    assert extended(None, EDGES, 4).layout == torch.sparse_coo


def test_features_stay_as_they_are_if_nothing_is_asked_for():
    assert extended(X, EDGES, 4) is X


def test_columns_are_appended_in_order_and_only_features_are_normalised():
    degrees = torch.zeros(4, 6)
    degrees[0, 3] = degrees[1:, 1] = 1
    assert torch.equal(extended(X, EDGES, 4, degree_features=True), torch.cat((X, degrees), dim=1))
    assert torch.equal(extended(None, EDGES, 4, degree_features=True), degrees)
    extra = 10 * torch.ones(4, 1)
    found = extended(X, EDGES, 4, degree_features=True, row_normalize=True, one_hot=True, extra=extra).to_dense()
    expected = torch.cat((normalize_rows(torch.cat((X, degrees), dim=1)), torch.eye(4), extra), dim=1)
    torch.testing.assert_close(found, expected)
    assert torch.equal(extended(X, EDGES, 4, extra=extra), torch.cat((X, extra), dim=1))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused_wherever_it_comes_from(value):
    bad = X.clone()
    bad[2, 1] = value
    message = f"features must be finite, but feature 1 of node 2 is {value}"
    for call in (lambda: check_features(bad), lambda: extended(bad, EDGES, 4), lambda: extended(X, EDGES, 4, extra=bad)):
        with pytest.raises(ValueError, match=message):
            call()


def test_features_are_sparse_if_most_are_zero_and_the_model_takes_that():
    thin, full = torch.eye(10), torch.ones(10, 10)
    assert isinstance(laid_out(thin, sparse=True), SparseMatrix)
    assert torch.equal(laid_out(thin, sparse=True).to_dense(), thin)
    assert laid_out(full, sparse=True) is full
    assert laid_out(thin, sparse=False) is thin
    assert torch.equal(laid_out(thin.to_sparse(), sparse=False), thin)
    assert isinstance(laid_out(full.to_sparse(), sparse=True), SparseMatrix)  # it came sparse
    assert 0.1 < SPARSE_BELOW < 1


def test_one_hot_features_are_not_made_dense_without_end():
    identity = extended(None, torch.zeros(2, 0, dtype=torch.long), 40_000)
    with pytest.raises(ValueError, match=r"those of shape \(40000, 40000\) would take 6 GiB: take a model such as qgcn"):
        laid_out(identity, sparse=False)
    assert laid_out(identity, sparse=True).shape == (40_000, 40_000)


def test_features_of_a_file_that_is_mapped_are_used_where_they_lie(tmp_path, monkeypatch):
    """Of all that is made of them on the way, nothing is as large as they are."""
    monkeypatch.setattr(features, "AT_ONCE", 300)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(24, 50)).astype(np.float32))
    x = torch.from_numpy(np.load(tmp_path / "x.npy", mmap_mode="c"))
    data = graph()
    data.x = x
    task = problem(NodeClassification, data, space="Q3,2", batch_size=5, fanout="2")
    assert task.x.data_ptr() == x.data_ptr()
    x[13, 7] = torch.inf
    with pytest.raises(ValueError, match="features must be finite, but feature 7 of node 13 is inf"):
        problem(NodeClassification, data, space="Q3,2")
