"""``qgcn info`` on this machine."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import torch

import qgcn
from qgcn.cli import info as module


def test_what_is_installed_and_where_is_told(command, here, monkeypatch):
    monkeypatch.setenv("QGCN_DATA", str(here / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    found = json.loads(command.works("info", "--json"))
    assert found["qgcn"] == qgcn.__version__
    assert found["packages"]["torch"] == version("torch")
    assert found["folder"] == str(Path(qgcn.__file__).parent)
    assert found["threads"] == torch.get_num_threads()
    assert found["data"] == {"folder": str(here / "data"), "exists": False, "from": "QGCN_DATA"}
    assert found["cache"] == str(Path(os.environ["XDG_CACHE_HOME"]) / "qgcn" / "kernels")
    assert found["device"].startswith("cuda: " if torch.cuda.is_available() else "cpu: ")
    words = " ".join(command.works("info").split())
    assert f"torch {version('torch')}" in words
    assert "($QGCN_DATA), not there yet" in words


def test_kernels_are_those_that_calls_take():
    from qgcn.kernels import backend, distances_from

    found = module._kernels("cpu")
    space = qgcn.parse_space("Q7,3")
    distances_from(space.random(5, 10).detach(), range(2), space)
    assert found["all pairs"]["backend"] == backend()
    assert set(found) == {"all pairs", "sparse products", "dropout masks", "bias translation"}


def test_without_a_compiler_and_figures_it_says_so(here):
    """In a process of its own: a compiler is looked for once. Installed packages are those of an empty folder."""
    hidden = "import importlib.metadata as m; m.MetadataPathFinder.find_distributions = lambda *given, **more: iter(())\n"
    (here / "sitecustomize.py").write_text(hidden)
    paths = os.pathsep.join((str(here), os.environ.get("PYTHONPATH", "")))
    result = subprocess.run(
        [sys.executable, "-m", "qgcn", "info"],
        env=os.environ | {"CXX": "no-such-compiler", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": paths, "COLUMNS": "300"},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    lines = [line.strip() for line in result.stdout.splitlines()]
    why = "(no C++ compiler was found: looked for no-such-compiler as named by $CXX)"
    assert f"kernels   all pairs: plain PyTorch, 12 to 44 times slower than compiled C++ {why}" in lines
    assert f"sparse products, dropout masks, bias translation: plain PyTorch {why}" in lines
    assert "not installed: matplotlib, umap-learn (pip install 'qgcn[viz]')" in lines
