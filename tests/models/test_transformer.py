"""The graph transformer: the formula it computes, its options, and that it trains in every task."""

import pytest
import torch

from qgcn import data
from qgcn.models import Transformer, build, find_model
from qgcn.nn import Adjacency, SparseMatrix
from qgcn.tasks import Config
from qgcn.training import Run

EDGES = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


def features(seed=0, n=4):
    return torch.randn(n, 6, generator=torch.Generator().manual_seed(seed))


def test_it_is_the_formula():
    torch.manual_seed(0)
    network = build("transformer", 6, "H3", layers=2, hidden="Q3,2", head_spaces="Q2,1 E2", activation="tanh")
    graph = Adjacency.of(EDGES, 4)
    dense, inside = graph.to_dense(), network.enter.space
    u = network.enter.from_tangent(features()).tanh()
    for attention, convolution in zip(network.attentions, network.convolutions, strict=True):
        u = inside.fold0(u + dense @ u @ convolution.weight.t() + attention(u, graph)).tanh()
    expected = network.space.fold0(dense @ network.leave.from_tangent(u))
    torch.testing.assert_close(network.tangent(features(), EDGES), expected, rtol=1e-4, atol=1e-5)
    assert [[str(space) for space in each.spaces] for each in network.attentions] == [["Q2,1", "E2"]] * 2


def test_nodes_hear_those_that_no_path_leads_to():
    torch.manual_seed(0)
    network, x = build("transformer", 6, "Q2,2"), features(n=9)
    changed = x.clone()
    changed[8] += 1
    edges = data.cycle(6)
    assert (network(x, edges) - network(changed, edges)).abs()[0].sum() > 1e-6


def test_edges_and_their_adjacency_and_sparse_features_give_the_same():
    network, x = Transformer(6, "Q2,2", aggregation="mean"), features().relu()
    expected = network(x, EDGES)
    torch.testing.assert_close(network(x, Adjacency.of(EDGES, 4, aggregation="mean")), expected)
    torch.testing.assert_close(network(SparseMatrix.of(x), EDGES), expected)


def test_capabilities_follow_from_the_options():
    model, space = find_model("transformer", "Q2,2"), Transformer(6, "Q2,2").space
    able = model.capabilities(space, {})
    assert (able.batchable, able.recordable, able.keyed, able.hops) == (False, False, True, None)
    assert model.encoder.width(space, {"layers": 2, "head_spaces": "E2 E3"}) == 2 * (16 + 10) + 4


def test_bad_input_is_named():
    settings = {"task": "links", "data": "cycle", "model": "transformer"}
    with pytest.raises(ValueError, match="in_features must be at least 1, got 0"):
        Transformer(0)
    with pytest.raises(ValueError, match="layers must be at least 1, got 0"):
        Transformer(3, layers=0)
    with pytest.raises(ValueError, match="expected 6 features"):
        Transformer(6)(features()[:, :5], EDGES)
    with pytest.raises(ValueError, match="the encoder needs a graph, got None"):
        Transformer(6)(features())
    with pytest.raises(ValueError, match="Z4"):
        Config.checked(settings | {"head_spaces": "Q3,1 Z4"})
    with pytest.raises(ValueError, match="attention by the chord needs heads of flat factors and quadrics, got K4"):
        Config.checked(settings | {"head_spaces": "Q3,1 K4", "energy": "chord"})


@pytest.mark.parametrize(("task", "score", "least"), [("links", "roc_auc", 0.6), ("classification", "accuracy", 0.6)])
def test_it_trains_and_resumes_its_randomness(task, score, least):
    values = {"task": task, "data": "stochastic-block", "model": "transformer", "space": "Q6,2", "epochs": 60, "seeds": 1}
    values |= {"head_spaces": "Q3,1 Q2,2", "blend": False, "yardsticks": False}
    found = [Run.start(Config.checked(values), None).train()[score][0] for _ in range(2)]
    assert found[0] == found[1] > least
