"""A network with a decoder of arrows: its loss, and the times it gives to nodes."""

import pytest
import torch

from qgcn.models import QGCN, Propagation
from qgcn.nn import Adjacency, arrow_decoder
from qgcn.tasks import ArrowPredictor

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def predictor(decoder="joint", weight=0.5):
    torch.manual_seed(0)
    encoder = Propagation(5, "E6", along="alternating")
    return ArrowPredictor(encoder, arrow_decoder(decoder, encoder.space), weight)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_turned_edges_have_a_weight_of_their_own(weight):
    model, x, graph = predictor(weight=weight), torch.eye(5), Adjacency.of(EDGES, 5)
    turned, drawn = torch.tensor([[1, 2], [0, 1]]), torch.tensor([[4, 4, 3], [0, 1, 0]])
    points = model.embed(x, graph)
    right, wrong, others = (model.pair_logits(points, pairs).sigmoid() for pairs in (EDGES, turned, drawn))
    expected = -right.log().mean() - (1 - others).log().mean() - weight * (1 - wrong).log().mean()
    torch.testing.assert_close(model.loss(x, graph, EDGES, turned, drawn), expected)
    nothing = torch.empty(2, 0, dtype=torch.long)
    torch.testing.assert_close(model.loss(x, graph, EDGES, nothing, drawn), -right.log().mean() - (1 - others).log().mean())


@pytest.mark.parametrize("decoder", ["joint", "oriented", "interval"])
def test_times_are_the_mean_of_all_differences(decoder):
    model = predictor(decoder)
    points = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    every = torch.arange(7)
    pairs = torch.cartesian_prod(every, every).t()
    logits = model.pair_logits(points, pairs).reshape(7, 7).double()
    expected = (logits - logits.t()).mean(0) / 2
    torch.testing.assert_close(model.times(points), expected.detach())


def test_times_of_potentials_are_their_differences(monkeypatch):
    """Measured against some nodes alone, they differ by a constant."""
    monkeypatch.setattr("qgcn.tasks.arrow_predictor.SAMPLED", 3)
    model = predictor("interval")
    points = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    first, second = model.decoder.potential(points).detach().double().unbind(1)
    time = (second - first) / 2
    found = model.times(points)
    torch.testing.assert_close(found - found[0], time - time[0], rtol=1e-5, atol=1e-5)


def test_mixed_ways_are_those_of_the_edges_and_of_the_edges_turned_round():
    torch.manual_seed(0)
    encoder = QGCN(5, "Q4,3", layers=2)
    model = ArrowPredictor(encoder, arrow_decoder("joint", encoder.space), 0.5, mixed=True)
    x, along, against = torch.eye(5), Adjacency.of(EDGES, 5), Adjacency.of(EDGES.flip(0), 5)
    torch.testing.assert_close(model.ways.detach(), torch.tensor([0.5, 0.5]))
    with torch.no_grad():
        for way, graph in enumerate((along, against)):
            model.ways.copy_(torch.eye(2)[way])
            torch.testing.assert_close(model.embed(x, along), encoder(x, graph))
        model.ways.fill_(0.5)
    assert not torch.allclose(encoder(x, along), encoder(x, against))
    points = model.embed(x, along)
    torch.testing.assert_close(points, model.embed(x, against))  # halves of both are the same whatever is which
    points.square().sum().backward()
    assert (model.ways.grad != 0).all()
