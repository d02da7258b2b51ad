"""Answers and embeddings in formats that other programs read: CSV, TSV, Parquet, word2vec, GraphML; written atomically."""

import csv
import re
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from qgcn.answer import Answer
from qgcn.files import check_writable, write_atomically

if TYPE_CHECKING:
    import networkx as nx
    from torch import Tensor

__all__ = [
    "TABLE_FORMATS",
    "as_networkx",
    "check_target",
    "table_format",
    "write_graphml",
    "write_rows",
    "write_table",
    "write_word2vec",
]

TABLE_FORMATS = ("csv", "tsv", "parquet")
BLOCK = 2**16
"""Rows that are written at once."""
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def table_format(path: Path) -> str:
    """Return the format that the name of a table's file stands for.

    Raises:
        ValueError: It stands for none.
    """
    found = path.suffix.lower().removeprefix(".")
    if found not in TABLE_FORMATS:
        expected = ", ".join(f".{name}" for name in TABLE_FORMATS)
        raise ValueError(f"cannot write a table to {path}: expected a name that ends in {expected}")
    return found


def check_target(path: Path, kind: str) -> None:
    """Raise unless a file of this format can be written there; write nothing.

    Raises:
        OSError: The folder does not exist, or there is a folder of that name.
        ValueError: A library is missing.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file to write")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    check_writable(path.parent)
    if kind == "parquet" and find_spec("pyarrow") is None:
        raise ValueError("Parquet files need pyarrow: pip install 'qgcn[tables]'")


def write_table(path: Path, blocks: Iterable[Answer], kind: str | None = None) -> int:
    """Write a table block by block; return the number of rows.

    Args:
        path: The file.
        blocks: Parts of the table, with the same columns.
        kind: One of :data:`TABLE_FORMATS` (default: by the suffix of the file).
    """
    kind = kind or table_format(path)
    check_target(path, kind)
    rows = 0

    def counted() -> Iterator[Answer]:
        nonlocal rows
        for block in blocks:
            rows += len(block)
            yield block

    def write(temporary: Path) -> None:
        if kind == "parquet":
            _write_parquet(temporary, counted())
        else:
            with temporary.open("w", encoding="utf-8", newline="") as file:
                write_rows(file, counted(), "\t" if kind == "tsv" else ",")

    write_atomically(path, write)
    return rows


def write_rows(file: TextIO, blocks: Iterable[Answer], delimiter: str = ",") -> None:
    """Write a table as delimited text, block by block: a header, then a line for each row."""
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    for number, block in enumerate(blocks):
        if number == 0:
            writer.writerow(block.columns)
        writer.writerows(block)


def _write_parquet(path: Path, blocks: Iterable[Answer]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    try:
        for block in _gathered(blocks):
            table = pa.table({name: pa.array(column) for name, column in block.columns.items()})
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _gathered(blocks: Iterable[Answer]) -> Iterator[Answer]:
    """Join small blocks until they have :data:`BLOCK` rows: readers of Parquet are slow with many small ones."""
    waiting: list[Answer] = []
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) >= BLOCK:
            yield Answer.joined(waiting)
            waiting = []
    if waiting:
        yield Answer.joined(waiting)


def write_word2vec(path: Path, ids: np.ndarray[Any, Any], vectors: np.ndarray[Any, Any]) -> None:
    """Write vectors in the text format of word2vec: their number and size, then a line with a name and its vector for each.

    The format divides by blanks: white space within a name is written as ``_``.

    Args:
        path: The file.
        ids: Names, shape ``(N,)``.
        vectors: Shape ``(N, d)``.

    Raises:
        ValueError: A name is empty, or two names become one.
    """
    check_target(path, "word2vec")
    names = ["_".join(str(name).split()) for name in ids.tolist()]
    seen: dict[str, Any] = {}
    for name, given in zip(names, ids.tolist(), strict=True):
        if not name:
            raise ValueError(f"the word2vec format cannot hold the name {given!r}: use another format")
        if name in seen:
            raise ValueError(f"in the word2vec format {seen[name]!r} and {given!r} are both {name!r}: use another format")
        seen[name] = given
    table = Answer({"name": np.array(names)} | {str(k): column for k, column in enumerate(vectors.T)})

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(f"{vectors.shape[0]} {vectors.shape[1]}\n")
            file.writelines(f"{name} {' '.join(map(repr, row))}\n" for name, *row in table)

    write_atomically(path, write)


def as_networkx(
    table: Answer, edges: np.ndarray[Any, Any], weights: "Tensor | None" = None, directed: bool = False
) -> "nx.Graph":
    """Return a graph of NetworkX.

    Args:
        table: Names of the nodes, its first column, and their attributes.
        edges: Names of both ends of each edge, shape ``(2, E)``.
        weights: Weights of the edges, shape ``(E,)``.
        directed: Whether edges have a direction.
    """
    import networkx as nx

    made = nx.DiGraph() if directed else nx.Graph()
    names = list(table.columns)[1:]
    made.add_nodes_from((node, dict(zip(names, values, strict=True))) for node, *values in table)
    if weights is None:
        made.add_edges_from(zip(*edges.tolist(), strict=True))
    else:
        made.add_weighted_edges_from(zip(*edges.tolist(), weights.tolist(), strict=True))
    return made


def write_graphml(path: Path, graph: "nx.Graph") -> None:
    """Write a graph with the attributes of its nodes as GraphML.

    Raises:
        ValueError: A name has a character that XML does not allow.
    """
    import networkx as nx

    check_target(path, "graphml")
    texts = (text for node, about in graph.nodes(data=True) for text in (node, *about.values()) if isinstance(text, str))
    if (odd := next(filter(_NOT_IN_XML.search, texts), None)) is not None:
        raise ValueError(f"GraphML cannot hold {odd!r}: it has a character that XML does not allow; use another format")
    write_atomically(path, lambda temporary: nx.write_graphml(graph, temporary))
