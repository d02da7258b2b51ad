"""The order of time: what a space without one answers."""

import pytest
import torch

from qgcn import parse_space


def test_a_space_without_time_says_so():
    space = parse_space("H3")
    x = space.origin(4).as_subclass(torch.Tensor)
    for ask in (space.light_margin, space.time_separation, space.causal_order):
        with pytest.raises(ValueError, match="H3 has no order of time: expected a spacetime such as M10, AdS10, dS10 or M1xH9"):
            ask(x, x)


def test_orders_of_pairs_are_told_by_sign():
    x, y = torch.zeros(4, 2), torch.tensor([[1.0, 0.5], [-1.0, 0.5], [0.5, 1.0], [0.0, 0.0]])
    assert parse_space("M2").causal_order(x, y).tolist() == [1, -1, 0, 1]


def test_rounding_does_not_break_a_ray_of_light():
    a = torch.tensor([[0.1, 0.1], [1000.1, 1000.1]])
    b = a + torch.tensor([0.3, 0.3])
    assert parse_space("M2").causal_order(a, b).tolist() == [1, 1]


NAMES = ("E4", "H3", "S3", "Q2,2", "Q3,3", "Q2,2xH2", "M4", "AdS4", "dS4", "M1xH3", "H2xS2")


def draw(space, dtype=torch.float64, seed=0):
    u = 0.6 * torch.randn(40, space.ambient_dim, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return space.expmap0(u).detach()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_an_interval_is_symmetric_and_nothing_between_a_point_and_itself(name, dtype):
    space = parse_space(name, beta=-0.7)
    x, y = (draw(space, dtype, seed).requires_grad_() for seed in (0, 1))
    forth, back = space.interval(x, y), space.interval(y, x)
    assert forth.shape == (40,)
    assert forth.dtype == dtype
    torch.testing.assert_close(forth, back)
    torch.testing.assert_close(space.interval(x, x), torch.zeros(40, dtype=dtype), rtol=0, atol=1e-6)
    for gradient in torch.autograd.grad(forth.sum() + space.interval(x, x).sum(), (x, y)):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("name", ["M4", "AdS4", "dS4", "M1xH3"])
def test_an_interval_is_negative_where_one_point_is_in_the_future_of_the_other(name):
    space = parse_space(name)
    x, y = draw(space), draw(space, seed=1)
    order = space.causal_order(x, y)
    assert {-1, 0, 1} <= set(order.tolist())
    assert torch.equal(space.interval(x, y) <= 0, order != 0)


def test_an_interval_of_flat_spacetime_is_that_of_coordinates():
    space = parse_space("M4")
    x, y = draw(space), draw(space, seed=1)
    square = (y - x)[:, 1:].square().sum(1) - (y - x)[:, 0].square()
    torch.testing.assert_close(space.interval(x, y), square)


@pytest.mark.parametrize("name", ["E4", "H3", "S3", "H2xS2"])
def test_an_interval_without_time_is_the_squared_distance(name):
    space = parse_space(name)
    x, y = draw(space), draw(space, seed=1)
    torch.testing.assert_close(space.interval(x, y), space.dist2(x, y))


def test_an_interval_of_a_product_is_the_sum_of_its_parts():
    space = parse_space("Q2,2xH2")
    x, y = draw(space), draw(space, seed=1)
    quadric, plane = space.parts
    expected = quadric.interval(x[:, :4], y[:, :4]) + plane.dist2(x[:, 4:], y[:, 4:])
    torch.testing.assert_close(space.interval(x, y), expected)
    assert (quadric.interval(x[:, :4], y[:, :4]) < 0).any()
