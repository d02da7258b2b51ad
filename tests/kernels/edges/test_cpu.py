"""Compiled sums over edges against plain ones; without a compiler there is nothing to test."""

import pytest
import torch

from cases import generator
from qgcn.kernels.edges import cpu, reference

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


def edges_of(count, sources, targets):
    return torch.stack(
        (torch.randint(sources, (count,), generator=generator(0)), torch.randint(targets, (count,), generator=generator(1)))
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("kind", ["sum", "mean", "sym"])
def test_coefficients_equal_plain_ones(kind, same, loops, weighted):
    sources, targets = (30, 30) if same else (30, 20)
    edges = edges_of(200, sources, targets)
    weight = torch.rand(200, generator=generator(2)) if weighted else None
    plain = torch.ones(200, dtype=torch.float64) if weight is None else weight.double()
    found = cpu.coefficients(edges, weight, (sources, targets), kind, same, loops)
    expected = reference.coefficients(edges, plain, (sources, targets), kind, same, loops)
    torch.testing.assert_close(found[0].double(), expected[0], rtol=1e-6, atol=1e-7)
    if loops:
        torch.testing.assert_close(found[1].double(), expected[1], rtol=1e-6, atol=1e-7)
    else:
        assert found[1].shape == (0,)


@pytest.mark.parametrize("width", [1, 3, 16, 20])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("count", [40, 40_000])  # one thread's work, and more
def test_gather_and_dots_equal_plain_ones(count, batch, width):
    edges = edges_of(count, 50, 70)
    v = torch.randn(batch, 50, width, generator=generator(2))
    weight = torch.randn(count, generator=generator(3))
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        found = cpu.gather(v, edges, weight, 70)
        torch.testing.assert_close(found, reference.gathered(v, edges, weight, 70), rtol=1e-3, atol=1e-3)
        turned = cpu.gather(found, edges, weight, 50, turned=True)
        torch.testing.assert_close(turned, reference.gathered(found, edges.flip(0), weight, 50), rtol=1e-3, atol=0.1)
        dots = cpu.dots(v, found, edges)
    finally:
        torch.set_num_threads(threads)
    torch.testing.assert_close(dots, (v[:, edges[0]] * found[:, edges[1]]).sum((0, 2)), rtol=1e-3, atol=0.1)


@pytest.mark.parametrize("count", [0, 40, 40_000])
def test_gather_begins_with_loops(count):
    edges, loops = edges_of(count, 50, 50), torch.randn(50, generator=generator(4))
    v, weight = torch.randn(2, 50, 20, generator=generator(2)), torch.randn(count, generator=generator(3))
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        for turned in (False, True):
            found = cpu.gather(v, edges, weight, 50, turned, loops)
            way = edges.flip(0) if turned else edges
            torch.testing.assert_close(found, reference.gathered(v, way, weight, 50, loops), rtol=1e-3, atol=1e-3)
    finally:
        torch.set_num_threads(threads)


def test_gather_refuses_loops_of_other_nodes():
    v, weight = torch.ones(1, 50, 3), torch.ones(40)
    with pytest.raises(ValueError, match="loops must be those of 50 sources and 70 targets, the same nodes, got 70"):
        cpu.gather(v, edges_of(40, 50, 70), weight, 70, loops=torch.ones(70))


def test_threads_are_asked_for_by_the_operations_of_all_edges_of_a_batch(monkeypatch):
    counted, edges = [], edges_of(40, 50, 70)
    monkeypatch.setattr(cpu, "threads_for", lambda operations: counted.append(operations) or 1)
    v = torch.ones(3, 50, 20)
    cpu.dots(v, cpu.gather(v, edges, torch.ones(40), 70), edges)
    assert counted == [3 * 40 * 2] * 2  # twenty numbers are two operations on sixteen


@pytest.mark.parametrize(("edge", "said"), [([5, 0], "from 5 to 0"), ([0, -1], "from 0 to -1"), ([0, 3], "from 0 to 3")])
def test_an_end_that_is_no_node_is_refused(edge, said):
    edges = torch.tensor([[1, 1], edge]).t().contiguous()
    with pytest.raises(ValueError, match=rf"\[0, 5\) and \[0, 3\), got an edge {said}"):
        cpu.gather(torch.ones(1, 5, 2), edges, torch.ones(2), 3)
    with pytest.raises(ValueError, match=said):
        cpu.coefficients(edges, None, (5, 3), "sym", False, False)
