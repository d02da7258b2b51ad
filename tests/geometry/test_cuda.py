"""On a GPU: the same numbers, and no step that waits for the device."""

import warnings

import pytest
import torch

from cases import SIGNATURES, awkward_pairs, tangent
from qgcn import geometry

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.fixture
def never_waiting():
    """Make every wait for the device an error, and restore the mode in any case; PyTorch warns that this is a prototype."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.synchronize()

    def switch(mode):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Synchronization debug mode is a prototype", category=UserWarning)
            torch.cuda.set_sync_debug_mode(mode)

    yield lambda: switch("error")
    switch(before)


NAMES = ("dist", "sqdist", "logmap", "signed_sqdist", "is_connected", "transport", "expmap0", "logmap0", "project")


def call(name, x, y, u, beta, t):
    arguments = {"transport": (x, y, u), "expmap0": (u,), "logmap0": (x,), "project": (x,)}.get(name, (x, y))
    return getattr(geometry, name)(*arguments, beta=beta, time_dim=t)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("s", "t"), SIGNATURES)
def test_maps_agree_with_the_cpu(s, t, name):
    x, y = awkward_pairs(2000, s, t, -0.7, torch.float64)
    moderate = (x.norm(dim=-1) < 100) & (y.norm(dim=-1) < 100)
    edge = (geometry.inner(x, y, time_dim=t) / 0.7 - 1).abs() < 1e-6  # where a geodesic ends, rounding decides
    x, y = x[moderate & ~edge], y[moderate & ~edge]
    u = tangent(x, -0.7, t)
    here = call(name, x, y, u, -0.7, t)
    there = call(name, *(each.cuda() for each in (x, y, u)), -0.7, t).cpu()
    torch.testing.assert_close(there.nan_to_num(), here.nan_to_num(), rtol=1e-5, atol=1e-5)
    if name != "is_connected":
        assert (here.isnan() == there.isnan()).all()


@pytest.mark.parametrize("t", [1, 3, 8])
@pytest.mark.parametrize("name", [*NAMES, "pairwise_dist"])
def test_maps_and_their_gradients_do_not_wait_for_the_device(name, t, never_waiting):
    x, y = (each.cuda() for each in awkward_pairs(2000, 8 - t, t, -0.7, torch.float32))
    u = tangent(x.cpu(), -0.7, t).cuda()
    beta = torch.tensor(-0.7, dtype=torch.float64, device="cuda", requires_grad=True)
    leaves = [each.clone().requires_grad_() for each in (x, y, u)]
    call(name, *leaves, beta, t)  # the first call may load kernels
    torch.cuda.synchronize()
    never_waiting()
    result = call(name, *leaves, beta, t)
    if result.is_floating_point():
        torch.autograd.grad(result.nan_to_num().sum(), [*leaves, beta], allow_unused=True)


def test_mixed_devices_are_refused():
    x = torch.ones(3)
    with pytest.raises(TypeError, match="x is on cpu but y is on cuda"):
        geometry.dist(x, x.cuda(), beta=-1.0, time_dim=1)
