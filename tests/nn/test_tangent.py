"""Tangential maps between layers."""

import pytest
import torch

from cases import generator
from qgcn import geometry, parse_space
from qgcn.nn import ACTIVATIONS, DoubleProjection, SparseMatrix, TangentActivation, tangent_mean
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q0,4", "H2xS2", "Q2,2xE2")
CLOSE = {torch.float32: {"rtol": 1e-4, "atol": 1e-4}, torch.float64: {"rtol": 1e-9, "atol": 1e-9}}


def points(space, dtype=torch.float64, n=8, std=0.4):
    return space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(0)).detach().as_subclass(torch.Tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", SPACES)
def test_an_activation_is_the_same_in_tangent_coordinates_and_stays_on_the_manifold(name, activation, dtype):
    space, outer = parse_space(name, beta=-1.2), parse_space(name, beta=-0.8)
    layer = TangentActivation(activation, space, outer)
    x = points(space, dtype)
    y = layer(x)
    outer.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    u = space.logmap0(x)
    torch.testing.assert_close(y, outer.expmap0(ACTIVATIONS[activation](u)), **CLOSE[dtype])
    torch.testing.assert_close(layer.from_tangent(u), outer.logmap0(y), **CLOSE[dtype])


def test_functions_have_the_values_of_their_names():
    u = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    expected = {
        "relu": [0.0, 0.0, 2.0],
        "tanh": [-0.7615941559557649, 0.0, 0.9640275800758169],
        "sigmoid": [0.2689414213699951, 0.5, 0.8807970779778823],
        "elu": [-0.6321205588285577, 0.0, 2.0],
        "leaky_relu": [-0.01, 0.0, 2.0],
        "identity": [-1.0, 0.0, 2.0],
    }
    assert set(ACTIVATIONS) == set(expected)
    for name, values in expected.items():
        torch.testing.assert_close(ACTIVATIONS[name](u), torch.tensor(values, dtype=torch.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_identity_between_two_curvatures_keeps_tangent_vectors_not_points(dtype):
    space, outer = parse_space("H3", beta=-1.0), parse_space("H3", beta=-4.0)
    x = points(space, dtype)
    y = TangentActivation("identity", space, outer)(x)
    torch.testing.assert_close(outer.logmap0(y), space.logmap0(x), **CLOSE[dtype])
    pole = outer.origin(8, 4, dtype=dtype).as_subclass(torch.Tensor)
    torch.testing.assert_close(outer.dist(pole, y), space.dist(pole / 2, x), **CLOSE[dtype])
    torch.testing.assert_close(TangentActivation("identity", space)(x), x, **CLOSE[dtype])


def test_an_activation_owns_no_curvature_but_passes_its_gradient():
    space, outer = (parse_space("Q2,2", learnable=True) for _ in range(2))
    layer = TangentActivation("tanh", space, outer)
    assert list(layer.parameters()) == []
    x = points(parse_space("Q2,2"))
    gradients = torch.autograd.grad(layer(x).square().sum(), [space.free_beta, outer.free_beta])
    assert all(gradient.isfinite() and gradient != 0 for gradient in gradients)
    assert repr(layer) == "TangentActivation(tanh, Q2,2 -> Q2,2)"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: TangentActivation("rleu", parse_space("E3")), "activation must be one of relu, .*, got 'rleu'"),
        (
            lambda: TangentActivation("relu", parse_space("E3"), parse_space("H3")),
            "keeps the number of coordinates, got E3 and H3",
        ),
        (lambda: DoubleProjection(parse_space("Q2,2"), -0.1), "perturbation must not be negative, got -0.1"),
        (lambda: DoubleProjection(parse_space("Q2,2"), float("nan")), "perturbation must not be negative, got nan"),
        (lambda: DoubleProjection(parse_space("Q2,2"))(torch.ones(3, 5)), r"4 coordinates in Q2,2, got shape \(3, 5\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


# --- double projection ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("s", "t"), [(3, 1), (2, 2), (1, 3), (0, 4)])
def test_double_projection_is_both_projections_one_after_the_other(s, t, dtype):
    """Algorithm 1: onto sphere times flat space, and from there onto the manifold."""
    space = parse_space(f"Q{s},{t}", beta=-2.0)
    x = torch.randn(6, s + t, dtype=dtype, generator=generator(0))
    form = {"beta": -2.0, "time_dim": t}
    y = DoubleProjection(space)(x)
    torch.testing.assert_close(y, geometry.sphere_inverse(geometry.sphere_projection(x, **form), **form))
    space.assert_check_point_on_manifold(y, atol=1e-5, rtol=1e-5)
    assert torch.equal(y[:, t:], x[:, t:])
    torch.testing.assert_close(DoubleProjection(space)(y), y)


def test_double_projection_by_hand():
    y = DoubleProjection(parse_space("Q1,2", beta=-4.0))(torch.tensor([[3.0, 4.0, 1.5]]))
    torch.testing.assert_close(y, torch.tensor([[1.5, 2.0, 1.5]]))  # time of length sqrt(4 + 2.25)


def test_double_projection_takes_sparse_features_and_features_without_time():
    layer = DoubleProjection(parse_space("Q2,2"))
    x = torch.tensor([[0.0, 0.0, 1.0, 0.0], [2.0, 0.0, 0.0, 3.0]])
    y = layer(x)
    assert y.isfinite().all()
    torch.testing.assert_close(layer(SparseMatrix.of(x)), y)
    torch.testing.assert_close(layer(x.to_sparse()), y)


def test_double_projection_perturbs_features_once():
    torch.manual_seed(0)
    layer, other = (DoubleProjection(parse_space("Q2,2"), perturbation=0.02) for _ in range(2))
    x = torch.randn(50, 4, generator=generator(0))
    given = x.clone()
    noise = (layer.train()(x) - DoubleProjection(parse_space("Q2,2"))(x))[:, 2:]
    assert torch.equal(x, given)
    assert 0.015 < noise.abs().max() < 0.02 + 1e-6
    assert abs(noise.mean().item()) < 4 * 0.02 / (3 * 100) ** 0.5
    first = layer(x)
    assert torch.equal(layer(x), first)
    assert torch.equal(layer.eval()(x), first)
    assert layer(x[:7]).shape == (7, 4)
    torch.testing.assert_close(layer(x.double()).float(), first)
    assert not torch.equal(other(x), first)
    torch.manual_seed(0)
    assert torch.equal(DoubleProjection(parse_space("Q2,2"), perturbation=0.02)(x), first)


# --- skip connection -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_tangent_mean_is_the_mean_value_and_gradient(dtype):
    u, v, w = (torch.randn(4, 3, dtype=dtype, generator=generator(seed), requires_grad=True) for seed in range(3))
    mean = tangent_mean([u, v, w])
    torch.testing.assert_close(mean, (u + v + w) / 3)
    for gradient in torch.autograd.grad(mean.sum(), (u, v, w)):
        torch.testing.assert_close(gradient, torch.full_like(gradient, 1 / 3))
    torch.testing.assert_close(tangent_mean((u,)), u)
