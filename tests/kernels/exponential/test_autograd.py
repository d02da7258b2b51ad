"""The exponential at the pole, whichever implementation computes it: compilers, gradients, transforms."""

import pytest
import torch

from cases import generator
from qgcn import geometry, parse_space
from qgcn.kernels import expmap0, use_backend
from qgcn.kernels.exponential import cpu

needs_compiler = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def arguments(shape=(40, 6), dtype=torch.float32):
    u = torch.randn(*shape, dtype=dtype, generator=generator(1))
    return [u.requires_grad_(), torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)]


@pytest.mark.parametrize("t", [1, 3, 6])
@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_compiled_map_is_that_of_the_geometry_and_so_is_its_gradient(backend, t):
    torch.compiler.reset()
    function = torch.compile(lambda u, beta: expmap0(u, beta=beta, time_dim=t), fullgraph=True, backend="aot_eager")
    results = []
    with use_backend(backend):
        for run in (function, lambda u, beta: geometry.expmap0(u, beta=beta, time_dim=t)):
            given = arguments()
            x = run(*given)
            results.append((x, *torch.autograd.grad(x.square().sum() + x.sum(), given)))
    torch.testing.assert_close(*results, rtol=1e-5, atol=1e-5)


def operations(call, *given):
    """Return the names of what a compiler finds in a function."""
    found = []

    def look(graph, _):
        found.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    torch._dynamo.reset()
    torch.compile(call, backend=look, fullgraph=True)(*given)
    return found


@needs_compiler
def test_a_compiler_calls_the_fused_function_for_float32_and_one_beta_alone():
    u, _ = (each.detach() for each in arguments())
    wide = torch.ones(3, cpu.MOST_COORDINATES + 1)
    for points, beta, fused in (
        (u, -1.0, True),
        (u.double(), -1.0, False),
        (u, -torch.ones(40, 1), False),
        (wide, -1.0, False),
    ):
        found = operations(lambda u, beta: expmap0(u, beta=beta, time_dim=3), points, beta)
        fused = fused and torch.__version__ >= "2.13"  # compilers before it say that they export
        assert any("qgcn.exponential" in name for name in found) == fused
    with use_backend("eager"):
        assert not any("qgcn" in name for name in operations(lambda u: expmap0(u, beta=-1.0, time_dim=2), u))


@needs_compiler
@pytest.mark.parametrize("places", [(0, None), (1, None), (None, 0), (0, 0)])
def test_under_vmap_it_is_that_of_each(places):
    u, size = torch.randn(4, 3, 6, generator=generator(1)), torch.linspace(0.5, 2.0, 4)
    given = [u if places[0] is not None else u[0], size if places[1] is not None else size[0]]
    moved = [given[0].transpose(0, 1) if places[0] == 1 else given[0], given[1]]
    found = torch.vmap(lambda a, b: torch.ops.qgcn.exponential(a, b, 3), in_dims=places)(*moved)
    for k in range(4):
        row = [each if place is None else each[k] for each, place in zip(given, places, strict=True)]
        torch.testing.assert_close(found[k], torch.ops.qgcn.exponential(*row, 3))


@needs_compiler
def test_the_operations_are_sound():
    """PyTorch's own checks: shapes of fakes, no mutation, gradients."""
    u = torch.randn(2, 5, 6, generator=generator(1)).requires_grad_()
    size = torch.tensor(0.7, requires_grad=True)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(torch.ops.qgcn.exponential.default, (u, size, 3), test_utils=checks)
    given = (u.detach(), u.detach(), size.detach(), 3)
    torch.library.opcheck(torch.ops.qgcn.exponential_gradient.default, given, test_utils=("test_schema", "test_faketensor"))
    assert torch.ops.qgcn.exponential(torch.empty(0, 6), size, 3).shape == (0, 6)


def test_second_derivatives_and_what_is_exported_need_no_compiled_function():
    u, beta = arguments(dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda u: expmap0(u, beta=beta.detach(), time_dim=3), u[:3].detach().requires_grad_())

    class Layer(torch.nn.Module):
        def forward(self, u):
            return expmap0(u, beta=-1.0, time_dim=2)

    program = torch.export.export(Layer(), (torch.ones(3, 4),))
    assert "qgcn" not in str(program.graph)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="time_dim"):
        expmap0(torch.ones(3, 4), beta=-1.0, time_dim=5)
    with pytest.raises(TypeError, match=r"u must be a torch\.Tensor, got float"):
        parse_space("Q2,2").expmap0(1.0)
