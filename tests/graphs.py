"""Edges of a graph as sets, whatever its order."""

import torch

from qgcn.data import undirected

TRIANGLE = {frozenset(pair) for pair in [(0, 1), (1, 2), (0, 2)]}


def check_form(data):
    """Sorted, none twice, no self-loops; and `directed` says what is true."""
    keys = data.edge_index[0] * data.num_nodes + data.edge_index[1]
    assert data.edge_index.dtype == torch.int64
    assert (keys.diff() > 0).all()
    assert (data.edge_index[0] != data.edge_index[1]).all()
    back = (data.edge_index[1] * data.num_nodes + data.edge_index[0]).sort().values
    if "edge_weight" not in data:
        assert data.directed == (not torch.equal(back, keys))


def ordered(data):
    """Ordered edges in terms of the ids, after checking the form."""
    check_form(data)
    return {tuple(pair) for pair in data.node_ids[data.edge_index.numpy()].T.tolist()}


def pairs(data):
    """Undirected edges in terms of the ids, after checking the form."""
    both = ordered(undirected(data))
    assert both == {(b, a) for a, b in both}
    assert both == ordered(data) | {(b, a) for a, b in ordered(data)}
    return {frozenset(pair) for pair in both}


def weights(data):
    """Weight of each undirected edge, which is the same in both directions."""
    data = undirected(data)
    ids = data.node_ids[data.edge_index.numpy()].T.tolist()
    found = {}
    for pair, weight in zip(ids, data.edge_weight.tolist(), strict=True):
        assert found.setdefault(frozenset(pair), weight) == weight
    return found
