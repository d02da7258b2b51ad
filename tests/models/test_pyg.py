"""The networks of PyTorch Geometric."""

import pytest
import torch
import torch_geometric

from cases import generator
from qgcn import data
from qgcn.models import EuclideanNetwork, build, find_model
from qgcn.nn import ACTIVATIONS, Adjacency, SparseMatrix

EDGES = data.cycle(6)


def features(size=3):
    return torch.randn(6, size, generator=generator(0))


def test_the_networks_of_pyg_are_pygs_own():
    kinds = {"gcn": "GCN", "gat": "GAT", "sage": "GraphSAGE", "mlp": "MLP", "sgc": "SGConv"}
    for kind, theirs in kinds.items():
        assert isinstance(build(kind, 3, "E4").network, getattr(torch_geometric.nn, theirs))
    model = build("gcn", 3, "E4", layers=3, hidden="E7", activation="tanh").eval()
    assert [tuple(conv.lin.weight.shape) for conv in model.network.convs] == [(7, 3), (7, 7), (4, 7)]
    theirs = torch_geometric.nn.GCN(3, 7, 3, 4, act="tanh")
    theirs.load_state_dict(model.network.state_dict())
    torch.testing.assert_close(model(features(), EDGES), theirs(features(), EDGES))
    torch.testing.assert_close(model(features(), Adjacency.of(EDGES, 6)), theirs(features(), EDGES))
    assert build("sgc", 3, "E4", layers=3).network.K == 3
    assert "3 -> E4" in repr(model)


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_gcn_takes_every_aggregation_as_edges_and_as_a_matrix(aggregation):
    model = build("gcn", 3, "E4", layers=1, aggregation=aggregation).eval()
    x, star = features(), torch.tensor([[1, 2, 3, 0, 0, 0], [0, 0, 0, 1, 2, 3]])
    matrix = Adjacency.of(star, 6, aggregation=aggregation)
    torch.testing.assert_close(model(x, star), model(x, matrix))
    conv = model.network.convs[0]
    torch.testing.assert_close(model(x, star), matrix.to_dense() @ (x @ conv.lin.weight.t()) + conv.bias)


def test_the_other_networks_have_no_aggregation_to_choose():
    with pytest.raises(ValueError, match="sage has no option 'aggregation'"):
        build("sage", 3, "E4", aggregation="mean")
    with pytest.raises(ValueError, match="aggregation is for gcn, got 'mean' with sage"):
        EuclideanNetwork(3, "E4", kind="sage", aggregation="mean")


@pytest.mark.parametrize("kind", ["gcn", "gat", "sage", "mlp", "sgc"])
def test_layers_hidden_sizes_and_every_activation_are_understood(kind):
    for activation in ACTIVATIONS:
        for layers in (1, 3):
            model = build(kind, 3, "E4", layers=layers, hidden="E6", activation=activation)
            assert model(features(), EDGES).shape == (6, 4)


@pytest.mark.parametrize("kind", ["gcn", "gat"])
def test_sparse_features_give_what_dense_ones_give(kind):
    torch.manual_seed(0)
    x = features(5).relu()
    model = build(kind, 5, "E4", feature_dropout=0.5).eval()
    assert find_model(kind).capabilities(model.space, {}).sparse_features
    torch.testing.assert_close(model(SparseMatrix.of(x), EDGES), model(x, EDGES))
    kept = model.train().tangent(SparseMatrix.of(x), EDGES)
    kept.sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())
    assert not torch.equal(kept, model.train()(SparseMatrix.of(x), EDGES))
    assert not find_model("sage").capabilities(model.space, {}).sparse_features


def test_feature_dropout_of_pygs_networks_acts_in_training_only():
    torch.manual_seed(0)
    model = build("mlp", 3, "E4", feature_dropout=0.5)
    assert not torch.equal(model.train()(features()), model.train()(features()))
    assert torch.equal(model.eval()(features()), model.eval()(features()))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: EuclideanNetwork(3, "E4", kind="gin"), "kind must be one of gcn, gat, sage, mlp, sgc, got 'gin'"),
        (lambda: EuclideanNetwork(3, "H4", kind="gcn"), "gcn lives in a Euclidean space such as E16, got H4"),
        (lambda: EuclideanNetwork(3, "E4", kind="gcn", hidden="H4"), "gcn lives in a Euclidean space such as E16, got H4"),
        (lambda: EuclideanNetwork(3, "E4", kind="gcn", layers=0), "layers must be at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_a_graph_that_the_network_cannot_take_is_refused():
    restricted = Adjacency.of(EDGES, 6).seen_from(torch.tensor([0]), 1)
    with pytest.raises(ValueError, match="a restricted graph is for tangent-space networks, got gat"):
        EuclideanNetwork(3, "E4", kind="gat")(features(), restricted)
    with pytest.raises(ValueError, match="a convolution needs edge_index, got None"):
        EuclideanNetwork(3, "E4", kind="sage")(features())
    with pytest.raises(ValueError, match="gat lives in a Euclidean space such as E16, got H4"):
        EuclideanNetwork.check(build("gat", 3, "E4").space, {"kind": "gat", "hidden": "H4"})


def test_capabilities_say_what_a_kind_reads():
    space = build("gcn", 3, "E4").space
    able = {kind: EuclideanNetwork.capabilities(space, {"kind": kind}) for kind in EuclideanNetwork.KINDS}
    assert {kind: each.graph for kind, each in able.items()} == {
        "gcn": "matrix",
        "gat": "edges",
        "sage": "edges",
        "mlp": "none",
        "sgc": "edges",
    }
    assert not any(each.batchable or each.keyed for each in able.values())
    assert all(each.classifies for each in able.values())
