"""Sums over edges, whichever implementation computes them: gradients, types, compilers, transforms."""

import pytest
import torch

from cases import generator
from qgcn.kernels import use_backend
from qgcn.kernels.edges import Ends, coefficients, gathered
from tolerance import DTYPES

EDGES = torch.tensor([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 3, 3]])
ENDS = Ends(5, 5, True)


def given(dtype):
    v = torch.randn(5, 3, dtype=dtype, generator=generator(0)).requires_grad_()
    weight = (torch.rand(6, dtype=dtype, generator=generator(1)) + 0.1).requires_grad_()
    return v, weight


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_agree_between_implementations_also_the_second(dtype):
    def everything(v, weight, *loops):
        y = gathered(v, EDGES, weight, 5, *loops)
        leaves = (v, weight, *loops)
        first = torch.autograd.grad(y.pow(3).sum(), leaves, create_graph=True)
        return y, *first, *torch.autograd.grad(sum(each.square().sum() for each in first), leaves)

    own = torch.rand(5, dtype=dtype, generator=generator(2)).requires_grad_()
    for loops in ((), (own,)):
        found = everything(*given(dtype), *loops)
        with use_backend("eager"):
            expected = everything(*given(dtype), *loops)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_loops_are_edges_from_a_node_to_itself():
    v, weight = given(torch.float64)
    loops = torch.rand(5, dtype=torch.float64, generator=generator(2))
    nodes = torch.arange(5)
    more = torch.cat((EDGES, torch.stack((nodes, nodes))), dim=1)
    torch.testing.assert_close(gathered(v, EDGES, weight, 5, loops), gathered(v, more, torch.cat((weight, loops)), 5))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sum", "mean", "sym"])
def test_learned_weights_are_normalised_as_constant_ones(kind, dtype):
    _, weight = given(dtype)
    learned = coefficients(EDGES, weight, ENDS, kind, True, dtype)
    constant = coefficients(EDGES, weight.detach(), ENDS, kind, True, dtype)
    torch.testing.assert_close(learned, constant)
    assert learned[0].requires_grad
    assert not constant[0].requires_grad
    assert constant[0].dtype == constant[1].dtype == dtype


def test_a_batch_equals_each_alone():
    v = torch.randn(2, 3, 5, 4, generator=generator(0))
    weight = torch.rand(6, generator=generator(1))
    each = torch.stack([torch.stack([gathered(one, EDGES, weight, 5) for one in some]) for some in v])
    torch.testing.assert_close(gathered(v, EDGES, weight, 5), each)
    torch.testing.assert_close(torch.vmap(torch.vmap(lambda one: gathered(one, EDGES, weight, 5)))(v), each)


def test_nothing_gives_nothing():
    none = torch.zeros(2, 0, dtype=torch.int64)
    of_edges, of_loops = coefficients(none, None, Ends(0, 0, True), "sym", True, torch.float32)
    assert of_edges.shape == of_loops.shape == (0,)
    assert gathered(torch.zeros(0, 3), none, of_edges, 0).shape == (0, 3)
    assert (gathered(torch.ones(2, 3), none, of_edges, 4) == torch.zeros(4, 3)).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_compiler_traces_them_as_one_graph(dtype):
    def function(v, weight):
        of_edges, of_loops = coefficients(EDGES, weight.detach(), ENDS, "sym", True, dtype)
        return gathered(v, EDGES, of_edges * weight, 5, of_loops)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    found, expected = ((y := run(v, weight), torch.autograd.grad(y.square().sum(), (v, weight)))
                       for run in (compiled, function) for v, weight in [given(dtype)])  # fmt: skip
    torch.testing.assert_close(found, expected)


def test_the_operations_are_sound():
    """PyTorch's own checks: shapes of fakes, no mutation, gradients."""
    v, weight = given(torch.float32)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(
        torch.ops.qgcn.edge_gather.default, (v.unsqueeze(0), EDGES, weight, None, 5, False), test_utils=checks
    )
    loops = torch.rand(5, generator=generator(2)).requires_grad_()
    torch.library.opcheck(
        torch.ops.qgcn.edge_gather.default, (v.unsqueeze(0), EDGES, weight, loops, 5, True), test_utils=checks
    )
    torch.library.opcheck(torch.ops.qgcn.edge_dots.default, (v.unsqueeze(0), v.unsqueeze(0), EDGES), test_utils=checks)
    some = (EDGES, None, 5, 5, "sym", True, True)
    torch.library.opcheck(torch.ops.qgcn.edge_coefficients.default, some, test_utils=("test_schema", "test_faketensor"))
