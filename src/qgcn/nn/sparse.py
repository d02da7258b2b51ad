"""Products of a sparse matrix with dense columns, and the normalised adjacency of a graph.

The matrix is a torch sparse CSR tensor and is treated as constant. ``torch.vmap`` knows the product.
"""

import warnings
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor
from torch.autograd import Function
from torch.utils.weak import WeakIdKeyDictionary

from qgcn.kernels.product import cpu

__all__ = [
    "AGGREGATIONS",
    "Aggregation",
    "EdgeDropout",
    "adjacency",
    "edges_of",
    "matmul",
    "revalued",
    "select_rows",
    "to_csr",
]

Aggregation = Literal["sum", "mean", "sym"]
AGGREGATIONS = get_args(Aggregation)

with warnings.catch_warnings():  # PyTorch says once that CSR is in beta: nothing a user of this package could act on
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    torch.eye(1).to_sparse_csr()

# what the transpose of a matrix looks like, kept as long as the matrix it belongs to
_TRANSPOSED: WeakIdKeyDictionary = WeakIdKeyDictionary()
# how many copies of it look along a diagonal, kept likewise
_BLOCKS: WeakIdKeyDictionary = WeakIdKeyDictionary()


class _Transpose(NamedTuple):
    """The structure of a matrix's transpose, where its values come from, and those of the matrix itself."""

    crow: Tensor
    col: Tensor
    order: Tensor
    values: Tensor | None
    symmetric: bool


class _Product(Function):
    @staticmethod
    def forward(matrix: Tensor, columns: Tensor, values: Tensor | None) -> Tensor:
        return _multiply(matrix, columns.unsqueeze(0), values).squeeze(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:
        ctx.matrix, _, ctx.values = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        return None, _multiply_turned(ctx.matrix, grad.unsqueeze(0), ctx.values).squeeze(0), None

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[None, int | None, int | None], matrix: Tensor, columns: Tensor, values: Tensor | None
    ) -> tuple[Tensor, int]:
        count = info.batch_size
        each = None if in_dims[1] is None else columns.movedim(in_dims[1], 0)
        own = None if in_dims[2] is None else values.movedim(in_dims[2], 0)  # type: ignore[union-attr]
        if columns.device.type == "cpu":
            every = columns.expand(count, -1, -1) if each is None else each
            return _Products.apply(matrix, every, values if own is None else own), 0  # type: ignore[no-untyped-call]
        # starting one product takes a GPU as long as starting all: further columns of one matrix, or one along the diagonal
        if own is None:
            side_by_side = columns.movedim(in_dims[1], -2).reshape(matrix.shape[1], -1)  # type: ignore[arg-type]  # (M, batch * n)
            return matmul(matrix, side_by_side, values).view(matrix.shape[0], count, -1), 1
        below = (columns.expand(count, -1, -1) if each is None else each).reshape(-1, columns.shape[-1])  # (batch * M, n)
        return matmul(_block_diagonal(matrix, count), below, own.flatten()).view(count, matrix.shape[0], -1), 0


class _Products(Function):
    """A batch of products, columns of shape ``(K, M, n)``."""

    @staticmethod
    def forward(matrix: Tensor, columns: Tensor, values: Tensor | None) -> Tensor:
        return _multiply(matrix, columns, values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:
        ctx.matrix, _, ctx.values = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None]:
        return None, _multiply_turned(ctx.matrix, grad, ctx.values), None


def _multiply(matrix: Tensor, columns: Tensor, values: Tensor | None) -> Tensor:
    """Return the products of a matrix, or of one with these values for each, with columns of shape ``(K, M, n)``."""
    if not _compiled(matrix, columns, values):
        return _one_by_one(matrix, columns, values, turn=False)
    parts = (matrix.crow_indices(), matrix.col_indices(), matrix.values() if values is None else values, columns)
    return cpu.products(*(each.contiguous() for each in parts))


def _multiply_turned(matrix: Tensor, columns: Tensor, values: Tensor | None) -> Tensor:
    """Do the same with the transpose, columns of shape ``(K, N, n)``."""
    if not _compiled(matrix, columns, values):
        return _one_by_one(matrix, columns, values, turn=True)
    if values is None:
        return _multiply(_turned(matrix, None), columns, None)
    turned = _transpose(matrix)
    return cpu.products(turned.crow, turned.col, values.contiguous(), columns.contiguous(), turned.order)


def _compiled(matrix: Tensor, columns: Tensor, values: Tensor | None) -> bool:
    return matrix.crow_indices().dtype == torch.int32 and cpu.takes(columns, matrix if values is None else values)


def _one_by_one(matrix: Tensor, columns: Tensor, values: Tensor | None, turn: bool) -> Tensor:
    """Multiply one after the other: a cache holds the columns of one, not of all."""
    out = columns.new_empty(columns.shape[0], matrix.shape[turn], columns.shape[-1])
    for k, product in enumerate(out):
        own = values if values is None or values.ndim == 1 else values[k]
        used = _turned(matrix, own) if turn else matrix if own is None else _with_values(matrix, own)
        product.addmm_(used, columns[k].contiguous(), beta=0)  # a product would be added to zeros, and copied
    return out


def matmul(matrix: Tensor, columns: Tensor, values: Tensor | None = None) -> Tensor:
    """Multiply a sparse matrix with dense columns.

    Laws: equal to ``matrix.to_dense() @ columns``, value and gradient with respect to ``columns``.

    Args:
        matrix: CSR tensor, shape ``(N, M)``, without a gradient of its own.
        columns: Shape ``(M, n)``.
        values: Take these for the matrix's values, shape ``(nnz,)``, without a gradient.

    Returns:
        Shape ``(N, n)``.

    Raises:
        ValueError: Shapes do not fit.
    """
    if columns.ndim != 2 or columns.shape[0] != matrix.shape[1]:
        raise ValueError(f"columns must have shape ({matrix.shape[1]}, n), got {tuple(columns.shape)}")
    if values is not None and values.shape != matrix.values().shape:
        raise ValueError(f"values must have shape {tuple(matrix.values().shape)}, got {tuple(values.shape)}")
    product: Tensor = _Product.apply(matrix, columns, values)  # type: ignore[no-untyped-call]
    return product


def _block_diagonal(matrix: Tensor, count: int) -> Tensor:
    """Return ``count`` copies of a matrix along the diagonal; kept with the matrix."""
    kept: dict[int, Tensor] = _BLOCKS.setdefault(matrix, {})
    if count not in kept:
        crow, col = matrix.crow_indices().long(), matrix.col_indices().long()
        step = torch.arange(count, device=crow.device).unsqueeze(1)
        rows = torch.cat((crow[:1], (crow[1:] + step * crow[-1]).flatten()))
        shape = (count * matrix.shape[0], count * matrix.shape[1])
        kept[count] = _csr(rows, (col + step * matrix.shape[1]).flatten(), matrix.values().repeat(count), shape)
    return kept[count]


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, matrix.shape, check_invariants=False)


def revalued(matrix: Tensor, values: Tensor, symmetric: bool = False) -> Tensor:
    """Return a CSR matrix with other values; what is known of its structure is kept.

    Args:
        matrix: CSR tensor.
        values: Shape ``(nnz,)``.
        symmetric: Say that the result is equal to its transpose if the matrix is.
    """
    made = _with_values(matrix, values)
    turned = _transpose(matrix)
    _TRANSPOSED[made] = turned._replace(values=None, symmetric=turned.symmetric and symmetric)
    return made


def select_rows(matrix: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return some rows of a CSR matrix, as a CSR matrix, and which of its entries these are, shape ``(nnz,)``."""
    crow = matrix.crow_indices().long()
    start, count = crow[rows], crow.diff()[rows]
    taken = torch.cat((count.new_zeros(1), count.cumsum(0)))
    entries = torch.repeat_interleave(start - taken[:-1], count) + torch.arange(int(taken[-1]), device=rows.device)
    return _csr(taken, matrix.col_indices()[entries], matrix.values()[entries], (len(rows), matrix.shape[1])), entries


def _turned(matrix: Tensor, values: Tensor | None) -> Tensor:
    """Return the transpose of a matrix with these values, its own if none are given."""
    turned = _transpose(matrix)
    if turned.symmetric and values is None:
        return matrix
    if values is not None or turned.values is None:
        values = (matrix.values() if values is None else values).index_select(0, turned.order)
    else:
        values = turned.values
    shape = (matrix.shape[1], matrix.shape[0])
    return torch.sparse_csr_tensor(turned.crow, turned.col, values, shape, check_invariants=False)


def _transpose(matrix: Tensor) -> _Transpose:
    found: _Transpose | None = _TRANSPOSED.get(matrix)
    if found is None:
        crow, col = matrix.crow_indices(), matrix.col_indices()
        rows = torch.repeat_interleave(torch.arange(matrix.shape[0], device=crow.device), crow.long().diff())
        order = torch.argsort(col.long() * matrix.shape[0] + rows)
        turned = torch.zeros(matrix.shape[1] + 1, dtype=torch.int64, device=crow.device)
        turned[1:] = torch.bincount(col.long(), minlength=matrix.shape[1]).cumsum(0)
        turned, rows = turned.to(crow.dtype), rows[order].to(col.dtype)
        same = matrix.shape[0] == matrix.shape[1] and torch.equal(turned, crow) and torch.equal(rows, col)
        values = matrix.values()[order]
        symmetric = same and torch.equal(values, matrix.values())
        found = _Transpose(turned, rows, order.to(col.dtype), None if symmetric else values, symmetric)
        _TRANSPOSED[matrix] = found
    return found


def to_csr(x: Tensor) -> Tensor:
    """Turn a dense matrix into CSR, with 32-bit indices, which every backend multiplies fastest."""
    matrix = x.to_sparse_csr()
    return _csr(matrix.crow_indices(), matrix.col_indices(), matrix.values(), matrix.shape)


def _csr(crow: Tensor, col: Tensor, values: Tensor, shape: torch.Size | tuple[int, int]) -> Tensor:
    return torch.sparse_csr_tensor(crow.int(), col.int(), values, tuple(shape), check_invariants=False)


def edges_of(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``edge_index``, shape ``(2, E)``, sources first, and the weights of a CSR adjacency whose rows are targets."""
    crow, col = matrix.crow_indices().long(), matrix.col_indices().long()
    rows = torch.repeat_interleave(torch.arange(matrix.shape[0], device=crow.device), crow.diff())
    return torch.stack((col, rows)), matrix.values()


def adjacency(
    edge_index: Tensor,
    num_nodes: int,
    edge_weight: Tensor | None = None,
    *,
    aggregation: Aggregation = "sym",
    self_loops: bool = True,
) -> Tensor:
    r"""Build the matrix that aggregates neighbours, row ``i`` for node ``i``.

    ========  =====================================================
    ``sum``   :math:`A`, Eq. 6
    ``mean``  :math:`D^{-1} A`
    ``sym``   :math:`D^{-1/2} A D^{-1/2}`
    ========  =====================================================

    Args:
        edge_index: Sources and targets, shape ``(2, E)``.
        num_nodes: Number of nodes ``N``.
        edge_weight: Weights, shape ``(E,)``; ones if none are given.
        aggregation: How the rows are normalised.
        self_loops: Count every node among its own neighbours, with weight 1; loops in ``edge_index`` are dropped then.

    Returns:
        CSR tensor of shape ``(N, N)``, with the type of the weights.

    Raises:
        TypeError: ``edge_index`` does not hold integers.
        ValueError: Unknown aggregation, an index outside ``[0, N)``, or shapes that do not fit.
    """
    if aggregation not in AGGREGATIONS:
        raise ValueError(f"aggregation must be one of {', '.join(AGGREGATIONS)}, got {aggregation!r}")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    if edge_index.is_floating_point() or edge_index.dtype == torch.bool:
        raise TypeError(f"edge_index must hold integers, got {edge_index.dtype}")
    if edge_index.numel() and (int(edge_index.min()) < 0 or int(edge_index.max()) >= num_nodes):
        wrong = int(edge_index.min()) if int(edge_index.min()) < 0 else int(edge_index.max())
        raise ValueError(f"edge_index must lie in [0, {num_nodes}), got {wrong}")
    if edge_weight is not None and edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(f"edge_weight must have shape ({edge_index.shape[1]},), got {tuple(edge_weight.shape)}")
    device = edge_index.device
    weight = torch.ones(edge_index.shape[1], device=device) if edge_weight is None else edge_weight.detach()
    if self_loops:
        keep = edge_index[0] != edge_index[1]
        loops = torch.arange(num_nodes, device=device)
        edge_index = torch.cat((edge_index[:, keep], loops.expand(2, -1)), dim=1)
        weight = torch.cat((weight[keep], weight.new_ones(num_nodes)))
    matrix = torch.sparse_coo_tensor(edge_index.flip(0), weight, (num_nodes, num_nodes), check_invariants=False).coalesce()
    target, source = matrix.indices()
    crow = torch.zeros(num_nodes + 1, dtype=torch.int64, device=device)
    crow[1:] = torch.bincount(target, minlength=num_nodes).cumsum(0)
    return _csr(crow, source, _normalized(matrix.values(), target, source, num_nodes, aggregation), (num_nodes, num_nodes))


def _normalized(weight: Tensor, target: Tensor, source: Tensor, num_nodes: int, aggregation: Aggregation) -> Tensor:
    if aggregation == "sum":
        return weight
    degree = weight.new_zeros(num_nodes).scatter_add_(0, target, weight)
    inverse = torch.where(degree > 0, degree, 1).reciprocal()  # without neighbours nothing comes, whatever it is divided by
    return weight * inverse[target] if aggregation == "mean" else weight * (inverse[target] * inverse[source]).sqrt()


class EdgeDropout:
    """Leaves edges out of an adjacency at random, both directions of an edge alike, and normalises what remains.

    Args:
        edge_index: As for :func:`adjacency`; undirected, each edge in both directions.
        num_nodes: Number of nodes ``N``.
        edge_weight: As for :func:`adjacency`; equal in both directions.
        p: Share of the edges left out; loops stay.
        aggregation: As for :func:`adjacency`.
    """

    def __init__(
        self, edge_index: Tensor, num_nodes: int, edge_weight: Tensor | None, *, p: float, aggregation: Aggregation = "sym"
    ) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"p must be in [0, 1), got {p}")
        self.p = p
        self.aggregation: Aggregation = aggregation
        self.matrix = adjacency(edge_index, num_nodes, edge_weight, aggregation="sum")
        self._index()

    def _index(self) -> None:
        (self.source, self.target), self.weight = edges_of(self.matrix)
        pairs = torch.minimum(self.source, self.target) * self.matrix.shape[0] + torch.maximum(self.source, self.target)
        _, self.pair = torch.unique(pairs, return_inverse=True)
        self.count = int(self.pair.max()) + 1
        self.loop = self.source == self.target

    def to(self, device: torch.device, dtype: torch.dtype) -> "EdgeDropout":
        """Move everything to a device and a type."""
        self.matrix = self.matrix.to(device=device, dtype=dtype)
        self._index()
        return self

    def draw(self, generator: torch.Generator) -> Tensor:
        """Return an adjacency with some edges left out: the structure of the whole one, with zeros."""
        kept = torch.rand(self.count, device=self.weight.device, generator=generator) >= self.p
        weight = self.weight * (kept[self.pair] | self.loop)
        values = _normalized(weight, self.target, self.source, self.matrix.shape[0], self.aggregation)
        return revalued(self.matrix, values, symmetric=self.aggregation != "mean")
