"""Compiled: one graph, no break; uncompiled: no value is read back from the device."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing import assert_close

from cases import awkward_pairs, generator, points_at_radius, tangent
from qgcn import geometry

MAPS = {
    "expmap": lambda x, y, u, form: geometry.expmap(x, u, **form),
    "logmap": lambda x, y, u, form: geometry.logmap(x, y, **form),
    "dist": lambda x, y, u, form: geometry.dist(x, y, **form),
    "sqdist": lambda x, y, u, form: geometry.sqdist(x, y, **form),
    "transport": lambda x, y, u, form: geometry.transport(x, y, u, **form),
    "expmap0": lambda x, y, u, form: geometry.expmap0(u, **form),
    "logmap0": lambda x, y, u, form: geometry.logmap0(x, **form),
    "translate": lambda x, y, u, form: geometry.translate(x, u, **form),
    "pairwise_dist": lambda x, y, u, form: geometry.pairwise_dist(x, y, **form),
}


def run(name, inputs, beta, t, compiled):
    function = MAPS[name]
    if compiled:
        torch.compiler.reset()
        function = torch.compile(function, fullgraph=True, backend=compiled)
    leaves = [each.detach().clone().requires_grad_() for each in inputs]
    beta = torch.tensor(beta, dtype=torch.float64, requires_grad=True)
    result = function(*leaves, {"beta": beta, "time_dim": t})
    weights = torch.randn(result.shape, dtype=result.dtype, generator=generator(1))
    loss = (result.nan_to_num() * weights).sum()
    gradients = torch.autograd.grad(loss, [*leaves, beta], allow_unused=True, materialize_grads=True)
    # off the manifold the two ways are extended differently: compare along it
    x, y, _ = inputs
    form = {"beta": beta.detach(), "time_dim": t}
    tangential = [
        geometry.project_tangent(point, geometry.flip_time(gradient, time_dim=t), **form)
        for point, gradient in zip((x, y), gradients[:2], strict=True)
    ]
    return result.detach(), *tangential, gradients[2]


# fmt: off
CASES = [(name, 3, "inductor") for name in ("expmap", "logmap", "dist", "transport", "expmap0", "logmap0")] + [
    (name, t, "aot_eager") for name in MAPS for t in (1, 3, 8)
]
# fmt: on


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("name", "t", "backend"), CASES)
def test_maps_compile_into_one_graph_with_the_same_results(name, t, backend):
    x, y = awkward_pairs(100, 8 - t, t, -0.7, torch.float64)
    moderate = (x.norm(dim=-1) < 30) & (y.norm(dim=-1) < 30)
    x, y = x[moderate], y[moderate]
    separate = (geometry.dist(x, y, beta=-0.7, time_dim=t) > 1e-3) & (geometry.inner(x, y, time_dim=t) / 0.7 - 1).abs().gt(1e-3)
    x, y = x[separate], y[separate]  # elsewhere slopes are infinite, and which finite number stands for them is chance
    near, out = (points_at_radius(30, 8 - t, t, -0.7, radius, torch.float64, 1) for radius in (0.4, 2.5))
    x, y = torch.cat((x, near, near)), torch.cat((y, out, -out))  # unequally far out, connected and not
    inputs = (x, y, 0.3 * tangent(x, -0.7, t))
    for plain, compiled in zip(run(name, inputs, -0.7, t, None), run(name, inputs, -0.7, t, backend), strict=True):
        assert_close(compiled, plain, rtol=1e-6, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("t", [1, 3, 8])
@pytest.mark.parametrize("name", MAPS)
def test_maps_read_no_value_back_from_the_device(name, t):
    """A fake tensor has no values: whatever asks for one raises."""
    with FakeTensorMode():
        x, y, u = (torch.empty(5, 8, requires_grad=True) for _ in range(3))
        beta = torch.empty((), dtype=torch.float64, requires_grad=True)
        result = MAPS[name](x, y, u, {"beta": beta, "time_dim": t})
        gradients = torch.autograd.grad(result.sum(), [x, y, u, beta], allow_unused=True)
        assert any(gradient is not None for gradient in gradients)
        with pytest.raises(Exception, match="_local_scalar_dense"):
            result.sum().item()
