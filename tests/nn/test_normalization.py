"""Batch normalisation in the tangent space: its laws."""

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.nn import TangentBatchNorm
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q0,4", "H2xS2")


def points(space, n=50, dtype=torch.float64):
    return space.expmap0(0.2 * torch.randn(n, space.ambient_dim, dtype=dtype, generator=generator(0)) + 0.3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SPACES)
def test_results_are_points_of_the_space_in_training_and_after(name, dtype):
    space = parse_space(name, beta=-4.0)
    norm, x = TangentBatchNorm(space).to(dtype), points(space, dtype=dtype)
    for mode in (True, False):
        y = norm.train(mode)(x)
        space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(space.logmap0(y), norm.from_tangent(space.logmap0(x)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["E4", "H3", "Q3,1", "Q2,2"])
def test_tangent_coordinates_of_a_batch_have_the_mean_and_deviation_that_were_learned(name):
    space = parse_space(name, beta=-25.0)  # wide, so that no coordinate makes a whole turn
    norm, x = TangentBatchNorm(space).double(), points(space)
    with torch.no_grad():
        norm.norm.weight.fill_(0.5)
        norm.norm.bias.fill_(0.2)
    u = space.logmap0(norm(x))
    free = torch.arange(space.ambient_dim) >= (name != "E4")  # the pole's own coordinate is always zero
    torch.testing.assert_close(u.mean(0)[free], torch.full_like(u[0], 0.2)[free], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(u.std(0, correction=0)[free], torch.full_like(u[0], 0.5)[free], rtol=1e-3, atol=1e-3)


def test_in_flat_space_it_is_the_one_of_pytorch():
    norm, theirs = TangentBatchNorm("E4").double(), torch.nn.BatchNorm1d(4).double()
    x = points(parse_space("E4"))
    for mode in (True, False):
        torch.testing.assert_close(norm.train(mode)(x), theirs.train(mode)(x))
    norm.reset_parameters()
    assert (norm.norm.running_mean == 0).all()
    assert repr(norm).startswith("TangentBatchNorm(\n  E4")
