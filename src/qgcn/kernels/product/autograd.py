"""The gradient of a sparse product, its rule under ``torch.vmap``, and which implementation computes it."""

from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.autograd import Function

from qgcn.kernels.product import cpu, reference

if TYPE_CHECKING:
    from qgcn.kernels.product.matrix import SparseMatrix

__all__ = ["product"]


def product(matrix: "SparseMatrix", columns: Tensor) -> Tensor:
    """Multiply a sparse matrix, shape ``(N, M)``, with dense columns, shape ``(..., M, n)``.

    Raises:
        ValueError: Shapes do not fit.
    """
    if columns.ndim < 2 or columns.shape[-2] != matrix.shape[1]:
        raise ValueError(f"columns must have shape (..., {matrix.shape[1]}, n), got {tuple(columns.shape)}")
    if columns.ndim > 2:  # further columns
        batch, width = columns.shape[:-2], columns.shape[-1]
        beside = columns.reshape(-1, *columns.shape[-2:]).movedim(0, 1).reshape(matrix.shape[1], -1)
        return product(matrix, beside).view(matrix.shape[0], -1, width).movedim(0, 1).reshape(*batch, matrix.shape[0], width)
    result: Tensor = _Product.apply(matrix, columns, matrix.values)  # type: ignore[no-untyped-call]
    return result


class _Product(Function):
    """One product; values are an argument, too, so that ``vmap`` sees whether each model has its own."""

    @staticmethod
    def forward(matrix: "SparseMatrix", columns: Tensor, values: Tensor) -> Tensor:
        return _multiply(matrix, columns.unsqueeze(0), values).squeeze(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.matrix, _, ctx.values = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        return None, _multiply_turned(ctx.matrix, grad.unsqueeze(0), ctx.values).squeeze(0), None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[None, int | None, int | None], matrix: "SparseMatrix", columns: Tensor, values: Tensor
    ) -> tuple[Tensor, int]:
        count, rows = info.batch_size, matrix.shape[0]
        each = None if in_dims[1] is None else columns.movedim(in_dims[1], 0)
        own = None if in_dims[2] is None else values.movedim(in_dims[2], 0)
        if not _at_once(columns):
            every = columns.expand(count, -1, -1) if each is None else each
            return _Products.apply(matrix, every, values if own is None else own), 0  # type: ignore[no-untyped-call]
        # further columns of one matrix, or one matrix along the diagonal
        if own is None:
            side_by_side = columns.movedim(in_dims[1] or 0, -2).reshape(matrix.shape[1], -1)  # (M, batch * n)
            return product(matrix, side_by_side).view(rows, count, -1), 1
        below = (columns.expand(count, -1, -1) if each is None else each).reshape(-1, columns.shape[-1])  # (batch * M, n)
        blocks = matrix.blocks_of(own)
        return product(blocks, below).view(count, rows, -1), 0


class _Products(Function):
    """A batch of products, columns of shape ``(K, M, n)``, values of shape ``(nnz,)`` or ``(K, nnz)``."""

    @staticmethod
    def forward(matrix: "SparseMatrix", columns: Tensor, values: Tensor) -> Tensor:
        return _multiply(matrix, columns, values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.matrix, _, ctx.values = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        return None, _multiply_turned(ctx.matrix, grad, ctx.values), None


def _at_once(columns: Tensor) -> bool:
    """Tell whether a batch is one larger product: starting one takes a GPU as long as starting all."""
    return columns.device.type != "cpu"


def _multiply(matrix: "SparseMatrix", columns: Tensor, values: Tensor) -> Tensor:
    if cpu.takes(columns, values):
        return cpu.products(matrix.crow, matrix.col, values.contiguous(), columns.contiguous())
    return reference.products(matrix, columns, values)


def _multiply_turned(matrix: "SparseMatrix", columns: Tensor, values: Tensor) -> Tensor:
    """Do the same with the transpose, columns of shape ``(K, N, n)``."""
    compiled = cpu.takes(columns, values)
    if values is matrix.values and (matrix.keeps_transpose() or not compiled):
        turned = matrix.t
        return _multiply(turned, columns, turned.values)
    structure, order = matrix.structure.turned
    structure = structure or matrix.structure
    if compiled:
        return cpu.products(structure.crow, structure.col, values.contiguous(), columns.contiguous(), order)
    turned_values = values.index_select(-1, order)
    return reference.products(matrix.sharing(structure, turned_values), columns, turned_values)
