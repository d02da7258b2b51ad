"""Communities of a graph."""

from typing import Any

import numpy as np

__all__ = ["communities"]


def communities(edges: np.ndarray[Any, Any], num_nodes: int) -> np.ndarray[Any, Any]:
    """Return the Louvain community of each node, the largest first; int64, shape ``(N,)``.

    Args:
        edges: Shape ``(2, E)``.
        num_nodes: Number of nodes.
    """
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(num_nodes))
    graph.add_edges_from(edges.T.tolist())
    found = sorted(nx.community.louvain_communities(graph, seed=0), key=len, reverse=True)
    label = np.zeros(num_nodes, dtype=np.int64)
    for k, members in enumerate(found):
        label[list(members)] = k
    return label
