"""Decoders that are networks: symmetric, rows agree with pairs, shared neighbours count, names are known."""

import pytest
import torch

from qgcn import parse_space
from qgcn.nn import PAIR_DECODERS, NeighbourNetwork, PairNetwork, SharedNeighbours, pair_decoder

SPACES = ["E4", "H3", "S3", "Q2,2", "Q3,1", "Q0,4", "H2xS2", "Q2,2xE2"]
RING = torch.tensor([[0, 1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 8, 0]])
NEIGHBOURS = SharedNeighbours(torch.cat((RING, RING.flip(0)), dim=1), 9)
NETWORKS = ("network", "neighbours")


def points_of(space, count=9):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return space.expmap0(0.4 * torch.randn(count, space.ambient_dim)).detach()


def made(name, space, **options):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return pair_decoder(name, space, neighbours=NEIGHBOURS if name == "neighbours" else None, **options)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("space", SPACES)
def test_the_order_of_a_pair_does_not_matter_and_rows_are_pairs(space, name):
    space = parse_space(space, beta=-1.7)
    points, decoder = points_of(space), made(name, space)
    nodes = torch.tensor([3, 0, 8])
    rows = decoder.rows(points, nodes, space)
    assert rows.shape == (3, 9)
    for row, node in zip(rows, nodes, strict=True):
        pairs = torch.stack((node.expand(9), torch.arange(9)))
        for each in (pairs, pairs.flip(0)):
            torch.testing.assert_close(row, decoder.decode(points, each, space).detach(), rtol=1e-4, atol=1e-5)
    assert decoder.rows(points, nodes[:0], space).shape == (0, 9)


def test_a_network_of_points_is_one_of_nodes():
    space = parse_space("Q2,2")
    points, decoder, pairs = points_of(space), made("network", space), torch.tensor([[0, 3, 8], [1, 3, 2]])
    torch.testing.assert_close(decoder(points[pairs[0]], points[pairs[1]], space), decoder.decode(points, pairs, space))


def test_rows_in_blocks_are_rows(monkeypatch):
    space = parse_space("Q2,2")
    points, decoder, nodes = points_of(space), made("neighbours", space), torch.arange(9)
    whole = decoder.rows(points, nodes, space)
    monkeypatch.setattr("qgcn.nn.pair_networks.BLOCK", 20)
    torch.testing.assert_close(decoder.rows(points, nodes, space), whole)


def test_neighbours_that_are_shared_are_added_up():
    space = parse_space("Q3,2")
    points, decoder = points_of(space), made("neighbours", space)
    pairs = torch.tensor([[0, 0, 8], [2, 4, 1]])  # 1 is between the first two, nothing between the next, 0 between the last
    u = space.logmap0(points)
    plain = PairNetwork.decode(decoder, points, pairs, space)
    shared = decoder.shared(torch.stack((u[1], torch.zeros_like(u[0]), u[0]))).squeeze(-1)
    torch.testing.assert_close(decoder.decode(points, pairs, space), plain + shared)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("space", SPACES)
def test_gradients_are_finite_where_points_coincide_and_at_the_origin(space, name):
    space = parse_space(space)
    points = torch.cat((points_of(space, 8), space.origin(space.ambient_dim).float()[None])).requires_grad_()
    decoder = made(name, space)
    logits = decoder.decode(points, torch.tensor([[0, 8, 8, 1], [0, 8, 0, 2]]), space)
    (gradient,) = torch.autograd.grad(logits.sum(), points)
    assert gradient.isfinite().all()


def test_hidden_units_are_dropped_in_training_alone():
    space = parse_space("E4")
    points, decoder, pairs = points_of(space), made("network", space, dropout=0.5), torch.tensor([[0, 1], [2, 3]])
    kept = made("network", space).decode(points, pairs, space)
    assert not torch.equal(decoder.train().decode(points, pairs, space), kept)
    assert torch.equal(decoder.eval().decode(points, pairs, space), kept)


def test_all_names_are_known():
    space = parse_space("E2")
    assert isinstance(made("neighbours", space), NeighbourNetwork)
    for name in PAIR_DECODERS:
        made(name, space)
    with pytest.raises(ValueError, match=r"unknown decoder 'dot': expected one of squared-distance, .*neighbours"):
        pair_decoder("dot", space)
    with pytest.raises(ValueError, match="needs the neighbours of the nodes, got none"):
        pair_decoder("neighbours", space)
