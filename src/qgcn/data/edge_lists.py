"""Edge lists: which columns of a table hold source, target and weight, and the graph they make."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np

from qgcn.data.assemble import Array, Floats, count
from qgcn.data.columns import Columns, Table
from qgcn.data.draft import Draft, bad_weights, from_index, weight_problem
from qgcn.data.nodes import HEADER_WORDS, Nodes
from qgcn.data.pairs import Ints
from qgcn.data.vocabulary import Vocabulary
from qgcn.hints import nearest

__all__ = ["EdgeColumns", "from_pairs", "from_table"]

_ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("head", "tail"),
    ("start", "end"),
    ("source_id", "target_id"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("id1", "id2"),
)
"""Words that head the columns of source and target."""
_WEIGHT = "weight"
_MOST_TOLD = 8
"""Columns that a remark or an error lists, at most."""


@dataclass(frozen=True)
class EdgeColumns:
    """Names of the columns of a table that hold its edges, or their numbers from 1; what is not given is guessed.

    Attributes:
        source: Column of the node that an edge leads from.
        target: Column of the node that an edge leads to.
        weight: Column of the weight of an edge.
    """

    source: str | int | None = None
    target: str | int | None = None
    weight: str | int | None = None

    def given(self) -> dict[str, str]:
        """Return what is given, by key."""
        return {key: str(value) for key, value in vars(self).items() if value is not None}

    def check_unused(self, what: str) -> None:
        """Raise if columns are named although there is no table, but ``what``."""
        for key in self.given():
            raise ValueError(f"{key} names a column of a table, but the graph is {what}")


@dataclass(frozen=True)
class _Places:
    """Numbers of the columns from 0, and remarks on how they were found."""

    source: int
    target: int
    weight: int | None
    remarks: tuple[str, ...]


def from_table(table: Table, name: str, num_nodes: int | None, wanted: EdgeColumns) -> Draft:
    """Read an edge list.

    If nothing is wanted, the columns headed by words such as ``source`` and ``target`` are read, else the first two; and as
    weights a column called ``weight``, or the only other column if it holds numbers. If source and target are named, nothing
    but the columns that are named is read. Remarks tell what was guessed and what is ignored.

    Args:
        table: The table.
        name: Name of the graph.
        num_nodes: Number of nodes, if ids are ``0 .. N - 1``.
        wanted: Columns to read.

    Raises:
        ValueError: A column is not there, a field is empty, or a weight is no weight.
    """
    if len(table.columns) < 2:
        raise ValueError(f"{table.path} has 1 column: expected two ids and perhaps a weight")
    table = _with_header(table, wanted)
    if len(table) == 0:
        raise ValueError(f"{table.path} has a header and nothing below it: expected edges")
    places = _places(table, wanted)
    ends = [places.source, places.target]
    columns = table.integers(ends)
    for column in (*(ends if columns is None else ()), *(() if places.weight is None else (places.weight,))):
        table.check_filled(column)
    weights = None if places.weight is None else _weights_of(table, places.weight)
    remarks = places.remarks
    if columns is not None and num_nodes is not None:
        return from_index(columns, f"ids of {table.path}", name, num_nodes, weights=weights, remarks=remarks)
    if num_nodes is not None:
        raise ValueError(f"num_nodes is for ids 0 .. N - 1, but {table.path} has names such as {table.field(0, ends[0])!r}")
    if columns is not None:
        ids, edges = _compact(columns)
        return Draft(edges, Nodes(ids, "seen"), name, weights, remarks=remarks)
    names, edges = _number_names(table, ends)
    if table.head is None and _first_stands_apart(edges):
        line = f"{table.field(0, ends[0])}, {table.field(0, ends[1])}"
        remarks = (*remarks, f"line 1 ({line}) was read as an edge, though its names do not recur")
    return Draft(edges, Nodes(names, "seen"), name, weights, remarks=remarks)


def from_pairs(rows: Sequence[Any], num_nodes: int | None) -> Draft:
    """Read a list of pairs ``(source, target)`` or triples ``(source, target, weight)``; ids are strings or integers.

    Raises:
        ValueError: An entry is something else; one line says which.
    """
    what = "the list of pairs"
    if not rows:
        raise ValueError("graph has no edges")
    for k, row in enumerate(rows):
        if not isinstance(row, tuple | list) or len(row) not in (2, 3) or len(row) != len(rows[0]):
            raise ValueError(f"{what}, entry {k}: expected two ids and perhaps a weight, as in every entry, got {row!r}")
    columns = list(zip(*rows, strict=True))
    whole = _is_id(rows[0][0], Integral)
    for k, row in enumerate(rows):
        if not all(_is_id(each, Integral if whole else str) for each in row[:2]):
            kind = "integers" if whole else "strings"
            raise ValueError(f"{what}, entry {k}: ids must be all strings or all integers, here {kind}, got {row!r}")
        if len(row) == 3 and not isinstance(row[2], Real):
            raise ValueError(f"{what}, entry {k}: a weight must be a number, got {row[2]!r}")
        if not whole and any("\0" in each for each in row[:2]):
            raise ValueError(f"{what}, entry {k}: an id must not hold a zero character, got {row!r}")
    try:
        ends = [np.array(ids, dtype=np.int64) if whole else np.array([name.encode() for name in ids]) for ids in columns[:2]]
        held: list[Array] = [*ends, *(np.array(weights, dtype=np.float64) for weights in columns[2:])]
    except OverflowError:
        raise ValueError(f"{what}: integers must fit into 64 bits, weights into a float; larger ids may be strings") from None
    named = EdgeColumns(*("source", "target", _WEIGHT)[: len(held)])
    read = Columns(len(held), range(len(rows)), lambda k, part: held[k][part.start : part.stop])
    table = Table(what, read, np.arange(len(rows)), tuple(named.given()), unit="entry")
    return from_table(table, "graph", num_nodes, named)


def _is_id(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


# --- columns ---------------------------------------------------------------------------------------------------------


def _with_header(table: Table, wanted: EdgeColumns) -> Table:
    """Return the table with its header, if it has one: columns are called by name, its words say so, or numbers begin below."""
    if table.head is not None:
        return table
    if any(not _is_place(value) for value in wanted.given().values()):
        return table.headed()
    first = table.fields(0)
    if _named_ends(first) is not None or all(field.lower() in HEADER_WORDS for field in first[:2]):
        return table.headed()
    if len(table) == 1:
        return table
    i, j = _ends(table, wanted, _wanted_weight(table, wanted))
    second = table.row(1)
    others = [k for k in range(len(first)) if k not in (i, j)]
    if any(first[k] and second.is_number(0, k) for k in others) and not any(table.is_number(0, k) for k in others):
        return table.headed()
    words = all(table.row(0).integers([k]) is None for k in (i, j))
    below = table.headed()
    if words and second.integers([i, j]) is not None and below.integers([i, j]) is not None:
        return below
    return table


def _places(table: Table, wanted: EdgeColumns) -> _Places:
    remarks = []
    weight = _wanted_weight(table, wanted)
    i, j = _ends(table, wanted, weight)
    others = [k for k in range(len(table.columns)) if k not in (i, j)]
    told = wanted.source is not None or (table.head is not None and _named_ends(table.head) == (i, j))
    if len(others) > 1 and not told:
        first = ", the first two," * ((i, j) == (0, 1))
        remarks.append(f"columns {table.title(i)} and {table.title(j)}{first} read as source and target")
    if not wanted.given():
        weight = _guessed_weight(table, others)
        if weight is not None:
            third = table.head is None and weight == 2
            remarks.append(f"{'the third column' if third else f'column {table.title(weight)}'} read as weights")
    ignored = [table.title(k) for k in others if k != weight]
    if ignored:
        remarks.append(f"column{'s' * (len(ignored) > 1)} {_listed(ignored)} ignored")
    return _Places(i, j, weight, tuple(remarks))


def _ends(table: Table, wanted: EdgeColumns, weight: int | None) -> tuple[int, int]:
    """Return the columns of source and target."""
    if (wanted.source is None) != (wanted.target is None):
        (key,) = wanted.given().keys() - {_WEIGHT}
        raise ValueError(f"source and target must be named together, got {key} = {getattr(wanted, key)!r} alone")
    if wanted.source is not None and wanted.target is not None:
        found = _find(table, "source", wanted.source), _find(table, "target", wanted.target)
        places = {"source": found[0], "target": found[1], _WEIGHT: weight}
        for one, other in combinations(places, 2):
            if places[one] == places[other]:
                raise ValueError(f"{one} and {other} must be different columns, got {getattr(wanted, one)!r} for both")
        return found
    named = None if table.head is None else _named_ends(table.head)
    if named is not None and weight not in named:
        return named
    free = [k for k in range(len(table.columns)) if k != weight]
    if len(free) < 2:
        raise ValueError(f"{table.path} has {count(len(table.columns), 'column')}: expected two ids beside the weight")
    return free[0], free[1]


def _named_ends(head: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns that are headed by words for source and target, if there are any."""
    words = [name.lower() for name in head]
    found = (pair for pair in _ENDS if all(words.count(word) == 1 for word in pair))
    return next(((words.index(source), words.index(target)) for source, target in found), None)


def _wanted_weight(table: Table, wanted: EdgeColumns) -> int | None:
    return None if wanted.weight is None else _find(table, _WEIGHT, wanted.weight)


def _guessed_weight(table: Table, others: list[int]) -> int | None:
    """Return the column called weight, or the only one left if it holds numbers."""
    called = [k for k in others if table.head is not None and table.head[k].lower() == _WEIGHT]
    if len(called) == 1:
        return called[0]
    return others[0] if len(others) == 1 and table.is_numeric(others[0]) else None


def _find(table: Table, key: str, value: str | int) -> int:
    """Return the place of a column that is called by name or by number."""
    head, width = table.head or (), len(table.columns)
    places = [k for k, name in enumerate(head) if name == str(value)]
    if len(places) > 1:
        raise ValueError(
            f"{table.path} has {len(places)} columns {value!r}: call the {key} by its number, such as {places[0] + 1}"
        )
    if places:
        return places[0]
    if not _is_place(str(value)):
        listed = _listed([repr(name) for name in head])
        raise ValueError(f"{table.path} has no column {value!r} for the {key}{nearest(value, head)} (columns: {listed})")
    if not 1 <= int(value) <= width:
        raise ValueError(f"{table.path} has {count(width, 'column')}, but the {key} should be column {value}")
    return int(value) - 1


def _is_place(value: str) -> bool:
    return value.isascii() and value.isdigit()


def _listed(names: list[str]) -> str:
    """Write names one after the other, the first few if there are many."""
    told, others = names[:_MOST_TOLD], len(names) - _MOST_TOLD
    return ", ".join(told) + (f" and {count(others, 'other')}" if others > 0 else "")


# --- fields ----------------------------------------------------------------------------------------------------------


def _weights_of(table: Table, column: int) -> Floats:
    weights = table.numbers(column, "a weight")
    bad = bad_weights(weights)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"{table.at(row)}, column {table.title(column)}: {weight_problem(weights[row])}")
    return weights


def _compact(pairs: Ints) -> tuple[Ints, Ints]:
    """Return the sorted distinct ids, and the pairs as positions among them, shape ``(2, E)``: the pairs are overwritten."""
    low, high = int(pairs.min()), int(pairs.max())
    if high - low > 4 * pairs.size:
        ids, edges = np.unique(pairs, return_inverse=True)
        return ids, edges.reshape(pairs.shape)
    pairs -= low
    seen = np.zeros(high - low + 1, dtype=bool)  # ids close together need no sorting
    for row in pairs:
        seen[row] = True
    if not seen.all():
        place = np.cumsum(seen) - 1
        for row in pairs:
            np.take(place, row, out=row, mode="clip")  # they lie within; checking them would copy
    return np.flatnonzero(seen) + low, pairs


def _number_names(table: Table, columns: list[int]) -> tuple[Array, Ints]:
    """Return the sorted distinct names of two columns, and edges in terms of their positions."""
    vocabulary = Vocabulary()
    edges = np.empty((2, len(table)), dtype=np.int64)
    for place, fields in table.runs(columns):
        for row, column in zip(edges, fields, strict=True):
            row[place] = vocabulary.add(column)
    names, order = vocabulary.ordered()
    for row in edges:
        np.take(order, row, out=row, mode="clip")
    return names, edges


def _first_stands_apart(edges: Ints) -> bool:
    """Tell whether the first of several edges joins two nodes that no other edge has: it may be a header."""
    apart = edges.shape[1] > 1 and edges[0, 0] != edges[1, 0]
    return bool(apart and (np.bincount(edges.ravel())[edges[:, 0]] == 1).all())
