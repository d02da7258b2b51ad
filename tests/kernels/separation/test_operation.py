"""The separation as an operation of PyTorch: what a compiler calls is the compiled function."""

import pytest
import torch

from cases import points_at_radius
from qgcn import geometry
from qgcn.geometry import chord
from qgcn.kernels import use_backend
from qgcn.kernels.separation import cpu, most_coordinates_traced
from tolerance import DTYPES

needs_compiler = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
needs_tracing = pytest.mark.skipif(most_coordinates_traced() == 0, reason="compilers of this PyTorch do not call it")


def pairs(s, t, dtype, shape=(12,)):
    count = torch.Size(shape).numel()
    return [
        points_at_radius(count, s, t, -1.0, radius, dtype, seed).reshape(*shape, s + t) for seed, radius in ((1, 1.0), (2, 2.0))
    ]


@needs_compiler
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("s", "t"), [(4, 1), (3, 2), (0, 5)])
def test_the_operation_keeps_the_rules_of_pytorch(s, t, whole, dtype):
    """Its schema, the shapes that are said in advance, and traces of it."""
    arguments = (*pairs(s, t, dtype), torch.ones((), dtype=dtype), t, whole)
    torch.library.opcheck(torch.ops.qgcn.separate, arguments, test_utils=("test_schema", "test_faketensor"))


@needs_compiler
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("places", [(0, 0, None), (1, 0, None), (None, 0, None), (0, None, 0)])
def test_under_vmap_it_is_that_of_each_pair(places, whole):
    x, y = pairs(3, 2, torch.float64, (4, 3))
    size = torch.ones((), dtype=torch.float64) if places[2] is None else torch.linspace(0.5, 2.0, 4, dtype=torch.float64)
    given = [each if place is not None else each[0] for each, place in zip((x, y, size), places[:2], strict=False)]
    arguments = [*given, size]

    def one(a, b, c):
        found = torch.ops.qgcn.separate(a, b, c, 2, whole)
        return found if whole else (found[0], found[2])

    moved = [each if place != 1 else each.transpose(0, 1) for each, place in zip(arguments, places, strict=True)]
    found = torch.vmap(one, in_dims=places)(*moved)
    for k in range(4):
        row = [each if place is None else each[k] for each, place in zip(arguments, places, strict=True)]
        for mine, theirs in zip(found, one(*row), strict=True):
            torch.testing.assert_close(mine[k], theirs)


def calls_while(monkeypatch, action):
    """Return how often the compiled function is called."""
    calls, function = [], cpu.separate

    def counted(*arguments, **options):
        calls.append(arguments)
        return function(*arguments, **options)

    monkeypatch.setattr(cpu, "separate", counted)
    action()
    return len(calls)


@needs_tracing
@pytest.mark.skipif(torch.__version__ < "2.13", reason="compilers before it say that they export, and trace what they compile")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", ["dist", "logmap"])
def test_compilers_call_it_forward_and_not_again_backward(name, monkeypatch):
    torch.compiler.reset()
    x, y = (each.requires_grad_() for each in pairs(3, 2, torch.float64))
    function = torch.compile(getattr(geometry, name), fullgraph=True, backend="aot_eager")
    function(x, y, beta=-1.0, time_dim=2)
    count = calls_while(monkeypatch, lambda: function(x, y, beta=-1.0, time_dim=2).nan_to_num().sum().backward())
    assert count == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_what_is_exported_needs_nothing_of_this_package():
    class Distance(torch.nn.Module):
        def forward(self, x, y):
            return geometry.dist(x, y, beta=-1.0, time_dim=2)

    x, y = pairs(3, 2, torch.float32)
    program = torch.export.export(Distance(), (x, y))
    assert "qgcn" not in str(program.graph)
    torch.testing.assert_close(program.module()(x, y), Distance()(x, y), rtol=1e-5, atol=1e-6)


@needs_tracing
def test_it_is_not_used_where_another_backend_is_asked_for_or_points_are_long():
    assert most_coordinates_traced() == cpu.MOST_COORDINATES == chord._most_traced()
    with use_backend("eager"):
        assert most_coordinates_traced() == 0
