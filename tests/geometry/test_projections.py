import pytest
import torch

from cases import BETAS, SIGNATURES, generator, tangent
from oracle import project, vectors, worst_error
from qgcn import geometry
from tolerance import DTYPES, ROUNDING


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_project_lands_on_the_manifold_and_keeps_its_points(s, t, beta, dtype):
    raw = 3 * torch.randn(50, s + t, dtype=dtype, generator=generator(0))
    x = geometry.project(raw, beta=beta, time_dim=t)
    slack = 10 * ROUNDING[dtype] * (x * x).sum(-1)
    assert ((geometry.inner(x, x, time_dim=t) - beta).abs() <= slack).all()
    torch.testing.assert_close(geometry.project(x, beta=beta, time_dim=t), x, rtol=10 * ROUNDING[dtype], atol=0)
    assert worst_error(x, [project(row, -beta, t) for row in vectors(raw)]) < 10 * ROUNDING[dtype]


def test_project_hand_computed_value():
    x = torch.tensor([3.0, 4.0, 2.0, 2.0])
    torch.testing.assert_close(geometry.project(x, beta=-1.0, time_dim=2), torch.tensor([1.8, 2.4, 2.0, 2.0]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_project_takes_the_first_axis_for_a_zero_time_part_with_finite_gradient(dtype):
    x = torch.zeros(1, 4, dtype=dtype, requires_grad=True)
    point = geometry.project(x, beta=-4.0, time_dim=2)
    assert point.tolist() == [[2.0, 0.0, 0.0, 0.0]]
    (gradient,) = torch.autograd.grad(point.sum(), x)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_project_tangent_is_tangent_idempotent_and_kills_the_normal(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    x = geometry.sample((50, s + t), dtype=dtype, generator=generator(0), **form)
    w = torch.randn(50, s + t, dtype=dtype, generator=generator(1))
    u = geometry.project_tangent(x, w, **form)
    stretch = (x * x).sum(-1) / -beta
    slack = 20 * ROUNDING[dtype] * stretch * w.norm(dim=-1)
    assert (geometry.inner(x, u, time_dim=t).abs() <= slack * x.norm(dim=-1)).all()
    assert ((geometry.project_tangent(x, u, **form) - u).norm(dim=-1) <= slack * stretch).all()
    normal = geometry.project_tangent(x, x, **form)
    assert (normal.norm(dim=-1) <= 20 * ROUNDING[dtype] * stretch * x.norm(dim=-1)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_sphere_projection_and_its_inverse_undo_each_other(s, t, beta, dtype):
    form = {"beta": beta, "time_dim": t}
    x = geometry.sample((50, s + t), dtype=dtype, generator=generator(0), **form)
    z = geometry.sphere_projection(x, **form)
    radius = z[..., :t].norm(dim=-1)
    torch.testing.assert_close(radius, torch.full_like(radius, (-beta) ** 0.5), rtol=5 * ROUNDING[dtype], atol=0)
    torch.testing.assert_close(geometry.sphere_inverse(z, **form), x, rtol=10 * ROUNDING[dtype], atol=10 * ROUNDING[dtype])


@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_push_and_pull_are_the_differentials_and_undo_each_other(s, t):
    form = {"beta": -0.7, "time_dim": t}
    x = geometry.sample((5, s + t), dtype=torch.float64, generator=generator(0), **form)
    v = tangent(x, -0.7, t)
    pushed = geometry.push_to_sphere(x, v, **form)
    _, differential = torch.func.jvp(lambda x: _composite_sphere_projection(x, **form), (x,), (v,))
    torch.testing.assert_close(pushed, differential)
    z = geometry.sphere_projection(x, **form)
    torch.testing.assert_close(geometry.pull_back_from_sphere(z, pushed, **form), v)


def _composite_sphere_projection(x, *, beta, time_dim):
    time = x[..., :time_dim]
    return torch.cat(((-beta) ** 0.5 * time / time.norm(dim=-1, keepdim=True), x[..., time_dim:]), dim=-1)


@pytest.mark.parametrize(("s", "t"), [(3, 2), (0, 4), (5, 1)])
def test_push_to_sphere_is_the_identity_where_the_space_part_is_zero(s, t):
    form = {"beta": -2.0, "time_dim": t}
    x = geometry.sample((5, s + t), dtype=torch.float64, generator=generator(0), **form)
    x = geometry.project(torch.cat((x[..., :t], torch.zeros(5, s, dtype=x.dtype)), dim=-1), **form)
    v = tangent(x, -2.0, t)
    torch.testing.assert_close(geometry.push_to_sphere(x, v, **form), v)


@pytest.mark.parametrize("name", ["project", "sphere_projection", "sphere_inverse"])
def test_projections_pass_gradcheck(name):
    x = geometry.sample((3, 5), beta=-0.7, time_dim=2, dtype=torch.float64, generator=generator(0)).requires_grad_()
    beta = torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)

    def function(x, beta):
        return getattr(geometry, name)(x, beta=beta, time_dim=2)

    assert torch.autograd.gradcheck(function, (x, beta))
    assert torch.autograd.gradgradcheck(function, (x, beta))
