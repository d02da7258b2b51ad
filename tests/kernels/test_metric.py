import geoopt
import pytest
import torch

from cases import points_at_radius
from qgcn import parse_space
from qgcn.kernels import distances_from
from qgcn.kernels.metric import factors_of, reach_of, shape_of, sizes_of


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Q7,3", ((0, 10, 3),)),
        ("H4", ((0, 5, 1),)),
        ("S4", ((0, 5, 5),)),
        ("E4", ((0, 4, 0),)),
        ("Q4,2xE4xH2", ((0, 6, 2), (6, 4, 0), (10, 3, 1))),
    ],
)
def test_shapes_say_where_factors_stand(name, shape):
    space = parse_space(name)
    assert shape_of(factors_of(space)) == shape
    assert sum(size for _, size, _ in shape) == space.ambient_dim


def test_a_space_with_an_unknown_factor_has_none():
    assert factors_of(parse_space("K4")) is None
    assert factors_of(parse_space("K4xE2")) is None


def test_a_wrapped_space_does_not_pass_for_what_it_wraps():
    space = parse_space("Q2,2")
    scaled = geoopt.Scaled(space, 2.0)
    assert scaled.factors == space.factors  # handed on, as if nothing were scaled
    assert factors_of(scaled) is None
    x = space.random(6, 4, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    torch.testing.assert_close(distances_from(x, range(6), scaled), 2 * distances_from(x, range(6), space))


def test_sizes_are_differentiable_and_of_the_points_type():
    space = parse_space("Q2,2xE2", beta=-4.0, learnable=True)
    sizes = sizes_of(space.factors, torch.zeros(1))
    torch.testing.assert_close(sizes, torch.tensor([4.0, 1.0]))
    (gradient,) = torch.autograd.grad(sizes.sum(), list(space.parameters()))
    assert gradient != 0


def test_reach_is_a_power_of_two_next_to_the_length_of_the_time_part():
    x = torch.cat([points_at_radius(3, 2, 2, -1.0, radius, torch.float32) for radius in (0.0, 1.0, 5.0, 15.0)])
    (reach,) = reach_of(x, ((0, 4, 2),)).T
    length = x[:, :2].norm(dim=1)
    assert torch.equal(reach.log2(), reach.log2().round())
    assert (reach / length).log2().abs().max() <= 0.5001
    assert torch.equal(reach_of(x, ((0, 2, 2), (2, 2, 0))), torch.ones(12, 2))  # no point of a sphere is further out
