"""Compiled products against dense ones; without a compiler there is nothing to test."""

import pytest
import torch

from cases import generator
from qgcn.kernels.product import SparseMatrix, cpu

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


@pytest.mark.parametrize("width", [1, 3, 16, 20, 40])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("size", [(5, 7), (300, 90)])  # one thread's work, and more
def test_products_equal_dense_ones(size, batch, width):
    dense = torch.randn(size, generator=generator(0)) * (torch.rand(size, generator=generator(1)) < 0.3)
    matrix = SparseMatrix.of(dense)
    structure = matrix.crow, matrix.col
    columns = torch.randn(batch, size[1], width, generator=generator(2))
    torch.testing.assert_close(cpu.products(*structure, matrix.values, columns), dense @ columns, rtol=1e-4, atol=1e-5)

    own = torch.randn(batch, matrix.values.numel(), generator=generator(3))
    each = torch.zeros(batch, *size)
    each[:, dense != 0] = own
    torch.testing.assert_close(cpu.products(*structure, own, columns), each @ columns, rtol=1e-4, atol=1e-5)

    order = torch.randperm(own.shape[1], generator=generator(4)).int()
    shuffled = torch.empty_like(own)
    shuffled[:, order.long()] = own
    torch.testing.assert_close(cpu.products(*structure, shuffled, columns, order), cpu.products(*structure, own, columns))


def test_products_with_rows_that_are_empty_are_zero():
    matrix = SparseMatrix.of(torch.zeros(4, 3))
    found = cpu.products(matrix.crow, matrix.col, matrix.values, torch.ones(2, 3, 16))
    assert torch.equal(found, torch.zeros(2, 4, 16))


@pytest.mark.parametrize("size", [(5, 7), (300, 90), (40, 3000)])
def test_a_transpose_has_the_entries_of_the_matrix_in_order(size):
    dense = torch.randn(size, generator=generator(0)) * (torch.rand(size, generator=generator(1)) < 0.2)
    matrix = SparseMatrix.of(dense)
    crow, col, order = cpu.turn(matrix.crow, matrix.col, size[1])
    expected = SparseMatrix.of(dense.t())
    assert torch.equal(crow, expected.crow)
    assert torch.equal(col, expected.col)
    assert torch.equal(matrix.values[order.long()], expected.values)
