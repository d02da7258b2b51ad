"""The translation by a bias: all implementations, values and gradients."""

import pytest
import torch

from cases import generator
from qgcn import geometry, parse_space
from qgcn.kernels import translate0, use_backend
from qgcn.kernels.translation import cpu
from tolerance import DTYPES


def arguments(dtype=torch.float32, batch=(), d=6):
    source = generator(1)
    u = 0.5 * torch.randn(*batch, 40, d, dtype=dtype, generator=source)
    b = 0.3 * torch.randn(*batch, *[1] * len(batch), d, dtype=dtype, generator=source)
    beta = -torch.rand(*batch, *[1] * (len(batch) + 1), dtype=dtype, generator=source) - 0.5
    return [each.requires_grad_() for each in (u, b, beta if batch else beta[0])]


def both(call, given):
    """Return what a function and its gradients are on the fused path and on the plain one."""
    results = []
    for path in ("native", "eager"):
        with use_backend(path):
            value = call(*given)
            results.append((value, *torch.autograd.grad(value.square().sum(), given)))
    return zip(*results, strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("t", [1, 3, 6])
def test_both_paths_are_the_map_of_the_geometry(t, batch, dtype):
    given = arguments(dtype, batch)
    expected = geometry.translate0(*given[:2], beta=given[2], time_dim=t)
    for fused, plain in both(lambda u, b, beta: translate0(u, b, beta=beta, time_dim=t), given):
        torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(translate0(*given[:2], beta=given[2], time_dim=t), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
@pytest.mark.parametrize("t", [1, 3])
def test_a_batch_under_vmap_is_fused(t):
    u, b, beta = arguments(batch=(3,))
    given = [u, b.detach().squeeze(1).requires_grad_(), beta.detach().flatten().requires_grad_()]
    moved = torch.vmap(lambda u, b, beta: translate0(u, b, beta=beta, time_dim=t))(*given)
    assert "Translated" in moved.grad_fn.name()
    gradients = torch.autograd.grad(moved.square().sum(), given)
    for k in range(3):
        one = [each[k].detach().requires_grad_() for each in given]
        alone = translate0(*one[:2], beta=one[2], time_dim=t)
        torch.testing.assert_close(moved[k], alone)
        for here, there in zip(gradients, torch.autograd.grad(alone.square().sum(), one), strict=True):
            torch.testing.assert_close(here[k], there)


@pytest.mark.parametrize("t", [1, 3])
def test_shapes_that_are_not_fused_are_computed_all_the_same(t):
    u, b, beta = (each.detach() for each in arguments())
    every = {
        "a bias for each point": (u, 0.1 * u, beta),
        "a beta for each point": (u, b, beta.expand(40, 1)),
        "a beta for each of a batch": (u, b, -torch.tensor([[[1.0]], [[2.0]]])),
        "one point": (u[0], b, beta),
        "four axes": (u.view(2, 2, 10, 6), b, beta),
        "many coordinates": (torch.randn(4, 70, generator=generator(2)), torch.zeros(70), -1.0),
    }
    for what, (points, bias, size) in every.items():
        found = translate0(points, bias, beta=size, time_dim=t)
        torch.testing.assert_close(found, geometry.translate0(points, bias, beta=size, time_dim=t), msg=what)


def operations(call, *given):
    """Return the names of what a compiler finds in a function."""
    found = []

    def look(graph, _):
        found.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch._dynamo.reset()
    torch.compile(call, backend=look, fullgraph=True)(*given)
    return found


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_compiler_calls_the_fused_function_for_one_bias_and_the_plain_one_for_many():
    u, b, _ = (each.detach() for each in arguments())
    for bias, fused in ((b, True), (0.1 * u, False)):
        found = operations(lambda u, b: translate0(u, b, beta=-1.0, time_dim=3), u, bias)
        fused = fused and torch.__version__ >= "2.13"  # compilers before it say that they export
        assert any("qgcn.translate" in name for name in found) == fused


@pytest.mark.parametrize("t", [1, 3])
def test_second_derivatives_are_those_of_the_plain_path(t):
    given = arguments()
    found = []
    for path in ("native", "eager"):
        with use_backend(path):
            (slope,) = torch.autograd.grad(
                translate0(*given[:2], beta=given[2], time_dim=t).square().sum(), given[1], create_graph=True
            )
            found.append(torch.autograd.grad(slope.square().sum(), given[0])[0])
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="time_dim"):
        translate0(torch.ones(3, 4), torch.ones(4), beta=-1.0, time_dim=5)
    with pytest.raises(TypeError, match=r"b must be a torch\.Tensor, got float"):
        parse_space("Q2,2").translate0(torch.ones(3, 4), 1.0)
