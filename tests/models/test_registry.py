"""Names of models: where they live, what they are built with, what is refused."""

import pytest
import torch

from qgcn import parse_space
from qgcn.models import (
    MODELS,
    Capabilities,
    Encoder,
    Model,
    Options,
    build,
    default_space,
    find_model,
    lives_in,
    register_model,
)


class LengthOptions(Options):
    length: float = 1.0


class Constant(Encoder):
    """The same tangent vector for every node, of a given length."""

    options_type = LengthOptions

    def __init__(self, in_features, space, length=1.0, sign=1):
        super().__init__()
        self.space = parse_space(space) if isinstance(space, str) else space
        self.value = sign * length

    @classmethod
    def capabilities(cls, space, options):
        return Capabilities(graph="none", batchable=options.get("sign") == -1)

    @classmethod
    def check(cls, space, options):
        if options.get("length", 0) < 0:
            raise ValueError("length must not be negative")

    def tangent(self, x, graph):
        u = torch.zeros(len(x), self.space.ambient_dim)
        u[:, -1] = self.value
        return u


@pytest.fixture
def registered(monkeypatch):
    for name in ("constant", "backward"):
        monkeypatch.setitem(MODELS, name, ())
    register_model(Model("constant", Constant, "E2", lambda space: space.kind == "E", "the plane"))
    register_model(Model("constant", Constant, "S2", lambda space: space.kind == "S", "a sphere", fixed={"sign": -1}))


def test_of_several_models_of_a_name_the_first_that_lives_in_a_space_is_taken(registered):
    first, second = MODELS["constant"]
    assert find_model("constant") is find_model("constant", "E5") is first
    assert find_model("constant", parse_space("S4")) is second
    assert default_space("constant") == "E2"
    assert lives_in("constant", "S3")
    assert not lives_in("constant", "H3")
    with pytest.raises(ValueError, match=r"^constant lives in the plane or a sphere, got H3$"):
        find_model("constant", "H3")


def test_options_and_what_belongs_to_the_name_reach_the_encoder(registered):
    x = torch.zeros(4, 1)
    assert build("constant", 1).tangent(x, None)[:, -1].tolist() == [1.0] * 4
    assert build("constant", 1, "E3", length=2.5).tangent(x, None)[:, -1].tolist() == [2.5] * 4
    assert build("constant", 1, "S3", length=2.5).tangent(x, None)[:, -1].tolist() == [-2.5] * 4
    first, second = MODELS["constant"]
    assert first.option_names() == ["length"]
    space = parse_space("S3")
    assert [model.capabilities(space, {}).batchable for model in (first, second)] == [False, True]
    with pytest.raises(ValueError, match="length must not be negative"):
        second.check(space, {"length": -1.0})
    with pytest.raises(ValueError, match=r"^constant has no option 'size' \(known: length\)$"):
        build("constant", 1, size=3)


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
    if name == "gcn":
        known, option = f"{known}, aggregation", option.replace("aggregation", "aggregate")
    with pytest.raises(ValueError, match=rf"^{name} has no option '{option}' \(known: {known}\)$"):
        build(name, 3, "E4", **{option: 1})


def test_a_space_given_as_an_object_is_the_model_s_own():
    space = parse_space("Q2,2", beta=-3.0)
    assert build("qgcn", 3, space).space is space
    flat = parse_space("E4")
    assert build("gcn", 3, flat).space is flat


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
