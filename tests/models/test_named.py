"""Models by name."""

import pytest
import torch
import torch_geometric

from cases import generator
from qgcn import data, parse_space
from qgcn.models import MODELS, QGCN, QNN, EuclideanNetwork, TangentNetwork, build, default_space, find_model, lives_in
from qgcn.nn import ACTIVATIONS, Adjacency, SparseMatrix

EDGES = data.cycle(6)
EVERYWHERE = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "H2xS2", "Q2,2xE2")
SENSIBLE = {
    "qgcn": EVERYWHERE,
    "qnn": EVERYWHERE,
    "hgcn": ("H3",),
    "hnn": ("H3",),
    "kappa-gcn": ("H3", "S3", "K4", "E4", "H2xS2", "K2xE2"),
    "gcn": ("E4", "S3"),
    "gat": ("E4",),
    "sage": ("E4",),
    "sgc": ("E4",),
    "mlp": ("E4",),
}


def features(size=3):
    return torch.randn(6, size, generator=generator(0))


@pytest.mark.parametrize(("name", "space"), [(name, space) for name, spaces in SENSIBLE.items() for space in spaces])
def test_every_model_runs_forward_and_backward_in_its_spaces(name, space):
    torch.manual_seed(0)
    model = build(name, 3, space, dropout=0.2, feature_dropout=0.1)
    points = model(features(), EDGES)
    assert points.shape == (6, model.space.ambient_dim)
    assert str(model.space) == space
    model.space.assert_check_point_on_manifold(points, atol=1e-4, rtol=1e-4)
    u = model.eval().tangent(features(), EDGES)
    torch.testing.assert_close(model.space.expmap0(u), model(features(), EDGES))
    model.zero_grad()
    model(features(), EDGES).square().sum().backward()
    weights = [(key, value.grad) for key, value in model.named_parameters() if "weight" in key]
    assert weights
    assert all(gradient is not None and gradient.isfinite().all() for _, gradient in weights)
    assert any(gradient.abs().sum() > 0 for _, gradient in weights)


def test_every_name_is_tested():
    assert {*SENSIBLE, "shallow"} == set(MODELS)  # which has no features, and tests of its own


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_default_space_in_which_it_lives(name):
    model = build(name, 3)
    assert str(model.space) == default_space(name)
    assert isinstance(model, EuclideanNetwork) == default_space(name).startswith("E")
    able = find_model(name).capabilities(model.space, {})
    assert (able.graph == "none") == (name in ("qnn", "hnn", "mlp", "shallow"))


@pytest.mark.parametrize("name", ["qgcn", "hgcn", "kappa-gcn", "gcn", "gat", "sage", "sgc"])
def test_models_that_convolve_see_their_neighbours_and_the_others_do_not(name):
    torch.manual_seed(0)
    model = build(name, 3).eval()
    changed = features()
    changed[0] += 1
    difference = (model(changed, EDGES) - model(features(), EDGES)).abs().sum(1)
    assert (difference[[0, 1, 5]] > 0).all()
    assert (difference[3] == 0).all()  # three steps away, two layers


@pytest.mark.parametrize("name", ["qnn", "hnn", "mlp"])
def test_models_without_a_graph_look_at_each_node_alone(name):
    torch.manual_seed(0)
    model = build(name, 3).eval()
    changed = features()
    changed[0] += 1
    difference = (model(changed) - model(features())).abs().sum(1)
    assert difference[0] > 0
    assert (difference[1:] == 0).all()


@pytest.mark.parametrize(
    ("name", "space", "where"),
    [
        ("hgcn", "Q3,1", "a hyperbolic space such as H16"),
        ("hnn", "E3", "a hyperbolic space such as H16"),
        ("kappa-gcn", "Q2,2", "H, S, K, E or a product of them such as H8xS8"),
        ("kappa-gcn", "H2xQ2,2", "H, S, K, E or a product of them such as H8xS8"),
        ("gcn", "H3", "a Euclidean space or a sphere such as E16, S16"),
        ("gat", "S3", "a Euclidean space such as E16"),
        ("sage", "H3", "a Euclidean space such as E16"),
        ("sgc", "Q2,2", "a Euclidean space such as E16"),
        ("mlp", "K3", "a Euclidean space such as E16"),
    ],
)
def test_a_space_in_which_a_model_does_not_live_is_refused_with_where_it_does(name, space, where):
    with pytest.raises(ValueError, match=f"^{name} lives in {where}, got {space}$"):
        build(name, 3, space)
    with pytest.raises(ValueError, match=f"^{name} lives in"):
        build(name, 3, parse_space(space))


@pytest.mark.parametrize(
    ("wrong", "near"), [("qgnc", "qgcn"), ("hgcm", "hgcn"), ("graphsage", "sage"), ("kappa_gcn", "kappa-gcn")]
)
def test_an_unknown_name_is_refused_with_the_nearest(wrong, near):
    message = rf"no model '{wrong}'; did you mean '{near}'\? \(known: qgcn, qnn"
    for call in (lambda: build(wrong, 3), lambda: default_space(wrong)):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("name", ["gcn", "gat", "sage", "sgc", "mlp"])
@pytest.mark.parametrize("option", ["attention", "bias", "skip", "projection", "aggregation", "beta"])
def test_an_option_that_a_model_does_not_have_is_refused_with_those_it_has(name, option):
    known = "layers, hidden, activation, dropout, feature_dropout"
    with pytest.raises(ValueError, match=rf"^{name} has no option '{option}' \(known: {known}\)$"):
        build(name, 3, "E4", **{option: 1})


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


def test_gcn_over_a_sphere_is_the_tangent_network():
    model = build("gcn", 3, "S3", attention=True)
    assert isinstance(model, QGCN)


def test_options_reach_the_tangent_network():
    model = build("kappa-gcn", 3, layers=3, hidden="H3", dropout=0.25, bias=False, beta=-2.0)
    assert [str(layer.space) for layer in model.layers] == ["H3", "H3", "H8xS8"]
    assert [dropout.p for dropout in model.dropouts] == [0.0, 0.25, 0.25]
    torch.testing.assert_close(model.layers[0].space.beta.item(), -2.0)


def test_a_space_given_as_an_object_is_the_model_s_own():
    space = parse_space("Q2,2", beta=-3.0)
    assert build("qgcn", 3, space).space is space
    flat = parse_space("E4")
    assert build("gcn", 3, flat).space is flat


def test_qgcn_and_qnn_are_tangent_networks_with_and_without_a_graph():
    assert str(QGCN(3).space) == str(QNN(3).space) == "Q15,1"
    assert isinstance(QGCN(3, "Q2,2", layers=1), TangentNetwork)
    assert isinstance(QNN(3, "H3"), TangentNetwork)
    assert QNN(3, "H3", layers=3)(features()).shape == (6, 4)


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


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [("gcn", "S4", "H4"), ("hgcn", "H4", "Q2,2"), ("kappa-gcn", "H2xS2", "Q2,2"), ("gat", "E4", "S4")],
)
def test_lives_in_says_where_a_model_can_be_built(name, inside, outside):
    assert lives_in(name, inside)
    build(name, 3, inside)
    assert not lives_in(name, outside)
    with pytest.raises(ValueError, match="lives in"):
        build(name, 3, outside)
