"""Sparse products against dense ones, by all implementations: values and gradients."""

import pytest
import torch

from cases import generator
from qgcn.kernels import use_backend
from qgcn.kernels.product import SparseMatrix, cpu
from tolerance import DTYPES


def matrices(dtype):
    path = torch.tensor([[1, 1, 0, 0, 0], [1, 2, 3, 0, 0], [0, 3, 1, 4, 0], [0, 0, 4, 0, 0], [0, 0, 0, 0, 0]], dtype=dtype)
    wide = torch.randn(5, 7, dtype=dtype, generator=generator(0)).relu()
    dense = {"symmetric": path, "uneven": path.tril() + 0.5 * path.triu(1), "wide": wide, "tall": wide.t().contiguous()}
    return {name: SparseMatrix.of(each) for name, each in dense.items()}


def with_values(matrix, values):
    return matrix if values is None else matrix.with_values(values)


def dense_with(matrix, values):
    parts = (matrix.crow, matrix.col, values)
    return torch.sparse_csr_tensor(*parts, matrix.shape, check_invariants=True).to_dense()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other_values", [False, True])
@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_a_product_equals_the_dense_one_value_and_gradient(kind, other_values, dtype):
    matrix = matrices(dtype)[kind]
    values = torch.randn(matrix.values.shape, dtype=dtype, generator=generator(1)) if other_values else None
    dense = matrix.to_dense() if values is None else dense_with(matrix, values)
    columns = torch.randn(matrix.shape[1], 3, dtype=dtype, generator=generator(2), requires_grad=True)
    weights = torch.randn(matrix.shape[0], 3, dtype=dtype, generator=generator(3))
    for _ in range(2):  # the second time from what was kept of the first
        product = with_values(matrix, values) @ columns
        (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
        torch.testing.assert_close(product, dense @ columns)
        torch.testing.assert_close(gradient, dense.t() @ weights)


@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_a_product_passes_gradcheck(kind):
    matrix = matrices(torch.float64)[kind]
    columns = torch.randn(matrix.shape[1], 2, dtype=torch.float64, generator=generator(2), requires_grad=True)
    assert torch.autograd.gradcheck(lambda columns: matrix @ columns, columns)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batched", ["columns", "values", "both", "columns, other values"])
@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_a_product_under_vmap_agrees_with_a_loop_value_and_gradient(kind, batched, dtype):
    matrix, count = matrices(dtype)[kind], 3
    columns = torch.randn(count, matrix.shape[1], 2, dtype=dtype, generator=generator(4))
    values = torch.randn(count, *matrix.values.shape, dtype=dtype, generator=generator(5))
    weights = torch.randn(count, matrix.shape[0], 2, dtype=dtype, generator=generator(6))
    many_columns, many_values = batched != "values", batched in ("values", "both")
    columns = (columns if many_columns else columns[0]).clone().requires_grad_()
    values = None if batched == "columns" else values if many_values else values[0]
    if values is None:
        product = torch.vmap(lambda each: matrix @ each)(columns)
    else:
        in_dims = (0 if many_columns else None, 0 if many_values else None)
        product = torch.vmap(lambda each, own: matrix.with_values(own) @ each, in_dims=in_dims)(columns, values)
    (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
    twin = columns.detach().clone().requires_grad_()
    expected = []
    for k in range(count):
        own = matrix.values if values is None else values[k] if many_values else values
        expected.append(dense_with(matrix, own) @ (twin[k] if many_columns else twin))
    expected = torch.stack(expected)
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), twin)
    torch.testing.assert_close(product, expected)
    torch.testing.assert_close(gradient, expected_gradient)


def test_a_product_takes_a_batch_along_any_axis():
    matrix = matrices(torch.float64)["uneven"]
    columns = torch.randn(5, 2, 3, dtype=torch.float64, generator=generator(4))
    product = torch.vmap(lambda each: matrix @ each, in_dims=2, out_dims=2)(columns)
    torch.testing.assert_close(product, torch.einsum("ij,jnk->ink", matrix.to_dense(), columns))


@pytest.mark.parametrize(
    ("columns", "values", "match"),
    [
        (torch.ones(5, 2), None, r"columns must have shape \(..., 7, n\), got \(5, 2\)"),
        (torch.ones(7), None, r"columns must have shape \(..., 7, n\), got \(7,\)"),
        (torch.ones(7, 2), torch.ones(3), r"values must have shape \(\d+,\), got \(3,\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(columns, values, match):
    with pytest.raises(ValueError, match=match):
        with_values(matrices(torch.float32)["wide"], values) @ columns


# --- all implementations -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
@pytest.mark.parametrize("batched", [None, "columns", "values", "both"])
@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_all_implementations_agree_value_and_gradient(kind, batched):
    found = []
    for path in ("native", "eager"):
        matrix = matrices(torch.float32)[kind]
        columns = torch.randn(3, matrix.shape[1], 20, generator=generator(1)).requires_grad_()
        values = torch.randn(3, len(matrix.values), generator=generator(2))
        weights = torch.randn(3, matrix.shape[0], 20, generator=generator(3))
        with use_backend(path):
            if batched is None:
                product = torch.stack([matrix @ each for each in columns])
            elif batched == "columns":
                product = torch.vmap(lambda each: matrix @ each)(columns)  # noqa: B023
            else:
                one = lambda own, each: matrix.with_values(own) @ each  # noqa: B023, E731
                product = torch.vmap(one, in_dims=(0, None if batched == "values" else 0))(
                    values, columns[0] if batched == "values" else columns
                )
            (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
        found.append((product, gradient))
    for native, eager in zip(*found, strict=True):
        torch.testing.assert_close(native, eager)


@pytest.mark.parametrize("batched", ["columns", "values", "both"])
@pytest.mark.parametrize("kind", ["uneven", "wide"])
def test_the_rule_of_a_gpu_gives_the_products_of_the_cpu(kind, batched, monkeypatch):
    """Columns side by side, or copies along a diagonal: a GPU starts one product instead of many."""
    from qgcn.kernels.product import autograd

    matrix = matrices(torch.float64)[kind]
    columns = torch.randn(3, matrix.shape[1], 2, dtype=torch.float64, generator=generator(1))
    values = torch.randn(3, len(matrix.values), dtype=torch.float64, generator=generator(2))
    given = {"columns": (None, columns), "values": (values, columns[0]), "both": (values, columns)}[batched]
    in_dims = (None if given[0] is None else 0, None if batched == "values" else 0)

    def one(own, each):
        return with_values(matrix, own) @ each

    expected = torch.vmap(one, in_dims=in_dims)(*given)
    monkeypatch.setattr(autograd, "_at_once", lambda columns: True)
    torch.testing.assert_close(torch.vmap(one, in_dims=in_dims)(*given), expected)
