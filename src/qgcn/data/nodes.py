"""The nodes of a graph in the making: their names, and how files refer to them."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from qgcn.data.assemble import Array
from qgcn.data.columns import Table
from qgcn.data.pairs import Ints
from qgcn.hints import nearest

__all__ = ["HEADER_WORDS", "Nodes", "quoted"]

# fmt: off
HEADER_WORDS = frozenset({
    "source", "target", "src", "dst", "from", "to", "head", "tail", "start", "end",
    "node", "node1", "node2", "id", "id1", "id2", "node_id", "nodeid", "name", "source_id", "target_id", "fromnodeid",
    "tonodeid", "weight", "label", "class", "community", "group", "category", "type",
    "parent", "child", "ancestor", "descendant", "hypernym", "hyponym",
})
# fmt: on
_MOST_COMPARED = 20_000
"""Names compared with an unknown one, at most."""


@dataclass(frozen=True)
class Nodes:
    """The nodes of a graph in the making.

    Attributes:
        ids: Their names, unique, shape ``(N,)``, integers or strings.
        known: How far they are known. ``"all"``: these and no others. ``"index"``: numbers ``0 .. N - 1``, of which the edges
            may not have shown the last ones. ``"seen"``: the ids an edge list happened to name.
    """

    ids: Array
    known: Literal["all", "index", "seen"]

    @property
    def are_integers(self) -> bool:
        """Whether ids are integers rather than names."""
        return bool(np.issubdtype(self.ids.dtype, np.integer))

    def locate(self, ids: Array) -> Ints:
        """Return the position of each id, -1 for a stranger."""
        order = np.argsort(self.ids, kind="stable")
        place = np.searchsorted(self.ids, ids, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.ids[found] == ids, found, -1)

    def check_unique(self) -> None:
        """Raise unless each id names one node."""
        values, repeats = np.unique(self.ids, return_counts=True)
        if len(values) < len(self.ids):
            raise ValueError(f"node ids are not unique: {quoted(values[repeats.argmax()])} names {repeats.max()} nodes")

    def with_rows(self, rows: int, what: str) -> "Nodes":
        """Return the nodes of an array whose row ``k`` is node ``k``.

        Raises:
            ValueError: The number of rows does not fit, or nodes have names and no order.
        """
        if self.known == "all":
            if rows != len(self.ids):
                raise ValueError(f"{what} must have one row for each of the {len(self.ids)} nodes, got {rows}")
            return self
        if not self.are_integers:
            raise ValueError(f"{what} has no ids, but nodes have names such as {quoted(self.ids[0])}: give a CSV with ids")
        low, high = int(self.ids.min()), int(self.ids.max())
        if low < 0 or high >= rows:
            odd = low if low < 0 else high
            raise ValueError(f"{what} has {rows} rows, for nodes 0 to {rows - 1}, but the graph has a node {odd}")
        return Nodes(np.arange(rows), "all")

    def with_ids(self, ids: Array, table: Table) -> "Nodes":
        """Return the nodes together with those that a table names beside them."""
        strange = np.flatnonzero(self.locate(ids) < 0)
        if len(strange) == 0:
            return self
        if self.known == "all" or (self.known == "index" and ids.min() < 0):
            raise ValueError(f"{table.at(strange[0])}: {self.stranger(ids[strange[0]])}")
        if self.known == "index":
            return Nodes(np.arange(int(ids.max()) + 1), "index")
        return Nodes(np.union1d(self.ids, ids), "seen")

    def ids_of(self, table: Table, column: int = 0) -> Array:
        """Read a column of a table as ids of the kind of this graph's.

        Raises:
            ValueError: The graph's ids are integers and one of these is not, or one is empty.
        """
        table.check_filled(column)
        if not self.are_integers:
            return table.texts(column)
        read = table.integers([column])
        if read is None:
            row = table.first_word(column)
            raise ValueError(f"{table.at(row)}: node {table.field(row, column)!r} is not in the graph, whose ids are integers")
        return np.asarray(read[0])

    def unique_ids_of(self, table: Table) -> Array:
        """Read the first column of a table as ids, each given once.

        Raises:
            ValueError: As for :meth:`ids_of`, or one is given twice.
        """
        ids = self.ids_of(table)
        values, first = np.unique(ids, return_index=True)
        if len(values) < len(ids):
            again = np.setdiff1d(np.arange(len(ids)), first)[0]
            raise ValueError(f"{table.at(again)}: node {quoted(ids[again])} is given a second time")
        return ids

    def places_of(self, table: Table, column: int = 0) -> Ints:
        """Return the position of the node that each row of a table names.

        Raises:
            ValueError: A row names a node that is not in the graph.
        """
        ids = self.ids_of(table, column)
        places = self.locate(ids)
        if (places < 0).any():
            row = int((places < 0).argmax())
            raise ValueError(f"{table.at(row)}: {self.stranger(ids[row])}")
        return places

    def stranger(self, name: Any) -> str:
        """Say that a node is not in the graph, and which one may have been meant, for an error."""
        told = f"no node {quoted(name)} in the graph"
        if self.are_integers:
            return f"{told}, whose nodes are {self.ids.min()} to {self.ids.max()}"
        # a name that is close to this one is nearly as long, and comparing takes its time
        length = np.char.str_len(self.ids)
        similar = self.ids[np.abs(length - len(str(name))) <= 1 + len(str(name)) // 4]
        return told + nearest(name, similar[:_MOST_COMPARED].tolist())

    def skip_header(self, table: Table, numeric: bool) -> Table:
        """Return a table with its header, if it has one.

        A first row is a header if values must be numbers and one is not, if its id cannot be one, or if its id is a word like
        ``id`` and no node.
        """
        if table.head is not None or len(table) < 2:
            return table
        head = table.fields(0)
        is_header = numeric and any(field and not table.is_number(0, k) for k, field in enumerate(head) if k)
        if self.are_integers:
            is_header |= table.row(0).integers([0]) is None
        else:
            is_header |= head[0].lower() in HEADER_WORDS and int(self.locate(np.array([head[0]]))[0]) < 0
        return table.headed() if is_header else table


def quoted(value: Any) -> str:
    """Write a name or number of a node, for an error."""
    return repr(value.item() if isinstance(value, np.generic) else value)
