import importlib.util
import os
import subprocess
import sys
import sysconfig
import threading

import pytest
import torch

from cases import settled_points
from qgcn import parse_space
from qgcn.kernels import backend, backends, cpu, reconstruction_loss, use_backend
from qgcn.manifolds import Product

INCLUDE = sysconfig.get_path("include", "posix_prefix")
EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def loss(name="Q2,2", dtype=torch.float32):
    space = parse_space(name)
    x = space.random(8, space.ambient_dim, dtype=dtype).as_subclass(torch.Tensor)
    return reconstruction_loss(x, EDGES, space)


def test_float32_on_the_cpu_is_compiled_and_float64_is_not():
    loss()
    assert backend() == "native"
    loss(dtype=torch.float64)
    assert backend() == "eager"


def test_a_space_with_an_unknown_factor_is_eager():
    loss("K3")
    assert backend() == "eager"
    loss("K3xE2")
    assert backend() == "eager"


def test_each_thread_remembers_its_own():
    loss()
    found = []
    thread = threading.Thread(target=lambda: found.append(backend()))
    thread.start()
    thread.join()
    assert found == [None]
    assert backend() == "native"


def test_a_path_asked_for_is_taken_and_left_again():
    with use_backend("eager"):
        loss()
        assert backend() == "eager"
        with use_backend("native"):
            loss()
            assert backend() == "native"
        loss()
        assert backend() == "eager"
    loss()
    assert backend() == "native"
    with pytest.raises(ZeroDivisionError), use_backend("eager"):
        1 / 0  # noqa: B018
    loss()
    assert backend() == "native"


def test_a_path_that_is_none_is_refused():
    with pytest.raises(ValueError, match="backend must be one of triton, native, eager, got 'cuda'"), use_backend("cuda"):
        pass


@pytest.mark.parametrize(
    ("path", "name", "dtype", "message"),
    [
        ("native", "Q2,2", torch.float64, "native cannot be used: points are torch.float64, expected torch.float32"),
        ("native", "K3", torch.float32, "native cannot be used: K3 has a factor that is neither flat nor a quadric"),
        pytest.param(
            "triton",
            "Q2,2",
            torch.float32,
            "triton cannot be used: points are on cpu, expected a GPU",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1", reason="needs triton"
            ),
        ),
    ],
)
def test_a_path_that_cannot_be_taken_says_why(path, name, dtype, message):
    with use_backend(path), pytest.raises(ValueError, match=f"backend {message}"):
        loss(name, dtype)


def test_more_factors_than_the_compiled_code_has_room_for_are_eager():
    space = Product(*(parse_space("E1") for _ in range(cpu.MOST_FACTORS + 1)))
    x = torch.randn(8, space.ambient_dim)
    reconstruction_loss(x, EDGES, space)
    assert backend() == "eager"
    with use_backend("native"), pytest.raises(ValueError, match="has 65 factors, expected at most 64"):
        reconstruction_loss(x, EDGES, space)
    most = Product(*(parse_space("E1") for _ in range(cpu.MOST_FACTORS)))
    found = reconstruction_loss(x[:, :64], EDGES, most)
    assert backend() == "native"
    torch.testing.assert_close(found, reconstruction_loss(x[:, :64], EDGES, parse_space("E64")))


def test_points_with_too_few_coordinates_are_refused_before_they_are_read():
    x = settled_points(parse_space("Q7,3"), 8)
    for path in ("native", "eager"):
        with use_backend(path), pytest.raises(ValueError, match=r"10 coordinates in Q7,3, got shape \(8, 9\)"):
            reconstruction_loss(x[:, :9].contiguous(), EDGES, parse_space("Q7,3"))


def test_a_forced_path_compiles_nothing():
    """What is not asked for is not looked for: the eager path starts no compiler."""
    code = """
import torch
from qgcn import parse_space
from qgcn.kernels import backend, backends, cpu, reconstruction_loss, use_backend
with use_backend("eager"):
    reconstruction_loss(torch.randn(4, 2), torch.tensor([[0], [1]]), parse_space("E2"))
assert backend() == "eager"
assert cpu._library.cache_info().currsize == 0
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.fixture
def fresh_look():
    backends._missing_tools.cache_clear()
    yield
    backends._missing_tools.cache_clear()


@pytest.mark.usefixtures("fresh_look")
def test_triton_is_not_taken_where_it_could_not_compile(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert backends._missing_tools() == "triton needs a C compiler: looked for gcc, clang"
    monkeypatch.setenv("CC", "other-cc")
    backends._missing_tools.cache_clear()
    assert backends._missing_tools() == "triton needs a C compiler: looked for other-cc as named by $CC"
    compiler = tmp_path / "other-cc"
    compiler.write_text("#!/bin/sh")
    compiler.chmod(0o755)
    backends._missing_tools.cache_clear()
    assert backends._missing_tools() in (None, f"triton needs the headers of Python: there is no {INCLUDE}/Python.h")
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
    backends._missing_tools.cache_clear()
    assert backends._missing_tools() == f"triton needs the headers of Python: there is no {tmp_path}/Python.h"
