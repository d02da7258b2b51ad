"""Every script in ``examples/`` runs, prints what it should, and warns of nothing."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "classify_graphs": r"right for (5[4-9]|60) of the 60 test graphs",
    "classify_nodes": r"right for (7\d|80) of the 80 people whose village was not given",
    "embed_edge_list": r"77 nodes in Q4,2, mAP (0\.9\d\d|1\.000)\nnearest to \w+: (\w+, ){4}\w+\n",
    "geoopt_optimiser": r"geoopt  step 200  loss 0\.\d+  mAP 0\.9(.|\n)*qgcn    step 200  loss 0\.\d+  mAP 0\.9",
    "own_encoder": r"links +roc_auc +0\.[89]\d+ ± (.|\n)*classification +accuracy +(0\.9|1\.0)",
    "pyg_model": r"epoch 100  loss 0\.0\d+  val 0\.9\d+  test (0\.9|1\.0)\d+\ncurvature learned: -",
    "recommend_links": r"linked with probability 0\.\d\d\n(.|\n)*node +other +probability +spread\n",
}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_example_runs_and_prints(name, tmp_path):
    result = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(SAYS[name], result.stdout), result.stdout


def test_examples_are_listed():
    listed = set(re.findall(r"\[(\w+)\.py\]", (EXAMPLES / "README.md").read_text()))
    assert listed == set(SAYS) == {path.stem for path in EXAMPLES.glob("*.py")}


def test_an_example_takes_files_of_ones_own(here, monkeypatch, capsys):
    (here / "edges.csv").write_text("ann,bob\nbob,cem\ncem,dan\ndan,ann\n")
    monkeypatch.setattr(sys, "argv", ["embed_edge_list.py", "edges.csv"])
    runpy.run_path(str(EXAMPLES / "embed_edge_list.py"))
    assert "nearest to ann: " in capsys.readouterr().out
