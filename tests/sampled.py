"""Matrices to draw neighbours from."""

import torch

from cases import generator


def matrix(num_nodes=300, num_edges=4000, seed=0):
    """Return rows, columns and loops of a matrix with hubs, empty rows and some loops."""
    draw = generator(seed)
    target = (torch.rand(num_edges, generator=draw) ** 3 * (num_nodes - 1)).long()
    source = torch.randint(num_nodes, (num_edges,), generator=draw)
    keys = torch.unique(target * num_nodes + source)
    target, source = keys // num_nodes, keys % num_nodes
    crow = torch.zeros(num_nodes + 1, dtype=torch.int32)
    crow[1:] = torch.bincount(target, minlength=num_nodes).cumsum(0)
    loops = torch.full((num_nodes,), -1, dtype=torch.int32)
    at = (target == source).nonzero().squeeze(1)
    loops[target[at]] = at.int()
    assert len(at) > 0
    assert int(crow.diff()[-1]) == 0
    return crow, source.int(), loops
