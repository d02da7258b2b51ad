"""Neighbours that two nodes share: those of the product of matrices, whatever the graph."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qgcn.nn import SharedNeighbours


@given(st.integers(1, 12), st.integers(0, 60), st.integers(0, 2**31))
def test_shared_neighbours_are_those_of_both(count, edges, seed):
    generator = torch.Generator().manual_seed(seed)
    half = torch.randint(0, count, (2, edges), generator=generator)
    both = torch.cat((half, half.flip(0)), dim=1)
    pairs = torch.randint(0, count, (2, 20), generator=generator)
    place, node = SharedNeighbours(both, count).of_pairs(pairs)
    dense = torch.zeros(count, count, dtype=torch.bool)
    dense[both[0], both[1]] = True
    dense.fill_diagonal_(False)
    expected = (dense[pairs[0]] & dense[pairs[1]]).nonzero().T
    assert torch.equal(torch.stack((place, node)), expected)


def test_without_edges_nothing_is_shared():
    shared = SharedNeighbours(torch.empty(2, 0, dtype=torch.long), 3)
    place, node = shared.of_pairs(torch.tensor([[0, 1], [1, 2]]))
    assert place.numel() == node.numel() == 0
    assert shared.to(torch.device("cpu")) is shared


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_finds_the_same():
    star = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
    pairs = torch.tensor([[1, 0], [2, 3]])
    here = SharedNeighbours(star, 4)
    there = here.to(torch.device("cuda")).of_pairs(pairs.cuda())
    assert all(torch.equal(a, b.cpu()) for a, b in zip(here.of_pairs(pairs), there, strict=True))
