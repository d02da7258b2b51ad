"""How the compiled functions come to be; what they compute is tested with the functions that use them."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, distances_from, reconstruction_loss, sampled_reconstruction_loss, use_backend
from qgcn.kernels.attention import attend
from qgcn.kernels.metric import factors_of
from qgcn.kernels.pairs import cpu
from qgcn.kernels.pairs.blocks import FIRST_PAIRS
from qgcn.kernels.pairs.points import Energy, Points, layout_of, sizes_of
from qgcn.metrics import mean_average_precision

CODE = """
import torch
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, average_precision, backend, nearest_neighbours, reconstruction_loss, use_backend
from qgcn.kernels.pairs import cpu

space = parse_space("Q2,2")
x = space.random(40, 4, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor).requires_grad_()
edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
loss = reconstruction_loss(x, edges, space)
assert torch.autograd.grad(loss, x)[0].isfinite().all()
taken = {backend()}
nearest_neighbours(x, space, 3)
taken.add(backend())
average_precision(x, Neighbourhoods.of(edges, 40), space)
taken.add(backend())
(path,) = taken
print(path, f"{loss.item():.4f}", cpu.obstacle(), sep="|")
try:
    with use_backend("native"):
        reconstruction_loss(x, edges, space)
except ValueError as error:
    print(error)
"""


def run(**changes):
    """Run the code in a process with these variables changed; return what it says."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **changes}
    result = subprocess.run(
        [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def program(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")
def test_what_is_compiled_is_kept_for_the_next_process(tmp_path):
    assert run(XDG_CACHE_HOME=str(tmp_path))[0].startswith("native|")
    (made,) = (tmp_path / "qgcn" / "kernels").iterdir()
    assert stat.S_IMODE(made.parent.stat().st_mode) & 0o077 == 0
    before = made.stat().st_mtime_ns
    assert run(XDG_CACHE_HOME=str(tmp_path))[0].startswith("native|")
    assert [each.stat().st_mtime_ns for each in made.parent.iterdir()] == [before]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"CXX": "no-such-compiler"}, "no C++ compiler was found: looked for no-such-compiler as named by $CXX"),
        ({"PATH": "", "CXX": ""}, "no C++ compiler was found: looked for c++, g++, clang++"),
        ({"PATH": "/no/such/folder", "CXX": ""}, "no C++ compiler was found: looked for c++, g++, clang++"),
    ],
)
def test_without_a_compiler_plain_pytorch_takes_over(changes, reason):
    path, loss, said = (line := run(**changes))[0].split("|")
    assert (path, said) == ("eager", reason)
    assert line[1] == f"backend native cannot be used: {reason}"
    assert float(loss) == pytest.approx(float(run()[0].split("|")[1]), abs=2e-4)


def test_if_the_compiler_fails_plain_pytorch_takes_over(tmp_path):
    broken = program(tmp_path / "broken", '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "no memory left" >&2\nexit 1\n')
    path, _, said = run(CXX=broken, XDG_CACHE_HOME=str(tmp_path))[0].split("|")
    assert (path, said) == ("eager", f"{broken} failed: no memory left")
    assert list((tmp_path / "qgcn" / "kernels").iterdir()) == []  # nothing half done is left


def test_if_nothing_can_be_kept_plain_pytorch_takes_over(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    path, _, said = run(XDG_CACHE_HOME=str(blocked))[0].split("|")
    assert path == "eager"
    assert said.startswith("the compiled functions could not be kept or loaded:")


def test_the_source_is_part_of_the_package():
    folder = Path(cpu.__file__).parent
    assert all((folder / name).is_file() for name in ("pairs.cpp", "packs.h", "separation.h", "../lanes.h"))


def test_results_do_not_depend_on_the_default_type():
    space = parse_space("Q2,2")
    points = space.random(40, 4, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    edges = torch.stack((torch.arange(39), torch.arange(1, 40)))

    def everything():
        x = points.clone().requires_grad_()
        with use_backend("native"):
            loss = reconstruction_loss(x, edges, space)
            loss.backward()
            return loss, x.grad, distances_from(points, range(5), space), mean_average_precision(points, edges, space)

    plain = everything()
    torch.set_default_dtype(torch.float64)
    try:
        other = everything()
    finally:
        torch.set_default_dtype(torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(plain, other, strict=True))


def test_a_compiler_may_be_a_command_with_arguments(tmp_path):
    code = (
        "import torch, qgcn\nfrom qgcn.kernels import backend, distances_from\n"
        "distances_from(torch.ones(3, 2), range(3), qgcn.parse_space('E2'))\nprint(backend())"
    )
    environment = os.environ | {"CXX": "env c++", "XDG_CACHE_HOME": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "native"


def test_a_cache_that_others_can_write_to_is_not_trusted(tmp_path):
    (tmp_path / "qgcn" / "kernels").mkdir(parents=True)
    (tmp_path / "qgcn" / "kernels").chmod(0o777)
    code = "from qgcn.kernels.pairs import cpu\nprint(cpu.obstacle())"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "kernels can be written by everybody" in found.stdout


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
def test_a_pass_in_blocks_is_the_pass():
    """More pairs than one block has, and rows in the middle of all: to the last bit what fewer rows at a time give."""
    space, n = parse_space("Q1,1xE1"), 6000
    x = space.random(n, space.ambient_dim, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    factors = factors_of(space)
    points, energy = Points.of(x, sizes_of(factors, x).detach(), layout_of(factors)), Energy(torch.tensor(0.7), True)
    ring = torch.stack((torch.arange(n), (torch.arange(n) + 1) % n))
    graph = Neighbourhoods.of(torch.cat((ring, ring.flip(0)), dim=1), n)
    words, weight = graph.itself_and_neighbours, torch.linspace(0, 1, n)

    def found(rows):
        log = cpu.log_sum(points, energy, words[0], rows)
        gradient, _ = cpu.log_sum_gradient(points, energy, -weight, weight, words, rows)
        return log, gradient, cpu.average_precision(points, graph.start, graph.target, rows)

    rows = range(100, n)
    assert len(rows) * n > 2 * FIRST_PAIRS
    parts = [found(range(first, min(first + 2000, n))) for first in range(100, n, 2000)]
    for whole, *pieces in zip(found(rows), *parts, strict=True):
        assert torch.equal(whole, torch.cat(pieces))


KERNELS = {  # of pairs.cpp, mutual.cpp, sampled.cpp and attention.cpp
    "rows": lambda x, space: reconstruction_loss(x[:100], CHAIN, space),
    "pairs computed once": lambda x, space: reconstruction_loss(x, CHAIN, space),
    "drawn columns": lambda x, space: sampled_reconstruction_loss(x, Neighbourhoods.of(CHAIN, len(x)), space, torch.arange(64)),
    "attention": lambda x, space: attend(x, x, x.detach(), space, torch.tensor(1.0))[0].sum(),
}
CHAIN = torch.stack((torch.arange(99), torch.arange(1, 100)))


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
@pytest.mark.parametrize("kernel", KERNELS)
def test_numbers_too_small_to_be_normal_stay_what_they_are_for_the_caller(kernel):
    """Kernels take them for zero while they run, in threads that PyTorch computes in, too."""
    space = parse_space("Q2,2")
    x = space.random(600, 4, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor).requires_grad_()
    tiny = torch.full((1_000_000,), 1e-40)  # enough to be shared out among threads
    with use_backend("native"):
        loss = KERNELS[kernel](x, space)
        assert (tiny * 0.5 > 0).all()
        loss.backward()
    assert (tiny * 0.5 > 0).all()
