"""Compiled attention against a dense softmax in float64, values and gradients; the same with any number of threads."""

from functools import partial

import pytest
import torch

from attending import KINDS, SPACES, attention, case, close, solved
from cases import generator
from qgcn import parse_space
from qgcn.kernels import use_backend
from qgcn.kernels.attention import attend, cpu

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason=str(cpu.obstacle()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SPACES)
def test_compiled_attention_is_the_softmax(name, kind):
    with use_backend("native"):
        found = solved(partial(attend, energy=kind), *case(name, torch.float32, seed=3))  # no pair within 1e-3 of the antipode
    close(found, solved(partial(attention, kind=kind), *case(name, seed=3)), 3e-4)


def test_compiled_runs_are_equal_to_the_last_bit_with_any_number_of_threads():
    found = []
    for threads in (1, 2):
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        space, source = parse_space("Q2,2"), generator(0)
        x = space.expmap0(torch.randn(600, 4, generator=source)).requires_grad_()
        v = torch.randn(600, 7, generator=source)
        mean, _ = attend(x, x, v, space, torch.tensor(1.0))
        found.append((mean, torch.autograd.grad(mean.square().sum(), x)[0]))
        torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
