"""Read Parquet files as tables: the columns asked for alone, none as Python objects, never a pickle."""

from pathlib import Path
from typing import Any

import numpy as np

from qgcn.content import ARRAYS, check_file, megabytes
from qgcn.data.assemble import Array
from qgcn.data.columns import Columns, Table, check_width, gather

__all__ = ["PARQUET_SUFFIXES", "read_parquet"]

PARQUET_SUFFIXES = (".parquet", ".pq")
_UNNAMED = "__index_level_"
"""How pandas calls an index that has no name."""


def read_parquet(path: Path) -> Table:
    """Read the header of a Parquet file; a column is read when it is asked for.

    A named index of pandas comes first, as it is shown; one without a name is left out.

    Raises:
        ValueError: It is no Parquet file, has no rows or no columns, claims to be larger than the limit when it is unpacked,
            or pyarrow is not installed.
    """
    with _opened(path) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
        _check_size(file.metadata, path)
    index = _index(schema, rows)
    names = [*index, *(name for name in schema.names if name not in index and not name.startswith(_UNNAMED))]
    texts = {field.name for field in schema if str(field.type) in ("string", "large_string", "binary", "large_binary")}
    if rows == 0 or not names:
        raise ValueError(f"{path} is empty: it has {'no rows' if names else 'no columns'}")

    def load(k: int, part: range) -> Array:
        from pyarrow import ArrowException

        regular = index.get(names[k])
        if regular is not None:
            return np.array(regular[part.start : part.stop])
        with _opened(path, names[k] if names[k] in texts else None) as file:
            try:
                found = file.read(columns=[names[k]])
                found.validate(full=True)  # places in a dictionary, and UTF-8
            except (ArrowException, OSError) as error:
                raise ValueError(f"{path} is damaged: {_first_line(error)}") from None
        if found.num_columns != 1:
            raise ValueError(f"{path} has more than one column {names[k]!r}: give each a name of its own")
        if found.num_rows != rows:
            raise ValueError(f"{path} is damaged: column {names[k]!r} has {found.num_rows} rows, but should have {rows}")
        return _array(found.column(0).slice(part.start, len(part)), f"{path}: column {names[k]!r}")

    return Table(path, Columns(len(names), range(rows), load), np.arange(rows), tuple(names), unit="row")


def _index(schema: Any, rows: int) -> dict[str, range | None]:
    """Return the names of pandas' index, and the numbers of a regular one, which is not stored as a column."""
    found: dict[str, range | None] = {}
    try:
        listed = dict(schema.pandas_metadata or {}).get("index_columns", [])
        for each in listed:
            if isinstance(each, str) and each in schema.names and not each.startswith(_UNNAMED):
                found[each] = None
            elif isinstance(each, dict) and each.get("kind") == "range" and isinstance(each.get("name"), str):
                numbers = range(*(int(each[key]) for key in ("start", "stop", "step")))
                if len(numbers) == rows:
                    found[each["name"]] = numbers
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return {}  # what pandas did not write has no index of pandas
    return found


def _check_size(metadata: Any, path: Path) -> None:
    """Raise if the columns would be larger than the limit: as many rows as one page repeats, or pages that unpack to much."""
    most = ARRAYS.of(check_file(path))
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    packed = max((group.total_byte_size for group in groups), default=0)
    needed = max(sum(group.total_byte_size for group in groups), metadata.num_rows * np.dtype(np.int64).itemsize, packed)
    if needed > most:
        raise ValueError(
            f"{path} unpacks to {megabytes(needed)}, too much for a file of its size: expected {megabytes(most)} at most"
        )


def _opened(path: Path, column: str | None = None) -> Any:
    """Open a file; the strings of one column may be read as numbers of distinct ones."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError(f"reading {path} needs pyarrow: pip install 'qgcn[tables]'") from None
    try:
        return ParquetFile(path, memory_map=True, read_dictionary=None if column is None else [column])
    except (ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path} is not a Parquet file: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _array(column: Any, what: str) -> Array:
    """Return a column of Arrow as int64, float64 with NaN for nulls, or UTF-8 bytes, empty for nulls."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    try:
        if whole:
            return np.asarray(column.cast(pa.int64()).to_numpy())  # float64 if there are nulls
        if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return np.asarray(column.cast(pa.float64()).to_numpy())
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.large_string()).dictionary_encode()
        chunks = [(_strings(chunk.dictionary.cast(pa.large_string())), _places(chunk)) for chunk in column.chunks]
    except pa.ArrowException as error:
        raise ValueError(f"{what} must hold numbers or strings, got {column.type}: {_first_line(error)}") from None
    return _spread(chunks)


def _strings(texts: Any) -> Array:
    """Return distinct strings as UTF-8 bytes, and an empty one at the end."""
    _, offsets, chars = texts.fill_null("").buffers()
    ends = np.frombuffer(offsets or b"\0" * 8, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    # an empty column of characters has no buffer
    read = gather(np.frombuffer(chars or b"", dtype=np.uint8), ends[:-1], ends[1:])
    return np.concatenate((read, np.array([b""], dtype=read.dtype)))


def _places(chunk: Any) -> Array:
    """Return which of the distinct strings each row has, -1 for none."""
    import pyarrow as pa

    return np.asarray(chunk.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False))


def _spread(chunks: list[tuple[Array, Array]]) -> Array:
    """Return the string of each row."""
    if not chunks:
        return np.empty(0, dtype="S1")
    lengths = np.concatenate([np.char.str_len(strings)[places] for strings, places in chunks])
    width = check_width(lengths, sum(int(strings.nbytes) + len(places) for strings, places in chunks)) if len(lengths) else 1
    return np.concatenate([strings.astype(f"S{width}")[places] for strings, places in chunks])
