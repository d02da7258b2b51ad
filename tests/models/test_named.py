"""Models by name."""

import pytest
import torch

from cases import generator
from qgcn import data
from qgcn.models import MODELS, QGCN, QNN, EuclideanNetwork, TangentNetwork, build, default_space, find_model

EDGES = data.cycle(6)
EVERYWHERE = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "H2xS2", "Q2,2xE2")
SENSIBLE = {
    "qgcn": EVERYWHERE,
    "qnn": EVERYWHERE,
    "qgat": EVERYWHERE,
    "deep": EVERYWHERE,
    "transformer": EVERYWHERE,
    "hgcn": ("H3",),
    "hnn": ("H3",),
    "propagation": ("E4", "H3", "Q2,2", "H2xS2"),
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
    own = {name for name, models in MODELS.items() if models[0].encoder.__module__.startswith("qgcn.")}
    assert {*SENSIBLE, "shallow"} == own  # shallow has no features, and tests of its own


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_default_space_in_which_it_lives(name):
    model = build(name, 3)
    assert str(model.space) == default_space(name)
    assert isinstance(model, EuclideanNetwork) == default_space(name).startswith("E")
    able = find_model(name).capabilities(model.space, {})
    assert (able.graph == "none") == (name in ("qnn", "hnn", "mlp", "shallow"))


@pytest.mark.parametrize("name", ["qgcn", "qgat", "hgcn", "kappa-gcn", "gcn", "gat", "sage", "sgc"])
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


def test_gcn_over_a_sphere_is_the_tangent_network():
    model = build("gcn", 3, "S3", attention=True)
    assert isinstance(model, QGCN)


def test_options_reach_the_tangent_network():
    model = build("kappa-gcn", 3, layers=3, hidden="H3", dropout=0.25, bias=False, beta=-2.0)
    assert [str(layer.space) for layer in model.layers] == ["H3", "H3", "H8xS8"]
    assert [dropout.p for dropout in model.dropouts] == [0.0, 0.25, 0.25]
    torch.testing.assert_close(model.layers[0].space.beta.item(), -2.0)


def test_qgcn_and_qnn_are_tangent_networks_with_and_without_a_graph():
    assert str(QGCN(3).space) == str(QNN(3).space) == "Q15,1"
    assert isinstance(QGCN(3, "Q2,2", layers=1), TangentNetwork)
    assert isinstance(QNN(3, "H3"), TangentNetwork)
    assert QNN(3, "H3", layers=3)(features()).shape == (6, 4)
