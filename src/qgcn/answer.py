"""Answers of a trained model: columns by name, a row for each node or pair."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Answer"]

Array = np.ndarray[Any, Any]
SHOWN = 10
"""Rows that the representation of an answer shows."""


class Answer:
    """A table of answers.

    ``answer["probability"]`` is a column, a NumPy array; iteration yields the rows.

    Args:
        columns: Arrays of one length, by name.

    Example:
        >>> found = Answer({"node": np.array(["ann", "bob"]), "probability": np.array([0.9, 0.2])})
        >>> found["probability"].max().item()
        0.9
        >>> found
        node  probability
        ann   0.9
        bob   0.2
    """

    def __init__(self, columns: dict[str, Array]) -> None:
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have one length, got {lengths}")
        self.columns = columns

    @classmethod
    def joined(cls, parts: "Iterable[Answer]") -> "Answer":
        """Put answers with the same columns one below the other; at least one is needed."""
        found = list(parts)
        return cls({name: np.concatenate([part[name] for part in found]) for name in found[0].columns})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise KeyError(f"no column {name!r} (there are: {', '.join(self.columns)})")
        return self.columns[name]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as Python values; a float32 becomes the number with the fewest digits that rounds to it."""
        return zip(*(_values(column) for column in self.columns.values()), strict=True)

    def rows(self, first: int, last: int | None = None) -> "Answer":
        """Return some consecutive rows."""
        return Answer({name: column[first:last] for name, column in self.columns.items()})

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas data frame.

        Raises:
            ValueError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ValueError("a data frame needs pandas: pip install 'qgcn[tables]'") from None
        return pd.DataFrame(self.columns)

    def __repr__(self) -> str:
        shown = ([_shown(value) for value in row] for row in self.rows(0, SHOWN))
        text = [list(self.columns), *shown]
        widths = [max(map(len, column)) for column in zip(*text, strict=True)]
        lines = ["  ".join(field.ljust(width) for field, width in zip(row, widths, strict=True)).rstrip() for row in text]
        more = len(self) - SHOWN
        return "\n".join([*lines, f"... {more:,} more rows"] if more > 0 else lines)


def _values(column: Array) -> list[Any]:
    """Return the values of a column as Python's own."""
    values: list[Any] = (column.astype(str).astype(np.float64) if column.dtype == np.float32 else column).tolist()
    return values


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
