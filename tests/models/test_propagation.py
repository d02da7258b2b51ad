"""Propagation: the sum it computes, its capabilities, and that it trains in every task."""

import pytest
import torch

from qgcn.models import Propagation, build, find_model
from qgcn.nn import Adjacency, SparseMatrix
from qgcn.tasks import Config
from qgcn.training import Run

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def features(seed=0):
    return torch.randn(4, 6, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("space", ["E4", "H3", "Q2,2", "H2xS2"])
def test_it_is_the_weighted_sum_of_powers_of_the_adjacency(space):
    network = build("propagation", 6, space, steps=3)
    with torch.no_grad():
        network.gains.copy_(torch.tensor([0.5, -1.0, 0.25, 2.0]))
    graph = Adjacency.of(EDGES, 4)
    start, dense = network.linear.from_tangent(features()), graph.to_dense()
    expected = sum(gain * torch.linalg.matrix_power(dense, power) @ start for power, gain in enumerate(network.gains))
    torch.testing.assert_close(network.tangent(features(), graph), network.space.fold0(expected), rtol=1e-4, atol=1e-5)


def test_edges_and_their_adjacency_give_the_same():
    network = Propagation(6, "Q2,2", aggregation="mean")
    graph = Adjacency.of(EDGES, 4, aggregation="mean")
    torch.testing.assert_close(network(features(), EDGES), network(features(), graph))


def test_without_steps_the_graph_does_not_matter():
    network = Propagation(6, "Q2,2", steps=0)
    assert torch.equal(network(features(), EDGES), network(features(), EDGES[:, :2]))


def test_sparse_features_are_as_good_as_dense_ones():
    network, x = Propagation(6, "Q2,2"), features().relu()
    torch.testing.assert_close(network(SparseMatrix.of(x), EDGES), network(x, EDGES))


def test_capabilities_follow_from_the_options():
    model = find_model("propagation", "Q2,2")
    space = Propagation(6, "Q2,2").space
    assert model.capabilities(space, {}).recordable
    assert model.capabilities(space, {"feature_dropout": 0.5}).recordable
    assert not model.capabilities(Propagation(6, "K4").space, {}).recordable
    assert model.capabilities(space, {}).batchable
    assert model.encoder.width(space, {"steps": 2}) == 12


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="in_features must be at least 1, got 0"):
        Propagation(0)
    with pytest.raises(ValueError, match="steps must be at least 0, got -1"):
        Propagation(3, steps=-1)
    with pytest.raises(ValueError, match="expected 6 features"):
        Propagation(6)(features()[:, :5], EDGES)
    with pytest.raises(ValueError, match="the encoder needs a graph, got None"):
        Propagation(6)(features())


@pytest.mark.parametrize(
    ("task", "settings", "score", "least"),
    [
        ("links", {"decoder": "product"}, "roc_auc", 0.6),
        ("links", {"decoder": "bilinear", "feature_dropout": 0.0}, "roc_auc", 0.6),
        ("classification", {}, "accuracy", 0.5),
    ],
)
def test_it_trains_several_seeds_at_once(task, settings, score, least):
    values = {"task": task, "data": "stochastic-block", "model": "propagation", "space": "Q6,2", "epochs": 60, "seeds": 2}
    run = Run.start(Config.checked(values | settings | {"blend": False, "yardsticks": False}), None)
    means = run.train()
    assert means.get(score, next(iter(means.values())))[0] > least


@pytest.mark.parametrize("option", ["dropout", "feature_dropout"])
def test_not_everything_can_be_dropped(option):
    taken = Propagation.options_type(**{option: 0.99})
    assert getattr(taken, option) == 0.99
    for share in (1, 1.5, -0.1):
        with pytest.raises(ValueError, match=option):
            Propagation.options_type(**{option: share})


ARROWS = torch.tensor([[0, 0, 1, 3], [1, 2, 2, 1]])


def directed(along, space="E4"):
    torch.manual_seed(0)
    network = build("propagation", 6, space, steps=2, along=along)
    with torch.no_grad():
        network.gains.mul_(torch.linspace(0.5, 1.5, network.gains.numel()).reshape(network.gains.shape))
    return network


def stepwise(network, step):
    """Return the sum of steps on dense matrices, which along and against the arrows are given to a step."""
    graph = Adjacency.of(ARROWS, 4)
    along, against = (each.to_dense() for each in graph.arrows)
    torch.testing.assert_close(against, along.t())
    u = network.linear.from_tangent(features())
    for gain in network.gains:
        u = (u + step(u, gain, along, against)) / 2
    torch.testing.assert_close(network.tangent(features(), graph), network.space.fold0(u), rtol=1e-4, atol=1e-5)


def test_against_the_arrows():
    stepwise(directed("against"), lambda u, gain, _, against: gain[0] * (against @ u))


def test_both_ways_in_a_learned_mix():
    stepwise(directed("both"), lambda u, gain, along, against: gain[0] * (along @ u) + gain[1] * (against @ u))


@pytest.mark.parametrize("space", ["E4", "H4", "Q3,2"])
def test_sources_and_targets_alternate(space):
    """A source takes from the targets that it points at, a target from the sources that point at it."""
    first = 0 if space == "E4" else 1

    def step(u, gain, along, against):
        a, b = u[:, first : first + 2], u[:, first + 2 :]
        more = torch.cat((gain[0] * (against @ b), gain[1] * (along @ a)), dim=1)
        return torch.cat((torch.zeros(4, first), more), dim=1)

    stepwise(directed("alternating", space), step)


def test_phases_are_complex_numbers():
    def step(u, gain, along, against):
        z, turn = torch.complex(u[:, :2], u[:, 2:]), torch.polar(torch.tensor(1.0), gain[1])
        more = gain[0] / 2 * (turn * torch.complex(along @ z.real, along @ z.imag))
        more = more + gain[0] / 2 * (turn.conj() * torch.complex(against @ z.real, against @ z.imag))
        return torch.cat((more.real, more.imag), dim=1)

    stepwise(directed("phases"), step)


def test_nothing_comes_to_a_coordinate_that_is_left_over():
    network = directed("alternating", "E5")
    found = network.tangent(features(), Adjacency.of(ARROWS, 4))
    torch.testing.assert_close(found[:, 4], network.linear.from_tangent(features())[:, 4] / 4)  # two steps without news


def test_it_tells_arrows_from_their_reverses_if_asked_to():
    model = find_model("propagation", "E4")
    space = Propagation(6, "E4").space
    assert not model.capabilities(space, {}).directed
    assert model.capabilities(space, {"along": "both"}).directed
    graph, back = Adjacency.of(ARROWS, 4), Adjacency.of(ARROWS.flip(0), 4)
    for along in ("against", "both", "alternating", "phases"):
        network = directed(along)
        assert not torch.allclose(network(features(), graph), network(features(), back))
