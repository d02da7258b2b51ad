"""What a type checker says about code that uses the package."""

import subprocess
import sys
from pathlib import Path

import geoopt
import pytest

from qgcn.manifolds.typed import Manifold

ROOT = Path(__file__).parents[2]

RIGHT = """
import torch
import qgcn

space = qgcn.parse_space("Q4,2")
x: torch.Tensor = space.random(3, 6)
distance: torch.Tensor = space.dist0(x)
middle: torch.Tensor = space.expmap(x, 0.5 * space.logmap(x, x))
density: torch.Tensor = space.wrapped_normal(x, 0.5).log_prob(middle)
beta: float = qgcn.PseudoHyperboloid(4, 2).beta.item()
optimiser = qgcn.optim.PseudoRiemannianAdam([x], lr=0.1)
"""
WRONG = {
    "qgcn.nosuch": 'Module has no attribute "nosuch"',
    "qgcn.analysis.nosuch": 'Module has no attribute "nosuch"',
    "qgcn.manifolds.nosuch": 'Module has no attribute "nosuch"',
    "space.dist0('x')": 'Argument 1 to "dist0" of "Space" has incompatible type "str"',
    "space.dist0(x, x)": 'Too many positional arguments for "dist0"',
    "space.dist0(x) + 'x'": "Unsupported operand types",
    "space.nosuch(x)": '"Space" has no attribute "nosuch"',
    "space.dist_0": '"Space" has no attribute "dist_0"; maybe "dist0"?',
    "qgcn.PseudoHyperboloid(4, 2).nosuch": '"PseudoHyperboloid" has no attribute "nosuch"',
    "space.expmap(x)": 'Missing positional argument "u" in call to "expmap"',
    "qgcn.parse_space(3)": 'Argument 1 to "parse_space" has incompatible type "int"',
    "qgcn.PseudoHyperboloid(4, '2')": 'Argument 2 to "PseudoHyperboloid" has incompatible type "str"',
}


def test_at_run_time_it_is_geoopts():
    assert Manifold is geoopt.Manifold


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """The complaints of mypy about right code followed by wrong lines, by line."""
    pytest.importorskip("mypy")
    script = tmp_path_factory.mktemp("typed") / "snippet.py"
    script.write_text(RIGHT + "\n".join(WRONG) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--no-error-summary", script]
    environment = {"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert found.stderr == ""
    by_line = {}
    for line in found.stdout.splitlines():
        path, number, rest = line.split(":", 2)
        if "note:" not in rest:
            by_line.setdefault((Path(path).name, int(number)), []).append(rest)
    return by_line


def test_mypy_accepts_code_that_is_right(complaints):
    assert [key for key in complaints if key[0] != "snippet.py" or key[1] <= RIGHT.count("\n")] == []


@pytest.mark.parametrize("line", WRONG)
def test_mypy_catches_what_is_not_there_and_what_does_not_fit(complaints, line):
    number = RIGHT.count("\n") + 1 + list(WRONG).index(line)
    assert any(WRONG[line] in each for each in complaints.get(("snippet.py", number), [])), complaints
