"""Samples of neighbours, whichever path computes them."""

import re

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


def test_a_matrix_that_is_strided_is_read_as_it_is():
    crow, col, loops = matrix()
    nodes, twice = torch.arange(300), [torch.stack((each, each - 7), dim=1)[:, 0] for each in (crow, col, loops)]
    assert not twice[0].is_contiguous()
    strided = draw_neighbours(twice[0], twice[1], nodes, 4, 3, loops=twice[2])
    assert torch.equal(strided.entries, draw_neighbours(crow, col, nodes, 4, 3, loops=loops).entries)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"crow": torch.tensor([0, 1, 2])}, "crow must be torch.int32 with one axis, got torch.int64 of shape (3,)"),
        ({"col": torch.tensor([1, 0])}, "col must be torch.int32"),
        ({"nodes": torch.tensor([0], dtype=torch.int32)}, "nodes must be torch.int64"),
        ({"nodes": torch.tensor([[0]])}, "nodes must be torch.int64 with one axis, got torch.int64 of shape (1, 1)"),
        ({"loops": torch.tensor([-1, -1])}, "loops must be torch.int32"),
        ({"loops": torch.tensor([-1]).int()}, "crow must have one entry more than there are nodes, got 3"),
        ({"crow": torch.tensor([0, 1, 3]).int()}, "crow must end with the number of entries of col, 2, got 3"),
        ({"nodes": torch.tensor([0, 2])}, "nodes must lie in [0, 2), got 0 to 2"),
        ({"nodes": torch.tensor([-1])}, "nodes must lie in [0, 2), got -1 to -1"),
    ],
)
def test_what_cannot_be_read_is_refused(backend, change, message):
    """C++ reads by addresses: other types and nodes that are not there would be read as something else."""
    given = {"crow": torch.tensor([0, 1, 2]).int(), "col": torch.tensor([1, 0]).int(), "nodes": torch.tensor([0])}
    given |= {"loops": torch.tensor([-1, -1]).int()} | change
    with use_backend(backend), pytest.raises(ValueError, match=re.escape(message)):
        draw_neighbours(given["crow"], given["col"], given["nodes"], 1, 3, loops=given["loops"])
