import pytest
import torch

from cases import generator
from qgcn.kernels.product import SparseMatrix, reference
from tolerance import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own", [False, True])
def test_products_equal_dense_ones(own, dtype):
    dense = torch.randn(5, 7, dtype=dtype, generator=generator(0)).relu()
    matrix = SparseMatrix.of(dense)
    columns = torch.randn(3, 7, 4, dtype=dtype, generator=generator(1))
    values = torch.randn(3, len(matrix.values), dtype=dtype, generator=generator(2)) if own else matrix.values
    each = torch.zeros(3, 5, 7, dtype=dtype)
    each[:, dense != 0] = values if own else values.expand(3, -1)
    torch.testing.assert_close(reference.products(matrix, columns, values), each @ columns)
