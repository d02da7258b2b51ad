"""Compiled samples against plain ones, bit for bit; without a compiler there is nothing to test."""

import pytest
import torch

from cases import generator
from qgcn.kernels.sampling import cpu, reference
from sampled import matrix

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


@pytest.mark.parametrize("with_loops", [False, True])
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("fanout", [-1, 1, 3, 10, 150])
def test_draws_are_those_of_the_reference(fanout, replace, with_loops):
    crow, col, loops = matrix()
    nodes = torch.randperm(300, generator=generator(1))[:200]
    for key in (0, 2**62 + 12345):
        given = (crow, col, nodes, fanout, key, replace, loops if with_loops else None)
        found, expected = cpu.drawn(*given), reference.drawn(*given)
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(found, expected, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_many_nodes_are_drawn_by_threads_as_by_one(threads):
    crow, col, _ = matrix(20_000, 400_000)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = cpu.drawn(crow, col, torch.arange(20_000), 5, 9, False, None)
    finally:
        torch.set_num_threads(before)
    expected = reference.drawn(crow, col, torch.arange(20_000), 5, 9, False, None)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(found, expected, strict=True))


@pytest.mark.parametrize("count", [0, 1, 50, 5000])
def test_numbers_are_those_of_the_reference(count):
    known = torch.randperm(2**40 // 2**20, generator=generator(0))[:count] * 2**20
    found = torch.randint(2**20, (3 * count,), generator=generator(1)) * 2**20
    for mine, theirs in zip(cpu.numbered(known, found), reference.numbered(known, found), strict=True):
        assert torch.equal(mine, theirs)


def test_empty_draws_are_empty():
    crow, col, _ = matrix()
    begin, entries, sources = cpu.drawn(crow, col, torch.empty(0, dtype=torch.int64), 3, 1, False, None)
    assert begin.tolist() == [0]
    assert len(entries) == len(sources) == 0
