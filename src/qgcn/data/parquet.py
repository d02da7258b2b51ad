"""Read Parquet files as tables: the columns asked for alone, none as Python objects, never a pickle."""

from pathlib import Path
from typing import Any

import numpy as np

from qgcn.data.assemble import Array
from qgcn.data.columns import Columns, Table, gather

__all__ = ["PARQUET_SUFFIXES", "read_parquet"]

PARQUET_SUFFIXES = (".parquet", ".pq")
_UNNAMED = "__index_level_"
"""How pandas calls an index that has no name."""


def read_parquet(path: Path) -> Table:
    """Read the header of a Parquet file; a column is read when it is asked for.

    A named index of pandas comes first, as it is shown; one without a name is left out.

    Raises:
        ValueError: It is no Parquet file, has no rows or no columns, or pyarrow is not installed.
    """
    with _opened(path) as file:
        rows, schema = file.metadata.num_rows, file.schema_arrow
    index = _index(schema, rows)
    names = [*index, *(name for name in schema.names if name not in index and not name.startswith(_UNNAMED))]
    if rows == 0 or not names:
        raise ValueError(f"{path} is empty: it has {'no rows' if names else 'no columns'}")

    def load(k: int, part: range) -> Array:
        from pyarrow import ArrowException

        regular = index.get(names[k])
        if regular is not None:
            return np.array(regular[part.start : part.stop])
        with _opened(path) as file:
            try:
                found = file.read(columns=[names[k]])
            except (ArrowException, OSError) as error:
                raise ValueError(f"{path} is damaged: {str(error).splitlines()[0]}") from None
        if found.num_columns != 1:
            raise ValueError(f"{path} has more than one column {names[k]!r}: give each a name of its own")
        return _array(found.column(0).slice(part.start, len(part)), f"{path}: column {names[k]!r}")

    return Table(path, Columns(len(names), range(rows), load), np.arange(rows), tuple(names), unit="row")


def _index(schema: Any, rows: int) -> dict[str, range | None]:
    """Return the names of pandas' index, and the numbers of a regular one, which is not stored as a column."""
    found: dict[str, range | None] = {}
    for each in (schema.pandas_metadata or {}).get("index_columns", []):
        if isinstance(each, str) and each in schema.names and not each.startswith(_UNNAMED):
            found[each] = None
        elif isinstance(each, dict) and each.get("kind") == "range" and isinstance(each.get("name"), str):
            numbers = range(*(int(each[key]) for key in ("start", "stop", "step")))
            if len(numbers) == rows:
                found[each["name"]] = numbers
    return found


def _opened(path: Path) -> Any:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ValueError(f"reading {path} needs pyarrow: pip install 'qgcn[tables]'") from None
    try:
        return ParquetFile(path, memory_map=True)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file: {str(error).splitlines()[0]}") from None


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
        texts = column.cast(pa.large_string()).fill_null("").combine_chunks()
    except pa.ArrowException as error:
        raise ValueError(f"{what} must hold numbers or strings, got {column.type}: {str(error).splitlines()[0]}") from None
    _, offsets, chars = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    # an empty column of characters has no buffer
    return gather(np.frombuffer(chars or b"", dtype=np.uint8), ends[:-1], ends[1:])
