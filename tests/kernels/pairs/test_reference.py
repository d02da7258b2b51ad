"""Plain PyTorch against the definitions, pair by pair."""

import math

import pytest
import torch

from cases import generator, settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods
from qgcn.kernels.pairs import neighbourhoods, reference
from qgcn.kernels.pairs.points import Energy

EDGES = torch.tensor([[0, 1, 2, 5, 0], [1, 0, 3, 1, 4]])


@pytest.mark.parametrize("rows", [None, 2])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_log_sum_and_edges_are_their_definitions(squared, others, rows, monkeypatch):
    space = parse_space("Q2,2")
    x = settled_points(space, 7).double()
    graph = Neighbourhoods.of(EDGES, 7)
    if rows is not None:
        monkeypatch.setattr(neighbourhoods, "CHUNK_ENTRIES", rows * 7)
    found = reference.log_sum(x, graph, space, Energy(torch.tensor(1.7, dtype=torch.float64), squared), others)
    dist = space.pairwise_dist(x)
    energy = dist.square() if squared else dist
    left_out = {(u, v) for u, v in EDGES.t().tolist()} if not others else set()
    for u in range(7):
        terms = [math.exp(-1.7 * energy[u, w].item()) for w in range(7) if w != u and (u, w) not in left_out]
        assert found[u].item() == pytest.approx(math.log(sum(terms)), rel=1e-9)
    of_edges = reference.edge_energy(x, graph, space, squared)
    torch.testing.assert_close(of_edges, energy[graph.source, graph.target])


def test_distances_are_rows_of_all_pairs():
    space = parse_space("H3xE2")
    x = settled_points(space, 9)
    found = reference.distances(x, range(2, 5), space)
    torch.testing.assert_close(found, space.pairwise_dist(x)[2:5])
    assert found.is_contiguous()


def test_average_precision_of_a_row_by_hand():
    graph = Neighbourhoods.of(torch.tensor([[0, 0], [1, 3]]), 5)
    dist = torch.tensor([[0.0, 1.0, 2.0, 2.0, 5.0]])  # neighbours are first, and third of two that tie
    (chunk,) = list(graph.chunks(1))[:1]
    assert reference.average_precision(dist, graph, chunk).item() == pytest.approx((1 / 1 + 2 / 3) / 2)
    random = torch.rand(1, 5, generator=generator(0))
    assert 0 < reference.average_precision(random, graph, chunk).item() <= 1
