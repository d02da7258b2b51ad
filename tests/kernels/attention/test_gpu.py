"""Triton's attention: on a GPU where there is one, and under Triton's interpreter, in a process of its own."""

import os
import subprocess
import sys
from functools import partial

import pytest
import torch

from attending import attention, case, close, solved
from qgcn.kernels import backend, use_backend
from qgcn.kernels.attention import attend

triton = pytest.importorskip("triton")

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
runs = pytest.mark.skipif(
    not (INTERPRETED or torch.cuda.is_available()), reason="needs a GPU; runs under the interpreter in a process of its own"
)


@pytest.mark.skipif(INTERPRETED, reason="this is that process")
def test_all_of_this_under_the_interpreter():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", __file__]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr


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
