import pytest
import torch

from cases import points_at_radius
from qgcn import parse_space
from qgcn.kernels.metric import factors_of
from qgcn.kernels.pairs.points import Points, layout_of, reach_of, sizes_of


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("Q7,3", ((0, 10, 3),)),
        ("H4", ((0, 5, 1),)),
        ("S4", ((0, 5, 5),)),
        ("E4", ((0, 4, 0),)),
        ("Q4,2xE4xH2", ((0, 6, 2), (6, 4, 0), (10, 3, 1))),
    ],
)
def test_layouts_say_where_factors_stand(name, layout):
    space = parse_space(name)
    assert layout_of(factors_of(space)) == layout
    assert sum(size for _, size, _ in layout) == space.ambient_dim


def test_sizes_are_differentiable_and_of_the_points_type():
    space = parse_space("Q2,2xE2", beta=-4.0, learnable=True)
    sizes = sizes_of(space.factors, torch.zeros(1))
    torch.testing.assert_close(sizes, torch.tensor([4.0, 1.0]))
    (gradient,) = torch.autograd.grad(sizes.sum(), list(space.parameters()))
    assert gradient != 0


def test_reach_is_the_length_of_the_time_part_where_points_can_be_further_out():
    x = torch.cat([points_at_radius(3, 2, 2, -1.0, radius, torch.float32) for radius in (0.0, 1.0, 5.0, 15.0)])
    (reach,) = reach_of(x, ((0, 4, 2),)).T
    torch.testing.assert_close(reach, x[:, :2].norm(dim=1))
    assert torch.equal(reach_of(x, ((0, 2, 2), (2, 2, 0))), torch.ones(12, 2))  # no point of a sphere is further out


def test_points_are_contiguous_and_have_time_parts_of_length_one_in_each_factor():
    x = points_at_radius(3, 2, 2, -1.0, 5.0, torch.float32)
    x = torch.cat((x, x, 2 * x), dim=1)  # a quadric, a plane, a quadric
    layout = ((0, 4, 2), (4, 4, 0), (8, 4, 2))
    points = Points.of(x.t().contiguous().t(), torch.ones(3), layout)
    assert points.x.is_contiguous()
    assert torch.equal(points.reach, reach_of(x, layout))
    torch.testing.assert_close(points.x[:, :4], x[:, :4] / x[:, :2].norm(dim=1, keepdim=True))
    assert torch.equal(points.x[:, 4:8], x[:, 4:8])
    torch.testing.assert_close(points.x[:, 8:], points.x[:, :4])
    assert len(points) == 3


def test_points_of_flat_spaces_and_spheres_are_left_as_they_are():
    x = torch.randn(3, 5).t().contiguous().t()
    points = Points.of(x, torch.ones(2), ((0, 2, 2), (2, 3, 0)))
    assert torch.equal(points.x, x)
    assert points.x.is_contiguous()
