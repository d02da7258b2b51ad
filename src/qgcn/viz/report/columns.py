"""Columns of a user's table to colour nodes by."""

from pathlib import Path
from typing import Any

import numpy as np

from qgcn.data.nodes import Nodes
from qgcn.data.tables import read_table
from qgcn.tasks.insights import Column

__all__ = ["read_columns"]


def read_columns(path: Path, node_ids: np.ndarray[Any, Any]) -> list[Column]:
    """Read a table of nodes: a header, then one line per node, its id first; numbers, or names of categories.

    Nodes that the table does not name have no value. A column whose fields are all numbers or empty is read as numbers.

    Args:
        path: CSV, TSV or Parquet.
        node_ids: The names of the nodes, shape ``(N,)``.

    Raises:
        OSError: The file cannot be read.
        ValueError: It has no column beside the ids, no row, or names a node that is not there.
    """
    table = read_table(path)
    if len(table.columns) < 2:
        raise ValueError(f"{path} has 1 column: expected a header, then the id of a node and its values")
    table = table.headed()
    if len(table) == 0:
        raise ValueError(f"{path} has a header only: expected a line for each node below it")
    nodes = Nodes(node_ids, "all")
    nodes.unique_ids_of(table)
    place = nodes.places_of(table)
    return [_column(name, table.texts(k), place, len(node_ids)) for k, name in enumerate(table.head or ()) if k]


def _column(name: str, fields: np.ndarray[Any, Any], place: np.ndarray[Any, Any], count: int) -> Column:
    given = fields != ""
    try:
        numbers = np.full(count, np.nan)
        numbers[place[given]] = fields[given].astype(np.float64)
        return Column(name, numbers)
    except ValueError:
        labels, index = np.unique(fields[given], return_inverse=True)
        values = np.full(count, -1, dtype=np.int32)
        values[place[given]] = index
        return Column.of_categories(name, values, [str(label) for label in labels])
