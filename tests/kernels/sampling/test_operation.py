"""Samples of neighbours, whichever path computes them."""

import pytest
import torch

from qgcn.kernels import use_backend
from qgcn.kernels.sampling import cpu, draw_neighbours, number_nodes
from sampled import matrix


def test_no_neighbours_cannot_be_asked_for():
    crow, col, _ = matrix()
    with pytest.raises(ValueError, match="fanout must be at least 1, or negative for all neighbours, got 0"):
        draw_neighbours(crow, col, torch.tensor([1]), 0, 3)


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
def test_both_paths_are_taken_and_agree(monkeypatch):
    crow, col, loops = matrix()
    taken = []
    monkeypatch.setattr(cpu, "drawn", lambda *given, own=cpu.drawn: taken.append("native") or own(*given))
    with use_backend("eager"):
        eager = draw_neighbours(crow, col, torch.arange(300), 4, 3, loops=loops)
        numbers = number_nodes(torch.arange(3), eager.sources)
    assert taken == []
    with use_backend("native"):
        native = draw_neighbours(crow, col, torch.arange(300), 4, 3, loops=loops)
    assert taken == ["native"]
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(eager, native, strict=True))
    assert torch.equal(numbers[0], number_nodes(torch.arange(3), native.sources)[0])


def test_strided_tensors_are_read_as_they_are():
    crow, col, _ = matrix()
    nodes = torch.arange(300)
    strided = draw_neighbours(crow, col, nodes[::2], 4, 3)
    assert torch.equal(strided.entries, draw_neighbours(crow, col, nodes[::2].clone(), 4, 3).entries)
