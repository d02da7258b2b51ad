"""Attention to all nodes: the formula with all pairs in memory, several spaces, neighbours."""

import pytest
import torch

from cases import generator
from qgcn import data, parse_space
from qgcn.kernels.attention import all_energies
from qgcn.nn import Adjacency, GlobalAttention

EDGES = data.ring_of_trees(4, 1, 1)
N = 8


def vectors(n=N, seed=0):
    return torch.randn(n, 6, dtype=torch.float64, generator=generator(seed))


def layer(*spaces, **options):
    torch.manual_seed(0)
    made = GlobalAttention(6, spaces or ("Q3,1", "Q2,2", "E4"), **options).double()
    with torch.no_grad():
        made.temperature.copy_(torch.linspace(-0.5, 0.5, len(made.spaces)))
        made.extra.copy_(torch.linspace(0.0, 2.0, len(made.spaces)))
    return made


@pytest.mark.parametrize("energy", ["distance", "chord"])
@pytest.mark.parametrize("two_points", [False, True])
def test_it_is_the_formula(two_points, energy):
    made, u = layer(two_points=two_points, energy=energy), vectors()
    joined = (Adjacency.of(EDGES, N).to_dense() != 0).double()
    heard = []
    for h, (space, query) in enumerate(zip(made.spaces, made.queries, strict=True)):
        x = space.expmap0(query.from_tangent(u))
        y = space.expmap0(space.fold0(u @ made.keys[h])) if two_points else x
        score = -all_energies(x, y, space, energy) / made.temperature[h].exp()
        share = ((1 + made.extra[h].exp() * joined).log() + score).softmax(-1)
        heard.append(share @ (u @ made.values[h]))
    torch.testing.assert_close(made(u, Adjacency.of(EDGES, N).to(dtype=torch.float64)), made.mix(torch.cat(heard, -1)))


def test_heads_have_spaces_of_their_own_and_values_share_the_width():
    made = layer("Q3,1", parse_space("Q2,2xE2"), "K3")
    assert [str(space) for space in made.spaces] == ["Q3,1", "Q2,2xE2", "K3"]
    assert made.values.shape == (3, 6, 2)
    assert "Q3,1 Q2,2xE2 K3, energy=distance" in repr(made)


def test_every_node_is_heard_and_dropped_edges_are_no_neighbours():
    made, u = layer("Q2,2"), vectors()
    graph = Adjacency.of(EDGES, N).to(dtype=torch.float64)
    u.requires_grad_()
    made(u, graph)[0].sum().backward()
    assert (u.grad.abs().sum(1) > 0).all()
    nothing = graph.thinned(0.999, generator(0))
    alone = Adjacency.of(EDGES[:, :0], N).to(dtype=torch.float64)
    torch.testing.assert_close(made(u, nothing), made(u, alone))
    assert (made(u, graph) - made(u, alone)).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["Q2,2", "H3", "Q2,2xE1"])
def test_all_weights_receive_gradients(name):
    made = layer(name, two_points=True)
    made(vectors(), Adjacency.of(EDGES, N).to(dtype=torch.float64)).square().sum().backward()
    assert all(each.grad is not None and each.grad.abs().sum() > 0 for _, each in made.named_parameters())


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="attention needs the space of at least one head, got none"):
        GlobalAttention(6, [])
    with pytest.raises(ValueError, match="energy must be one of distance, chord, got 'length'"):
        GlobalAttention(6, ["E2"], energy="length")


def test_points_are_translated_if_asked_to():
    with_bias, without = (GlobalAttention(4, ["Q2,2"], bias=bias) for bias in (True, False))
    assert {name for name, _ in with_bias.named_parameters()} - {name for name, _ in without.named_parameters()} == {
        "queries.0.bias"
    }
