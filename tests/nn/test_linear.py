"""The linear layer: the same through points and through tangent coordinates, and by hand."""

import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.nn import QLinear, SparseMatrix
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q1,3", "Q0,4", "H2xS2", "Q2,2xE2")
CLOSE = {torch.float32: {"rtol": 1e-4, "atol": 1e-4}, torch.float64: {"rtol": 1e-9, "atol": 1e-9}}


def layer_of(in_space, space, dtype=torch.float64, bias=True, seed=0, size=0.3):
    """Return a layer whose bias is not zero."""
    torch.manual_seed(seed)
    layer = QLinear(in_space, space, bias=bias).to(dtype)
    if bias:
        torch.nn.init.normal_(layer.bias, std=size)
    return layer


def points(space, dtype, n=6, std=0.4):
    return space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(0)).detach().as_subclass(torch.Tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", SPACES)
def test_forward_equals_the_formula_through_points_and_the_path_through_tangent_vectors(name, bias, dtype):
    in_space, space = parse_space("Q3,2", beta=-0.8), parse_space(name, beta=-1.5)
    layer = layer_of(in_space, space, dtype, bias)
    x = points(in_space, dtype)
    y = layer(x)
    space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    by_formula = space.expmap0(in_space.logmap0(x) @ layer.weight)
    by_formula = space.translate(by_formula, layer.bias) if bias else by_formula
    torch.testing.assert_close(y, by_formula, **CLOSE[dtype])
    u = in_space.logmap0(x)
    torch.testing.assert_close(y, space.expmap0(layer.from_tangent(u)), rtol=0, atol=0)
    torch.testing.assert_close(layer.from_tangent(u), space.logmap0(by_formula), **CLOSE[dtype])


@pytest.mark.parametrize("name", SPACES)
def test_layers_follow_each_other_without_forming_points(name):
    first = layer_of(5, parse_space(name, beta=-0.7))
    second = layer_of(first.space, parse_space(name, beta=-1.3), seed=1)
    features = torch.randn(6, 5, dtype=torch.float64, generator=generator(1))
    torch.testing.assert_close(second(first(features)), second.space.expmap0(second.from_tangent(first.from_tangent(features))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_flat_space_it_is_a_linear_layer(dtype):
    layer = layer_of(3, parse_space("E2"), dtype)
    x = torch.randn(4, 3, dtype=dtype, generator=generator(0))
    torch.testing.assert_close(layer(x), x @ layer.weight + layer.bias)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]))
        layer.bias.copy_(torch.tensor([10.0, 20.0]))
    torch.testing.assert_close(layer(torch.tensor([[1.0, 2.0, 3.0]], dtype=dtype)), torch.tensor([[20.0, 21.5]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_one_time_dimension_and_without_bias_it_is_euclidean_in_space(dtype):
    layer = layer_of(3, parse_space("Q4,1", beta=-2.0), dtype, bias=False)
    x = torch.randn(4, 3, dtype=dtype, generator=generator(0))
    expected = (x @ layer.weight)[:, 1:]
    torch.testing.assert_close(layer(x)[:, 1:], expected)
    torch.testing.assert_close(layer(x)[:, 0], (2 + expected.square().sum(-1)).sqrt())


def test_a_bias_of_hyperbolic_space_by_hand():
    """Along one axis translations add rapidities."""
    layer = layer_of(1, parse_space("H1", beta=-4.0))
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.0, 1.0]]))
        layer.bias.copy_(torch.tensor([5.0, 0.6]))  # the first coordinate is not read
    y = layer(torch.tensor([[1.0], [-3.0]], dtype=torch.float64))
    expected = [[2 * math.cosh(r), 2 * math.sinh(r)] for r in (0.8, -1.2)]
    torch.testing.assert_close(y, torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_bias_reaches_points_that_no_geodesic_joins_to_the_pole(dtype):
    space = parse_space("Q2,2")
    layer = layer_of(4, space, dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(4))
    features = torch.tensor([[0.0, 3.0, 2.0, 0.0], [0.0, math.pi, 0.5, 1.0], [0.0, -2.9, 3.0, 0.1]], dtype=dtype)
    x = space.expmap0(features)
    pole = space.origin(3, 4, dtype=dtype).as_subclass(torch.Tensor)
    assert not space.is_connected(pole, x).any()
    y = layer(features)
    b = torch.cat((torch.zeros(1, dtype=dtype), layer.bias.detach()[1:])).expand(3, 4)
    around = -space.expmap(-x, space.transp0(-x, b))
    torch.testing.assert_close(y, around, **CLOSE[dtype])
    gradients = torch.autograd.grad(y.square().sum(), list(layer.parameters()))
    assert all(gradient.isfinite().all() and gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize("name", SPACES)
def test_gradients_in_weight_bias_and_curvature_pass_gradcheck(name):
    space = parse_space(name, beta=-1.2, learnable="K" not in name)
    layer = layer_of(3, space)
    x = 0.5 * torch.randn(3, 3, dtype=torch.float64, generator=generator(0))
    names = [key for key, value in layer.named_parameters() if value.requires_grad]
    leaves = [dict(layer.named_parameters())[key].detach().clone().requires_grad_() for key in names]

    def function(*values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(function, leaves, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["E4", "Q2,2"])
def test_sparse_features_give_what_dense_ones_give(name, dtype):
    layer = layer_of(5, parse_space(name), dtype)
    x = torch.randn(7, 5, dtype=dtype, generator=generator(0)).relu()
    sparse = SparseMatrix.of(x)
    torch.testing.assert_close(layer(sparse), layer(x))
    found, expected = (torch.autograd.grad(layer(each).square().sum(), layer.weight) for each in (sparse, x))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(layer.from_tangent(sparse.with_values(2 * sparse.values)), layer.from_tangent(2 * x))


def test_the_layer_owns_its_space_and_that_of_its_inputs_unless_another_does():
    in_space, space = parse_space("H3", learnable=True), parse_space("Q2,2", learnable=True)
    layer = QLinear(in_space, space)
    assert layer.in_space is in_space
    own = {"weight", "bias", "space.free_beta"}
    assert {name for name, _ in layer.named_parameters()} == own | {"in_space.free_beta"} == set(layer.state_dict())
    lent = QLinear(in_space, space, own_in_space=False)
    assert lent.in_space is in_space
    assert {name for name, _ in lent.named_parameters()} == own == set(lent.state_dict())
    assert set(QLinear(space, space).state_dict()) == own
    assert QLinear(3, space).in_space is None


def test_a_standalone_layer_learns_the_curvature_of_its_inputs():
    layer = QLinear(parse_space("Q2,2", learnable=True), parse_space("E3"))
    x = layer.in_space.expmap0(torch.randn(4, 4, generator=generator(0))).detach()
    layer(x).square().sum().backward()
    assert layer.in_space.free_beta.grad.abs() > 0


# --- lazy: as many features as the first input has ---------------------------------------------------------------------------


def test_a_lazy_layer_takes_the_size_of_its_first_input():
    torch.manual_seed(0)
    layer = QLinear(-1, "Q2,2")
    assert layer.source == -1
    assert "-1 -> Q2,2" in repr(layer)
    layer.reset_parameters()
    y = layer(torch.randn(3, 6, generator=generator(0)))
    assert y.shape == (3, 4)
    assert layer.weight.shape == (6, 4)
    assert type(layer.weight) is torch.nn.Parameter
    assert layer.source == 6


def test_a_lazy_layer_is_saved_and_loaded_before_and_after_its_size_is_known():
    lazy, known = QLinear(-1, "Q2,2"), QLinear(5, "Q2,2")
    assert torch.nn.parameter.is_lazy(lazy.state_dict()["weight"])
    assert [name for name, _ in lazy.named_parameters()] == ["weight", "bias"]
    lazy.load_state_dict(known.state_dict())
    torch.testing.assert_close(lazy.weight, known.weight)


def test_names_of_spaces_are_read():
    layer = QLinear("H3", "Q7,3")
    assert (str(layer.in_space), str(layer.space), layer.weight.shape) == ("H3", "Q7,3", (4, 10))


@pytest.mark.parametrize("size", [0, -2])
def test_impossible_numbers_of_features_are_refused(size):
    with pytest.raises(ValueError, match=f"at least 1 feature, or -1 for as many as there are, got {size}"):
        QLinear(size, "Q2,2")


def test_one_feature_is_enough():
    assert QLinear(1, "Q2,2").weight.shape == (1, 4)


# --- half precision, and nothing at all --------------------------------------------------------------------------------------


def test_under_autocast_the_geometry_stays_in_float32():
    layer = QLinear(parse_space("Q2,2"), parse_space("Q3,1"))
    x = layer.in_space.expmap0(torch.randn(6, 4, generator=generator(0)))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
        again = layer(x.bfloat16())
    assert y.dtype == again.dtype == torch.float32
    layer.space.assert_check_point_on_manifold(y)
    torch.testing.assert_close(y, layer(x), rtol=0.05, atol=0.05)
    y.sum().backward()
    assert layer.weight.grad.isfinite().all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bias", [False, True])
def test_no_points_give_no_points(bias, dtype):
    layer = QLinear(3, "Q2,2", bias=bias).to(dtype)
    y = layer(torch.zeros(0, 3, dtype=dtype))
    assert y.shape == (0, 4)
    y.sum().backward()
    assert (layer.weight.grad == 0).all()


def test_a_fresh_bias_translates_nothing_and_weights_are_drawn_as_glorot_does():
    layer = QLinear(300, parse_space("Q100,1"))
    assert (layer.bias == 0).all()
    bound = math.sqrt(6 / (300 + 101))
    assert layer.weight.abs().max() <= bound
    assert abs(layer.weight.std().item() / (bound / math.sqrt(3)) - 1) < 0.02
    before = layer.weight.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.weight, before)


def test_repr_says_the_spaces():
    assert (
        repr(QLinear(7, parse_space("Q2,2")))
        == "QLinear(\n  7 -> Q2,2, bias=True\n  (space): " + repr(parse_space("Q2,2")).replace("\n", "\n  ") + "\n)"
    )
    assert "H3 -> Q2,2, bias=False" in repr(QLinear(parse_space("H3"), parse_space("Q2,2"), bias=False))


def test_points_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"4 coordinates in H3, got shape \(2, 5\)"):
        QLinear(parse_space("H3"), parse_space("Q2,2"))(torch.ones(2, 5))


@pytest.mark.parametrize("space", ["H2", "H2xE2"])
def test_a_layer_in_hyperbolic_space_goes_on_where_points_cannot_be_represented(space):
    layer = QLinear(3, space)
    with torch.no_grad():
        layer.bias.fill_(0.5)
    x = (1e3 * torch.randn(20, 3, generator=generator(0))).requires_grad_()
    u = layer.from_tangent(x)
    assert u.norm(dim=-1).max() > 88  # whose exponential float32 cannot hold
    u.square().mean().backward()
    assert all(torch.isfinite(each).all() for each in (u, x.grad, layer.weight.grad, layer.bias.grad))
