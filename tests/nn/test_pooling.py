"""Readout and pooling: in the space, whatever the order, and PyG's own in flat space."""

import pytest
import torch
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from cases import generator
from qgcn import parse_space
from qgcn.nn import TangentPool
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q0,4", "H2xS2")
BATCH = torch.tensor([0, 2, 0, 2, 2, 0])


def points(space, n=6, dtype=torch.float64):
    return space.expmap0(0.3 * torch.randn(n, space.ambient_dim, dtype=dtype, generator=generator(0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduce", ["mean", "sum", "max"])
@pytest.mark.parametrize("name", SPACES)
def test_groups_become_points_of_the_space(name, reduce, dtype):
    space = parse_space(name, beta=-1.3)
    pool, x = TangentPool(space, reduce), points(space, dtype=dtype)
    found = pool(x, BATCH)
    assert found.shape == (3, space.ambient_dim)
    space.assert_check_point_on_manifold(found, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(
        found[1], space.origin(space.ambient_dim, dtype=dtype).as_subclass(torch.Tensor)
    )  # an empty group
    order = torch.randperm(6, generator=generator(1))
    torch.testing.assert_close(pool(x[order], BATCH[order]), found)
    torch.testing.assert_close(pool(x, torch.arange(6)), x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("reduce", "theirs"), [("mean", global_mean_pool), ("sum", global_add_pool), ("max", global_max_pool)])
def test_in_flat_space_it_is_the_pooling_of_pyg(reduce, theirs):
    x = points(parse_space("E4"))
    torch.testing.assert_close(TangentPool("E4", reduce)(x, BATCH), theirs(x, BATCH))
    torch.testing.assert_close(TangentPool("E4", reduce)(x), theirs(x, None))


def test_the_number_of_groups_can_be_given_and_none_is_fine():
    space = parse_space("Q2,2")
    assert TangentPool(space)(points(space), BATCH, size=5).shape == (5, 4)
    assert TangentPool(space)(points(space, 0), torch.zeros(0, dtype=torch.int64)).shape == (0, 4)


def test_gradients_reach_the_points():
    space = parse_space("Q2,2")
    x = points(space).requires_grad_()
    TangentPool(space)(x, BATCH).square().sum().backward()
    assert (x.grad.abs().sum(1) > 0).all()


def test_what_does_not_fit_is_refused_and_words():
    with pytest.raises(ValueError, match="reduce must be one of mean, sum, max, got 'median'"):
        TangentPool("Q2,2", "median")
    with pytest.raises(ValueError, match=r"batch must have shape \(6,\), got \(5,\)"):
        TangentPool("Q2,2")(points(parse_space("Q2,2")), BATCH[:5])
    assert repr(TangentPool("Q2,2", "max")) == "TangentPool(Q2,2, max)"
    assert not TangentPool(parse_space("Q2,2", learnable=True)).state_dict()
