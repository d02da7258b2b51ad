"""The paper's tables and figures by one command: cells, a store of measured lines, and what is rendered from them."""

from qgcn.reproduction.cells import Cell
from qgcn.reproduction.store import Store

__all__ = ["Cell", "Store"]
