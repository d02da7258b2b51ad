"""Sparse matrices that remember what their structure looks like from the other side."""

import warnings
from functools import cached_property
from typing import NamedTuple, overload

import torch
from torch import Tensor

from qgcn.kernels.part import Part
from qgcn.kernels.product import cpu
from qgcn.kernels.product.autograd import product

__all__ = ["SparseMatrix", "Structure", "Turned"]

with warnings.catch_warnings():  # PyTorch says once that CSR is in beta: nothing a user of this package could act on
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
    torch.eye(1).to_sparse_csr()


_MOST = 1 << 31
"""Entries, rows or columns, and more, that 32 bits do not count."""
_REMEMBERED = 1 << 21
"""Entries of a matrix whose rows and columns are remembered, at most: they take four times the memory of its indices."""


class Turned(NamedTuple):
    """The structure of a transpose.

    Attributes:
        structure: Its entries; ``None`` if they stand where those of the matrix stand.
        order: Which entry of the matrix each of them is, int32, shape ``(nnz,)``.
    """

    structure: "Structure | None"
    order: Tensor


class Structure:
    """The entries of a sparse matrix without their values; shared by all matrices that differ in those alone.

    Attributes:
        crow: Where the rows begin, then the number of entries, int32, shape ``(N + 1,)``.
        col: Columns of the entries, int32, shape ``(nnz,)``.
        shape: ``(N, M)``.

    Raises:
        ValueError: There are more entries, rows or columns than 32 bits count.
    """

    def __init__(self, crow: Tensor, col: Tensor, shape: tuple[int, int]) -> None:
        if max(col.numel(), *shape) >= _MOST:
            size = f"{shape[0]:,} by {shape[1]:,} with {col.numel():,} entries"
            raise ValueError(f"a sparse matrix must have fewer than 2^31 entries, rows and columns, got {size}")
        self.crow, self.col = crow.int().contiguous(), col.int().contiguous()  # 32 bits: multiplied fastest everywhere
        self.shape = shape
        self._repeated: dict[int, Structure] = {}

    @property
    def coordinates(self) -> Tensor:
        """Rows and columns of the entries, int64, shape ``(2, nnz)``; remembered if they are not many."""
        return self._coordinates if self.col.numel() <= _REMEMBERED else self._located()

    @cached_property
    def _coordinates(self) -> Tensor:
        return self._located()

    def _located(self) -> Tensor:
        numbers = torch.arange(self.shape[0], device=self.crow.device)
        return torch.stack(
            (torch.repeat_interleave(numbers, self.crow.long().diff(), output_size=self.col.numel()), self.col.long())
        )

    @cached_property
    def turned(self) -> Turned:
        """The structure of the transpose."""
        if cpu.turns(self.crow):
            crow, sources, order = cpu.turn(self.crow, self.col, self.shape[1])
        else:
            rows, columns = self.coordinates
            order = torch.argsort(columns * self.shape[0] + rows)
            crow = torch.zeros(self.shape[1] + 1, dtype=torch.int64, device=self.crow.device)
            crow[1:] = torch.bincount(columns, minlength=self.shape[1]).cumsum(0)
            sources = rows[order]
        found = Structure(crow, sources, (self.shape[1], self.shape[0]))
        same = self.shape == found.shape and torch.equal(found.crow, self.crow) and torch.equal(found.col, self.col)
        return Turned(None if same else found, order.int())

    def repeated(self, count: int) -> "Structure":
        """Return ``count`` copies along the diagonal; remembered."""
        if count not in self._repeated:
            step = torch.arange(count, device=self.crow.device).unsqueeze(1)
            crow = torch.cat((self.crow[:1].long(), (self.crow[1:] + step * self.crow[-1].long()).flatten()))
            col = (self.col + step * self.shape[1]).flatten()
            self._repeated[count] = Structure(crow, col, (count * self.shape[0], count * self.shape[1]))
        return self._repeated[count]


class SparseMatrix:
    """A constant sparse matrix, stored by rows (CSR) with 32-bit indices.

    ``matrix @ columns`` is differentiable in dense columns and goes through ``torch.vmap``, with columns or values of its own
    for each model of a batch. The transpose, which the gradient needs, is found once and remembered.

    Laws: ``matrix @ columns`` equals ``matrix.to_dense() @ columns``, value and gradient with respect to ``columns``.

    Args:
        crow: Where the rows begin, then the number of entries, integers, shape ``(N + 1,)``.
        col: Columns of the entries, ascending in each row, integers, shape ``(nnz,)``.
        values: Of the entries, shape ``(nnz,)``; no gradient flows to them.
        shape: ``(N, M)``.
        part: Entries of a larger matrix that these are, if it was cut out of one (default: none).
    """

    def __init__(self, crow: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int], *, part: Part | None = None) -> None:
        self._begin(Structure(crow, col, (int(shape[0]), int(shape[1]))), values, part)

    def _begin(self, structure: Structure, values: Tensor, part: Part | None) -> None:
        self.structure = structure
        self.values = values
        self.part = part
        self._symmetric_as: SparseMatrix | bool | None = None  # none: not known yet; a matrix: if that one is
        self._transpose: SparseMatrix | None = None
        self._asked_before = False
        self._blocks: dict[int, SparseMatrix] = {}

    @classmethod
    def sharing(cls, structure: Structure, values: Tensor, part: Part | None = None) -> "SparseMatrix":
        """Give values to a structure."""
        made = cls.__new__(cls)
        made._begin(structure, values, part)
        return made

    @classmethod
    def of(cls, x: Tensor) -> "SparseMatrix":
        """Take the entries of a dense matrix that are not zero, or those of a sparse tensor of PyTorch."""
        csr = x if x.layout == torch.sparse_csr else x.to_sparse_csr()
        return cls(csr.crow_indices(), csr.col_indices(), csr.values(), (csr.shape[0], csr.shape[1]))

    @property
    def crow(self) -> Tensor:
        """Where the rows begin, then the number of entries, int32, shape ``(N + 1,)``."""
        return self.structure.crow

    @property
    def col(self) -> Tensor:
        """Columns of the entries, int32, shape ``(nnz,)``."""
        return self.structure.col

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.structure.shape

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return self.values.dtype

    @property
    def device(self) -> torch.device:
        """Device of the values."""
        return self.values.device

    @property
    def coordinates(self) -> Tensor:
        """Rows and columns of the entries, int64, shape ``(2, nnz)``."""
        return self.structure.coordinates

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"SparseMatrix({self.shape[0]} x {self.shape[1]}, {self.col.numel()} entries, {self.dtype})"

    # --- products ----------------------------------------------------------------------------------------------------------

    @overload
    def __matmul__(self, other: Tensor) -> Tensor: ...
    @overload
    def __matmul__(self, other: "SparseMatrix") -> "SparseMatrix": ...
    def __matmul__(self, other: "Tensor | SparseMatrix") -> "Tensor | SparseMatrix":
        if not isinstance(other, SparseMatrix):
            return product(self, other)
        return SparseMatrix.of(torch.sparse.mm(self.csr.to_sparse_coo(), other.csr.to_sparse_coo()).to_sparse_csr())

    @property
    def symmetric(self) -> bool:
        """Whether the matrix equals its transpose."""
        if isinstance(self._symmetric_as, SparseMatrix):
            self._symmetric_as = self._symmetric_as.symmetric
        elif self._symmetric_as is None:
            structure, order = self.structure.turned
            self._symmetric_as = structure is None and torch.equal(self.values.index_select(0, order), self.values)
        return self._symmetric_as

    @property
    def t(self) -> "SparseMatrix":
        """The transpose; remembered, and the matrix itself if it is symmetric."""
        if self.symmetric:
            return self
        if self._transpose is None:
            structure, order = self.structure.turned
            self._transpose = self.sharing(structure or self.structure, self.values.index_select(0, order))
        return self._transpose

    def keeps_transpose(self) -> bool:
        """Tell whether the transpose is known or has been asked for before: for a single use it is not worth building."""
        known = self.symmetric or self._transpose is not None or self._asked_before
        self._asked_before = True
        return known

    def block_diagonal(self, count: int) -> "SparseMatrix":
        """Return ``count`` copies along the diagonal; remembered."""
        if count not in self._blocks:
            made = self.sharing(self.structure.repeated(count), self.values.repeat(count))
            made._symmetric_as = self  # asking the values would make a step wait for the device
            self._blocks[count] = made
        return self._blocks[count]

    def blocks_of(self, values: Tensor) -> "SparseMatrix":
        """Return copies with values of their own, shape ``(K, nnz)``, along the diagonal; taken for not symmetric."""
        made = self.sharing(self.structure.repeated(len(values)), values.flatten())
        made._symmetric_as = False
        return made

    # --- other matrices of it ----------------------------------------------------------------------------------------------

    def with_values(self, values: Tensor, symmetric: bool = False) -> "SparseMatrix":
        """Return a matrix of the same structure; what is known of it is shared.

        Args:
            values: Shape ``(nnz,)``; one for each model of a batch under ``torch.vmap``.
            symmetric: Promise that the result is symmetric if this matrix is (default: it is taken for not symmetric).
        """
        if values.shape != self.col.shape:
            raise ValueError(f"values must have shape {tuple(self.col.shape)}, got {tuple(values.shape)}")
        made = self.sharing(self.structure, values, self.part)
        made._symmetric_as = self if symmetric else False
        return made

    def rows(self, indices: Tensor, *, scattered: bool = False) -> "SparseMatrix":
        """Return some rows, in the order given; ``part`` of the result says which entries they hold.

        Args:
            indices: Numbers of the rows, shape ``(n,)``.
            scattered: What ``part`` says of them, see :class:`~qgcn.kernels.part.Part` (default: no).
        """
        crow = self.crow.long()
        start, count = crow[indices], crow.diff()[indices]
        taken = torch.cat((count.new_zeros(1), count.cumsum(0)))
        steps = torch.arange(int(taken[-1]), device=indices.device)
        entries = torch.repeat_interleave(start - taken[:-1], count) + steps
        part = Part(entries, self.col.numel(), scattered)
        return SparseMatrix(taken, self.col[entries], self.values[entries], (len(indices), self.shape[1]), part=part)

    def to(self, device: torch.device | None = None, dtype: torch.dtype | None = None) -> "SparseMatrix":
        """Move to a device and to a type; itself if nothing changes."""
        values = self.values.to(device=device, dtype=dtype)
        if values is self.values:
            return self
        if values.device == self.device:
            return self.sharing(self.structure, values, self.part)
        structure = Structure(self.crow.to(device), self.col.to(device), self.shape)
        return self.sharing(structure, values, None if self.part is None else self.part.to(values.device))

    @cached_property
    def csr(self) -> Tensor:
        """The same as a tensor of PyTorch, layout ``torch.sparse_csr``."""
        return torch.sparse_csr_tensor(self.crow, self.col, self.values, self.shape, check_invariants=False)

    def to_dense(self) -> Tensor:
        """Return all entries, shape ``(N, M)``."""
        return self.csr.to_dense()
