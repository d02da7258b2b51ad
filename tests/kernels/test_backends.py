import importlib.util
import os
import subprocess
import sys
import threading

import pytest
import torch

from qgcn import parse_space
from qgcn.kernels import backend, reconstruction_loss, use_backend
from qgcn.kernels.backends import Implementation, assumed_constant, choose

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


def test_a_forced_path_compiles_nothing():
    """What is not asked for is not looked for: the eager path starts no compiler."""
    code = """
import torch
from qgcn import parse_space
from qgcn.kernels import backend, reconstruction_loss, use_backend
from qgcn.kernels.pairs import cpu
with use_backend("eager"):
    reconstruction_loss(torch.randn(4, 2), torch.tensor([[0], [1]]), parse_space("E2"))
assert backend() == "eager"
assert "_loaded" not in vars(cpu._LIBRARY)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_the_first_implementation_that_can_is_chosen_and_its_module_imported_when_asked_for():
    loaded = []
    rows = [
        Implementation("triton", lambda number: "odd" if number % 2 else None, lambda: loaded.append("triton")),
        Implementation("eager", lambda number: None, lambda: loaded.append("eager")),
    ]
    assert choose(rows, 2).name == "triton"
    assert backend() == "triton"
    found = choose(rows, 3)
    assert (found.name, backend(), loaded) == ("eager", "eager", [])
    found.module()
    assert loaded == ["eager"]
    with use_backend("triton"), pytest.raises(ValueError, match="backend triton cannot be used: odd"):
        choose(rows, 3)


def test_a_constant_is_marked_as_pytorch_marks_it():
    def ours():
        return 1

    def theirs():
        return 1

    assert vars(assumed_constant(ours)) == vars(torch.compiler.assume_constant_result(theirs)) != {}
    assert assumed_constant(ours) is ours
