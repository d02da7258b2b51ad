"""Read NumPy's files, and the sparse matrices that SciPy keeps in them: within a limit, and never a pickle."""

import io
import math
import warnings
import zipfile
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from qgcn.content import ARRAYS, NODES, Limit, check_file, megabytes, read_bytes
from qgcn.data.assemble import Array
from qgcn.seals import seal_archive

__all__ = ["archive_of", "arrays_of", "check_dense", "read_arrays", "sparse_from"]

_PICKLED = b"\x80"  # how a pickle begins
_ZIPPED = b"PK"
_KINDS = "biufcSUmM"
"""Kinds of arrays that are no pickle and have no fields."""
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_LAST_CHARACTER = 0x10FFFF


class _PickledError(Exception):
    """An array of Python objects."""


def read_arrays(path: Path) -> dict[str, Array]:
    """Read the arrays of an ``.npz`` or ``.npy`` file (the latter under the name ``""``), never a pickle.

    Memory: three times the arrays, which are at most as large as :data:`qgcn.content.ARRAYS` allows.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no such file, holds pickled objects, or is larger than the limit when it is unpacked.
    """
    return arrays_of(read_bytes(path), path)


def archive_of(arrays: dict[str, Array], limit: Limit = ARRAYS) -> bytes:
    """Return arrays as a sealed ``.npz``: compressed, unless that made them too small for what they hold to be read again.

    Law: ``arrays_of(archive_of(arrays, limit), path, limit)`` are the arrays.
    """
    content = seal_archive(partial(np.savez_compressed, **arrays))  # type: ignore[arg-type]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    return content if unpacked <= limit.of(len(content)) else seal_archive(partial(np.savez, **arrays))  # type: ignore[arg-type]


def arrays_of(content: bytes, path: Path | str, limit: Limit = ARRAYS) -> dict[str, Array]:
    """Read the arrays of a file from its content; ``path`` names it in an error, ``limit`` is that of all of them together."""
    if not content:
        raise ValueError(f"{path} is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's remarks on files of other versions
            if content.startswith(_ZIPPED):
                return _members(content, limit.of(len(content)))
            return {"": _array(io.BytesIO(content), len(content))}
    except Exception as error:  # zip and NumPy raise many kinds for a damaged file
        if isinstance(error, _PickledError) or content.startswith(_PICKLED):
            raise ValueError(
                f"{path} holds pickled Python objects, which are never read: save plain arrays of numbers or strings, "
                "for example by numpy.savez('graph.npz', edge_index=edge_index)"
            ) from None
        why = str(error).splitlines()[0] if str(error) else "it is damaged, or something else"
        raise ValueError(f"{path} is not a NumPy file: {why}") from None


def _members(content: bytes, most: int) -> dict[str, Array]:
    arrays, total = {}, 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            total += member.file_size
            if total > most:
                raise ValueError(f"it unpacks to more than {megabytes(most)}, too much for {len(content)} bytes")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{member.filename!r} is packed in a way that NumPy does not use")
            with archive.open(member) as file:
                arrays[member.filename.removesuffix(".npy")] = _array(file, member.file_size)
                file.read(1)  # the checksum is compared at the end
    return arrays


def _array(file: IO[bytes], size: int) -> Array:
    """Read one array from a file of so many bytes."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"an array of format {version[0]}.{version[1]} holds something else than numbers or strings")
    shape, by_columns, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise _PickledError
    if dtype.kind not in _KINDS or (dtype.itemsize == 0 and dtype.kind not in "SU"):
        raise ValueError(f"an array must hold numbers or strings, got {dtype}")
    if any(length < 0 for length in shape):
        raise ValueError(f"an array cannot have the shape {shape}")
    number = math.prod(shape)
    needed = number * dtype.itemsize
    if needed > size or (dtype.itemsize == 0 and number > size):
        raise ValueError(f"an array of {megabytes(needed)} does not fit into {megabytes(size)}")
    raw = np.frombuffer(file.read(needed), dtype=np.uint8)
    if len(raw) < needed:
        raise ValueError(f"it ends after {len(raw)} of {needed} bytes of an array")
    flat = raw.view(dtype) if dtype.itemsize else np.zeros(number, dtype=dtype)
    array: Array = flat.astype(dtype.newbyteorder("=")).reshape(shape, order="F" if by_columns else "C")
    if dtype.kind == "U" and array.size and int(_characters(array).max(initial=0)) > _LAST_CHARACTER:
        raise ValueError("an array of strings holds something that is no character")
    return array


def _characters(array: Array) -> Array:
    return np.frombuffer(np.ascontiguousarray(array).data.cast("B"), dtype=np.uint32)


def sparse_from(arrays: dict[str, Array], path: Path) -> Any:
    """Return the SciPy matrix that ``scipy.sparse.save_npz`` wrote, or nothing if these arrays are something else.

    Raises:
        ValueError: They claim to be one and are not, or to have more rows or columns than the size of the file allows.
    """
    if "format" not in arrays or "shape" not in arrays:
        return None
    from scipy import sparse

    shape = arrays["shape"]
    most = NODES.of(max((array.size for array in arrays.values()), default=0))
    if shape.dtype.kind in "iu" and shape.size and int(shape.max()) > most:
        raise ValueError(f"{path} claims {int(shape.max())} rows or columns, too many for its entries: expected {most} at most")
    try:
        sizes = tuple(int(size) for size in shape)
        row, column, values = _entries(arrays, sizes)
        return sparse.coo_array((values, (row, column)), shape=sizes)
    except Exception as error:  # whatever inconsistent arrays lead to
        missing = f"it has no array {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise ValueError(f"{path} is not a sparse matrix: {missing}") from None


def _entries(arrays: dict[str, Array], shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Return row, column and value of every entry, by NumPy: SciPy trusts the indices, and writes where they point."""
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"its shape is {shape}")
    kind = str(arrays["format"].astype("U")) if arrays["format"].ndim == 0 else ""
    values = arrays["data"]
    if values.dtype.kind not in "biufc":
        raise ValueError(f"it holds {values.dtype}, not numbers")
    if kind == "coo":
        if "coords" in arrays:
            row, column = arrays["coords"]
            return row, column, values
        return arrays["row"], arrays["col"], values
    if kind in ("csr", "csc", "bsr"):
        return _compressed(kind, arrays, values, shape)
    if kind == "dia" and values.ndim == 2 and arrays["offsets"].shape == values.shape[:1]:
        column = np.broadcast_to(np.arange(values.shape[1]), values.shape)
        row = column - arrays["offsets"].astype(np.int64)[:, None]
        inside = (row >= 0) & (row < shape[0]) & (column < shape[1]) & (values != 0)
        return row[inside], column[inside], values[inside]
    raise ValueError(f"its format is {kind!r}")


def _compressed(kind: str, arrays: dict[str, Array], values: Array, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    starts, minor = arrays["indptr"], arrays["indices"]
    if starts.dtype.kind not in "iu" or minor.dtype.kind not in "iu" or starts.ndim != 1 or minor.ndim != 1 or len(starts) == 0:
        raise ValueError("indptr and indices must be integers in one row")
    starts, minor = starts.astype(np.int64), minor.astype(np.int64)
    number = int(starts[-1])
    axes = 3 if kind == "bsr" else 1
    if starts[0] != 0 or (np.diff(starts) < 0).any() or not number <= min(len(minor), len(values)) or values.ndim != axes:
        raise ValueError("indptr, indices and data do not fit each other")
    minor, values = minor[:number], values[:number]
    major = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    size = shape[1] if kind == "csc" else shape[0] // (values.shape[1] if kind == "bsr" else 1)
    if len(starts) - 1 != size:
        raise ValueError(f"indptr must have {size + 1} entries, got {len(starts)}")
    if kind != "bsr":
        return (minor, major, values) if kind == "csc" else (major, minor, values)
    _, high, wide = values.shape
    row, column = np.broadcast_arrays(
        (major * high)[:, None, None] + np.arange(high)[:, None], (minor * wide)[:, None, None] + np.arange(wide)
    )
    kept = values != 0
    return row[kept], column[kept], values[kept]


def check_dense(shape: tuple[int, ...], path: Path) -> None:
    """Raise unless a sparse matrix of a file may be made dense, in float32."""
    needed, most = math.prod(shape) * np.dtype(np.float32).itemsize, ARRAYS.of(check_file(path))
    if needed > most:
        raise ValueError(
            f"{path} holds a sparse matrix of shape {shape}, {megabytes(needed)} as features: "
            f"expected {megabytes(most)} at most for a file of its size"
        )
