"""Nodes by name."""

from typing import TYPE_CHECKING, Any

import numpy as np

from qgcn.data.assemble import Array
from qgcn.data.nodes import Nodes
from qgcn.data.pairs import Ints

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["NodeNames"]


class NodeNames:
    """The names of a graph's nodes, integers or strings, and the way back from a name to its node.

    Args:
        ids: Unique names, shape ``(N,)``.

    Example:
        >>> NodeNames(np.array(["ann", "bob"])).locate(["bob"])
        array([1])
    """

    def __init__(self, ids: Array) -> None:
        self.ids = ids
        self._nodes = Nodes(ids, "all")

    @classmethod
    def of(cls, data: "Data") -> "NodeNames":
        """Return the names of a graph's nodes, their numbers if they have none."""
        return cls(np.asarray(getattr(data, "node_ids", np.arange(data.num_nodes or 0))))

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, names: Any) -> Ints:
        """Return the position of each name, -1 for a stranger.

        Args:
            names: Integers or strings; a string that reads as an integer is one, where the graph's names are integers.
        """
        given = np.asarray(names)
        if len(self.ids) == 0 or given.size == 0:
            return np.full(given.shape, -1)
        if given.dtype == object:
            given = given.astype(str)
        if self._nodes.are_integers == (given.dtype.kind in "iu"):
            return self._nodes.locate(given)
        return Nodes(self.ids.astype(str), "all").locate(given.astype(str))

    def locate(self, names: Any) -> Ints:
        """Return the position of each name.

        Raises:
            ValueError: A name is no node's; the nearest known one is named.
        """
        places = self.find(names)
        if (places < 0).any():
            stranger = np.asarray(names)[places < 0].flat[0]
            raise ValueError(self.unknown(stranger))
        return places

    def unknown(self, name: Any) -> str:
        """Say that no node has this name, and which one may be meant."""
        return self._nodes.stranger(str(name))
