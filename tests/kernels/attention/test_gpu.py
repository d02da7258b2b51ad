"""Triton's attention: on a GPU where there is one, and under Triton's interpreter, in a process of its own."""

from functools import partial

import pytest
import torch

from attending import attention, case, close, solved
from interpreter import DEVICE, interpret, runs
from qgcn.kernels import backend, use_backend
from qgcn.kernels.attention import attend

triton = pytest.importorskip("triton")

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")


def test_all_of_this_under_the_interpreter():
    interpret(__file__)


CASES = [("Q2,2", "distance"), ("Q2,3", "distance"), ("Q3,1", "distance"), ("S3", "distance"), ("Q2,2xE2", "distance")]
CASES += [("Q2,2", "chord"), ("Q0,4", "chord"), ("E4", "chord")]


def smaller(given, device):
    """Take fewer queries and keys: the interpreter takes its time."""
    space, (u, w, v, tau), (grad, to_log) = given
    few = [each.detach().to(device).requires_grad_() for each in (u[:6], w[:37], v[:37], tau)]
    return space.to(device), few, (grad[:6].to(device), to_log[:6].to(device))


@runs
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_it_is_the_softmax(name, kind):
    expected = solved(partial(attention, kind=kind), *smaller(case(name, seed=3), "cpu"))
    with use_backend("triton"):
        found = solved(partial(attend, energy=kind), *smaller(case(name, torch.float32, seed=3), DEVICE))
        assert backend() == "triton"
    close([each.cpu() for each in found], expected, 3e-4)
