"""Rendering: Markdown tables, and their places in a page."""

import re
from collections.abc import Callable, Mapping, Sequence

from qgcn.reproduction.statistics import mean_and_deviation

__all__ = ["fill", "markdown", "names_in", "shown"]

_PLACE = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n)(?P<content>.*?)(<!-- end -->)", re.DOTALL)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table in Markdown, without a line break at its end.

    Args:
        header: Titles of the columns.
        rows: The rows; all as long as the header.
        left: Number of columns that are set flush left; the others are flush right.

    Example:
        >>> print(markdown(["space", "mAP"], [["H2", "0.5"]]))
        | space | mAP |
        | --- | ---: |
        | H2 | 0.5 |
    """
    lines = [header, ["---"] * left + ["---:"] * (len(header) - left), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(values: Sequence[float], wanted: int, digits: int = 2) -> str:
    """Return mean and deviation as text; the number of values in brackets if they are not as many as wanted.

    Example:
        >>> shown([1.0, 2.0], 10)
        '1.50 ± 0.71 (2)'
    """
    if not values:
        return "—"
    mean, deviation = mean_and_deviation(values)
    spread = "" if deviation is None else f" ± {deviation:.{digits}f}"
    return f"{mean:.{digits}f}{spread}" + ("" if len(values) >= wanted else f" ({len(values)})")


def names_in(page: str) -> list[str]:
    """Return the names of the tables that a page has places for.

    Raises:
        ValueError: A place has no end.
    """
    names = [match["name"] for match in _PLACE.finditer(page)]
    if (begun := page.count("<!-- table:")) != len(names) or page.count("<!-- end -->") != begun:
        raise ValueError(f"{begun} tables are begun with '<!-- table: NAME -->', but {len(names)} end with '<!-- end -->'")
    return names


def fill(page: str, tables: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with all its tables rendered again.

    Args:
        page: Its text.
        tables: What renders the table of each name.

    Raises:
        ValueError: A table is not known, or has no end.
    """
    for name in names_in(page):
        if name not in tables:
            raise ValueError(f"no table {name!r} (known: {', '.join(tables)})")
    return _PLACE.sub(lambda match: f"{match[1]}{tables[match['name']]()}\n{match[4]}", page)
