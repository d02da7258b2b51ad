"""One pair of points in Triton; what it computes is tested with the kernels, in test_gpu.py."""

import re
from pathlib import Path

import pytest

from qgcn.kernels.pairs import cpu
from qgcn.numerics import ARC_LIMIT, arc_polynomial


def test_triton_and_cpp_take_the_polynomial_of_the_numerics():
    source = (Path(cpu.__file__).parent / "separation.h").read_text()
    assert int(re.search(r"DEGREE = (\d+)", source)[1]) == len(arc_polynomial()) - 1
    pytest.importorskip("triton")
    from qgcn.kernels.pairs import gpu_pair

    assert tuple(gpu_pair._POLYNOMIAL.value) == tuple(arc_polynomial())
    assert gpu_pair._DEGREE.value == len(arc_polynomial()) - 1
    assert gpu_pair._LIMIT.value == ARC_LIMIT
