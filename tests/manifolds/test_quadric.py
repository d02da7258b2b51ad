import math

import geoopt
import numpy as np
import pytest
import torch

import qgcn
from cases import awkward_pairs, generator
from qgcn import PseudoHyperboloid, geometry


def test_the_names_others_rely_on_are_there():
    manifold = qgcn.PseudoHyperboloid(space_dim=7, time_dim=3, beta=-1.0, learnable=False)
    assert isinstance(manifold, geoopt.Manifold)
    assert str(manifold) == "Q7,3"
    assert repr(manifold) == "Q7,3(beta=-1, learnable=False)"
    assert manifold.beta == -1
    assert (manifold.dim, manifold.ambient_dim) == (9, 10)
    names = "inner projx proju expmap logmap transp dist retr egrad2rgrad origin random"
    ours = "expmap0 logmap0 translate is_connected pairwise_dist beta"
    for name in f"{names} {ours}".split():
        assert hasattr(manifold, name)


def test_methods_call_the_geometry_with_the_manifolds_beta():
    manifold = PseudoHyperboloid(3, 2, beta=-0.3)
    form = {"beta": -0.3, "time_dim": 2}
    x, y = awkward_pairs(60, 3, 2, -0.3, torch.float64)
    x, y = x[:60], y[:60]
    b = torch.tensor([0.0, 0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    torch.testing.assert_close(manifold.dist(x, y), geometry.dist(x, y, **form))
    torch.testing.assert_close(manifold.pairwise_dist(x, y), geometry.pairwise_dist(x, y, **form))
    torch.testing.assert_close(manifold.logmap0(x), geometry.logmap0(x, **form))
    assert (manifold.is_connected(x, y) == geometry.is_connected(x, y, **form)).all()
    expected = geometry.translate(x, b, **form)
    torch.testing.assert_close(manifold.translate(x, b), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("beta", [-0.01, -1.0, -50.0])
def test_learnable_beta_is_stored_free_and_stays_negative_under_any_step(beta):
    manifold = PseudoHyperboloid(2, 2, beta=beta, learnable=True)
    assert manifold.beta.item() == pytest.approx(beta, rel=1e-12)
    assert [name for name, _ in manifold.named_parameters()] == ["free_beta"]
    for step in (1e30, -1e30):
        with torch.no_grad():
            manifold.free_beta.fill_(step)
        assert -1.1e6 < manifold.beta.item() < 0


def test_fixed_beta_is_exact_in_float64_and_no_parameter():
    manifold = PseudoHyperboloid(2, 2, beta=-0.1)
    assert manifold.beta.item() == -0.1
    assert list(manifold.parameters()) == []
    x = manifold.random(10, 4, dtype=torch.float64)
    torch.testing.assert_close(
        geometry.inner(x, x, time_dim=2), torch.full((10,), -0.1, dtype=torch.float64), rtol=1e-13, atol=0
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"space_dim": 3, "time_dim": 0}, ValueError, "time_dim must be at least 1, got 0"),
        ({"space_dim": -1, "time_dim": 2}, ValueError, "space_dim must be at least 0, got -1"),
        ({"space_dim": 2.0, "time_dim": 2}, TypeError, "space_dim must be an int, got float"),
        ({"space_dim": 2, "time_dim": True}, TypeError, "time_dim must be an int, got bool"),
        ({"space_dim": 2, "time_dim": 2, "beta": 0.0}, ValueError, "beta must be negative and finite, got 0.0"),
        ({"space_dim": 2, "time_dim": 2, "beta": 1.0}, ValueError, "beta must be negative and finite, got 1.0"),
        ({"space_dim": 2, "time_dim": 2, "beta": math.nan}, ValueError, "beta must be negative and finite, got nan"),
        ({"space_dim": 2, "time_dim": 2, "beta": "x"}, TypeError, "beta must be a number, got str"),
        ({"space_dim": 2, "time_dim": 2, "beta": -1e9, "learnable": True}, ValueError, "learnable beta must lie in"),
    ],
)
def test_impossible_manifolds_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        PseudoHyperboloid(**arguments)


def test_state_passes_between_learnable_and_fixed_manifolds():
    learnable = PseudoHyperboloid(2, 2, beta=-3.0, learnable=True)
    fixed = PseudoHyperboloid(2, 2)
    fixed.load_state_dict(learnable.state_dict())
    assert fixed.beta.item() == pytest.approx(-3.0, rel=1e-12)
    again = PseudoHyperboloid(2, 2, learnable=True)
    again.load_state_dict(fixed.state_dict())
    assert again.beta.item() == pytest.approx(-3.0, rel=1e-12)
    for kind in (learnable, fixed):
        alike = PseudoHyperboloid(2, 2, learnable=kind.learnable)
        alike.load_state_dict(kind.state_dict())
        assert alike.beta == kind.beta


def test_sizes_and_beta_may_be_numpy_numbers_and_scalar_tensors():
    manifold = PseudoHyperboloid(np.int64(3), np.int32(2), beta=np.float64(-0.5))
    assert str(manifold) == "Q3,2"
    assert manifold.beta == -0.5 == PseudoHyperboloid(3, 2, beta=torch.tensor(-0.5)).beta


def test_pairwise_dist_is_exact_under_autocast():
    manifold = PseudoHyperboloid(2, 2)
    x = manifold.random(20, 4, generator=generator(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        reduced = manifold.pairwise_dist(x)
    torch.testing.assert_close(reduced, manifold.pairwise_dist(x))


def test_check_point_and_vector_tell_what_is_off():
    manifold = PseudoHyperboloid(3, 2)
    x = manifold.random(5, 5)
    ok, reason = manifold.check_point_on_manifold(1.1 * x, explain=True)
    assert not ok
    assert "<x, x> is not -1" in reason
    ok, reason = manifold.check_vector_on_tangent(x, x.as_subclass(torch.Tensor), explain=True)
    assert not ok
    assert "<x, u> is not 0" in reason
    pole, tangent = torch.eye(5)[0], torch.eye(5)[1]
    for more in ((), (3,), (2, 3)):  # of one vector, and of many
        assert manifold.check_vector_on_tangent(pole.expand(*more, 5), tangent.expand(*more, 5))
        assert not manifold.check_vector_on_tangent(pole.expand(*more, 5), (tangent + 1e-3 * pole).expand(*more, 5))
    with pytest.raises(ValueError, match=r"x must have 5 coordinates in Q3,2, got shape \(2, 4\)"):
        geoopt.ManifoldParameter(torch.zeros(2, 4), manifold=manifold)


def test_member_of_a_geoopt_product_with_geoopts_own_manifolds():
    product = geoopt.ProductManifold((PseudoHyperboloid(3, 2), 5), (geoopt.Lorentz(), 4), (geoopt.Euclidean(1), 2))
    parts = [(PseudoHyperboloid(3, 2).random(6, 5), geoopt.Lorentz().random_normal(6, 4)) for _ in range(2)]
    x, y = (product.pack_point(*part, torch.randn(6, 2)) for part in parts)
    product.assert_check_point_on_manifold(x)
    parameter = geoopt.ManifoldParameter(x, manifold=product)
    before = product.dist2(parameter, y).sum()
    before.backward()
    optimiser = geoopt.optim.RiemannianAdam([parameter], lr=1e-3)
    optimiser.step()
    assert product.dist2(parameter, y).sum() < before
    product.assert_check_point_on_manifold(parameter, atol=1e-4, rtol=1e-4)


def test_naive_gradient_climbs_where_the_manifolds_direction_descends():
    manifold = PseudoHyperboloid(0, 3)
    x = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64)
    loss = (x - target).square().sum()
    (gradient,) = torch.autograd.grad(loss, x)
    naive = manifold.proju(x, geometry.flip_time(gradient, time_dim=3))
    ours = manifold.egrad2rgrad(x, gradient)
    for direction, better in ((naive, False), (ours, True)):
        after = (manifold.retr(x, -0.1 * direction) - target).square().sum()
        assert bool(after < loss) is better


def test_the_pole_is_carried_to_a_mean_and_back_by_an_isometry():
    manifold = PseudoHyperboloid(3, 2, beta=-0.3).double()
    mean, x = (manifold.random(50, 5, dtype=torch.float64, generator=generator(seed)) for seed in (1, 2))
    assert 0 < manifold.is_connected(manifold.origin(50, 5, dtype=torch.float64), mean).sum() < 50
    carried = manifold._carry(mean, x, back=False)
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(manifold._carry(mean, carried, back=True), x, **close)
    torch.testing.assert_close(manifold._carry(mean, manifold._origin(x).expand_as(x), back=False), mean, **close)
    first = manifold._carry(mean[:1], x, back=False)
    torch.testing.assert_close(geometry.inner(first, first[:1], time_dim=2), geometry.inner(x, x[:1], time_dim=2), **close)


@pytest.mark.parametrize("curvature", [-4.0, -1.0, -0.25])
def test_a_space_of_another_curvature_has_that_curvature(curvature):
    made = PseudoHyperboloid(3, 2).with_curvatures([curvature])
    assert made.curvatures == (curvature,)
    assert made.beta == 1 / curvature
