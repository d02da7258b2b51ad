"""The deep network: the formula it computes, its capabilities, and that it trains in every task."""

import math

import pytest
import torch

from qgcn import data
from qgcn.models import Deep, build, find_model
from qgcn.nn import Adjacency, SparseMatrix
from qgcn.tasks import Config
from qgcn.training import Run

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def features(seed=0, n=4):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("space", ["E4", "H3", "Q2,2", "H2xS2"])
def test_it_is_the_formula(space):
    torch.manual_seed(0)
    network = build("deep", 6, space, layers=3, residual=0.2, identity=1.5, activation="tanh", hidden="Q3,2")
    inside, dense = network.enter.space, Adjacency.of(EDGES, 4).to_dense()
    assert (str(inside), str(network.space)) == ("Q3,2", space)
    start = u = network.enter.from_tangent(features()).tanh()
    for index, weight in enumerate(network.weights):
        share = math.log(1 + 1.5 / (index + 1))
        mixed = 0.8 * dense @ u + 0.2 * start
        u = inside.fold0(mixed @ ((1 - share) * torch.eye(5) + share * weight)).tanh()
    torch.testing.assert_close(network.tangent(features(), EDGES), network.leave.from_tangent(u), rtol=1e-4, atol=1e-5)


def test_nodes_stay_apart_in_64_layers_and_with_the_residual_alone():
    torch.manual_seed(0)
    edges, x = data.cycle(12), features(n=12)
    apart = [build("deep", 6, "Q3,1", layers=64, residual=residual)(x, edges).std(0).sum() for residual in (0.1, 0.0)]
    assert apart[0] > 100 * apart[1]


def test_edges_and_their_adjacency_give_the_same():
    network = Deep(6, "Q2,2", aggregation="mean")
    graph = Adjacency.of(EDGES, 4, aggregation="mean")
    torch.testing.assert_close(network(features(), EDGES), network(features(), graph))


def test_sparse_features_are_as_good_as_dense_ones():
    network, x = Deep(6, "Q2,2"), features().relu()
    torch.testing.assert_close(network(SparseMatrix.of(x), EDGES), network(x, EDGES))


def test_dropout_is_for_training_alone():
    torch.manual_seed(0)
    network = Deep(6, "Q2,2", dropout=0.5, feature_dropout=0.5)
    assert (network(features(), EDGES) != network(features(), EDGES)).any()
    network.eval()
    assert torch.equal(network(features(), EDGES), network(features(), EDGES))


def test_capabilities_follow_from_the_options():
    model, space = find_model("deep", "Q2,2"), Deep(6, "Q2,2").space
    assert model.capabilities(space, {}).recordable
    assert model.capabilities(space, {"dropout": 0.5}).recordable
    assert not model.capabilities(space, {"hidden": "K4"}).recordable
    assert model.capabilities(space, {}).batchable
    assert not model.capabilities(space, {"hidden": "K4"}).batchable
    assert model.encoder.width(space, {"layers": 2, "hidden": "E8"}) == 28


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="in_features must be at least 1, got 0"):
        Deep(0)
    with pytest.raises(ValueError, match="layers must be at least 1, got 0"):
        Deep(3, layers=0)
    with pytest.raises(ValueError, match=r"residual must be in \[0, 1\], got 2"):
        Deep(3, residual=2)
    with pytest.raises(ValueError, match="expected 6 features"):
        Deep(6)(features()[:, :5], EDGES)
    with pytest.raises(ValueError, match="the encoder needs a graph, got None"):
        Deep(6)(features())
    with pytest.raises(ValueError, match="layers: input should be less than or equal to 64, got 65"):
        Config.checked({"task": "links", "data": "cycle", "model": "deep", "layers": 65})


@pytest.mark.parametrize("model", ["deep", "qgat"])
@pytest.mark.parametrize(("task", "score", "least"), [("links", "roc_auc", 0.6), ("classification", "accuracy", 0.6)])
def test_it_trains_several_seeds_at_once(model, task, score, least):
    values = {"task": task, "data": "stochastic-block", "model": model, "space": "Q6,2", "epochs": 80, "seeds": 2}
    run = Run.start(Config.checked(values | {"blend": False, "yardsticks": False}), None)
    assert run.train()[score][0] > least
