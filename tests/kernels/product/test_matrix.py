"""Sparse matrices: what they hold, remember and share."""

import gc
import weakref

import pytest
import torch

from cases import generator
from qgcn.kernels.product import SparseMatrix, Structure
from tolerance import DTYPES

PATH = torch.tensor([[1.0, 1, 0], [1, 2, 3], [0, 3, 1]])
UNEVEN = torch.tensor([[1.0, 1, 0], [0.5, 2, 3], [0, 2, 1]])  # entries stand symmetrically, values do not
WIDE = torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0]])
DENSE = {"symmetric": PATH, "uneven": UNEVEN, "wide": WIDE, "tall": WIDE.t().contiguous()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["dense", "coo", "csr"])
def test_a_matrix_holds_the_entries_of_a_tensor(layout, dtype):
    dense = torch.randn(4, 6, dtype=dtype, generator=generator(0)).relu()
    given = {"dense": dense, "coo": dense.to_sparse(), "csr": dense.to_sparse_csr()}[layout]
    matrix = SparseMatrix.of(given)
    assert (matrix.crow.dtype, matrix.col.dtype, matrix.dtype) == (torch.int32, torch.int32, dtype)
    assert (matrix.shape, len(matrix)) == ((4, 6), 4)
    assert torch.equal(matrix.to_dense(), dense)
    assert matrix.csr.layout == torch.sparse_csr
    assert torch.equal(dense[tuple(matrix.coordinates)], matrix.values)
    assert repr(matrix) == f"SparseMatrix(4 x 6, {int((dense != 0).sum())} entries, {dtype})"


@pytest.mark.parametrize("kind", DENSE)
def test_the_transpose_is_found_once_and_symmetry_is_noticed(kind):
    matrix = SparseMatrix.of(DENSE[kind])
    assert torch.equal(matrix.t.to_dense(), DENSE[kind].t())
    assert matrix.t is matrix.t
    assert torch.equal(matrix.t.t.to_dense(), DENSE[kind])
    assert matrix.symmetric == (kind == "symmetric")
    assert (matrix.t is matrix) == matrix.symmetric


@pytest.mark.parametrize("kind", DENSE)
def test_other_values_share_the_structure_but_not_the_transpose(kind):
    matrix = SparseMatrix.of(DENSE[kind])
    assert matrix.t is not None  # known before
    values = torch.randn(len(matrix.values), generator=generator(1))
    other = matrix.with_values(values)
    assert other.structure is matrix.structure
    expected = torch.zeros_like(DENSE[kind])
    expected[DENSE[kind] != 0] = values
    assert torch.equal(other.to_dense(), expected)
    assert torch.equal(other.t.to_dense(), expected.t())
    assert not other.symmetric
    with pytest.raises(ValueError, match=r"values must have shape \(\d+,\), got \(1,\)"):
        matrix.with_values(values[:1])


def test_a_promise_of_symmetry_is_kept_only_by_a_symmetric_matrix():
    for dense, expected in ((PATH, True), (UNEVEN, False)):
        matrix = SparseMatrix.of(dense)
        assert matrix.with_values(2 * matrix.values, symmetric=True).symmetric == expected
        assert not matrix.with_values(2 * matrix.values).symmetric


@pytest.mark.parametrize("kind", DENSE)
def test_copies_stand_along_the_diagonal_and_are_remembered(kind):
    matrix = SparseMatrix.of(DENSE[kind])
    blocks = matrix.block_diagonal(3)
    assert torch.equal(blocks.to_dense(), torch.block_diag(*[DENSE[kind]] * 3))
    assert matrix.block_diagonal(3) is blocks
    assert matrix.block_diagonal(2).shape[0] == 2 * len(matrix)


@pytest.mark.parametrize("kind", DENSE)
def test_rows_are_taken_in_the_given_order_and_know_their_entries(kind):
    matrix = SparseMatrix.of(DENSE[kind])
    some = matrix.rows(torch.tensor([2, 0, 2, 1]))
    assert torch.equal(some.to_dense(), DENSE[kind][[2, 0, 2, 1]])
    assert some.part.total == len(matrix.values)
    assert torch.equal(matrix.values[some.part.rows], some.values)
    assert some.with_values(2 * some.values).part is some.part
    assert matrix.part is None


def test_a_product_of_two_sparse_matrices_is_sparse():
    product = SparseMatrix.of(PATH) @ SparseMatrix.of(WIDE)
    assert isinstance(product, SparseMatrix)
    assert torch.equal(product.to_dense(), PATH @ WIDE)
    assert product.crow.dtype == torch.int32


def test_a_matrix_moves_to_another_type_and_device():
    matrix = SparseMatrix.of(UNEVEN)
    assert matrix.to(torch.device("cpu"), torch.float32) is matrix
    double = matrix.to(dtype=torch.float64)
    assert double.structure is matrix.structure
    assert torch.equal(double.to_dense(), UNEVEN.double())
    assert torch.equal(double.t.to_dense(), UNEVEN.double().t())
    elsewhere = matrix.rows(torch.tensor([1])).to(torch.device("meta"))
    assert {each.device.type for each in (elsewhere.crow, elsewhere.col, elsewhere.values, elsewhere.part.rows)} == {"meta"}


def test_a_matrix_that_nobody_holds_is_gone_without_a_collection():
    matrix = SparseMatrix.of(UNEVEN)
    other = matrix.with_values(2 * matrix.values, symmetric=True)
    assert other.t is not None
    gone = [weakref.ref(each) for each in (other, matrix, matrix.structure)]
    gc.disable()
    try:
        del other, matrix
        assert [each() for each in gone] == [None] * 3
    finally:
        gc.enable()


def test_the_transpose_is_made_when_it_is_asked_for_again_and_changes_nothing():
    dense = torch.randn(6, 4, generator=generator(0)) * (torch.rand(6, 4, generator=generator(1)) < 0.5)
    matrix = SparseMatrix.of(dense)
    gradients = []
    for _ in range(3):
        columns = torch.ones(4, 5, requires_grad=True)
        (matrix @ columns).square().sum().backward()
        gradients.append(columns.grad)
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)
    torch.testing.assert_close(gradients[0], 2 * dense.t() @ (dense @ torch.ones(4, 5)))
    assert matrix.keeps_transpose()
    once = matrix.with_values(matrix.values * 2)
    assert not once.keeps_transpose()
    assert once.keeps_transpose()
    symmetric = SparseMatrix.of(dense[:4] + dense[:4].t())
    assert symmetric.keeps_transpose()


def test_more_entries_than_32_bits_count_are_refused():
    crow, col = torch.tensor([0, 2**31]), torch.zeros(1, dtype=torch.int32).expand(2**31)  # in no memory
    with pytest.raises(ValueError, match=r"fewer than 2\^31 entries, rows and columns, got 1 by 1 with 2,147,483,648 entries"):
        Structure(crow, col, (1, 1))
    with pytest.raises(ValueError, match=r"got 1 by 2,147,483,648 with 1 entries"):
        Structure(crow, col[:1], (1, 2**31))
