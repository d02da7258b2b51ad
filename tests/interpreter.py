"""Kernels in Triton: on a GPU where there is one, and in a process of its own under Triton's interpreter."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
runs = pytest.mark.skipif(
    not (INTERPRETED or torch.cuda.is_available()), reason="needs a GPU; runs under the interpreter in a process of its own"
)


def interpret(file):
    """Run the tests of a file under the interpreter, which must pass."""
    import triton

    if INTERPRETED:
        pytest.skip("this is that process")
    # until 3.6 the interpreter turned arrays of one number into numbers
    if version(triton) <= (3, 6) and version(np) >= (2, 5):
        pytest.skip("the interpreter of this Triton fails with this NumPy")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", file]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr


def version(module):
    return tuple(map(int, module.__version__.split(".")[:2]))
