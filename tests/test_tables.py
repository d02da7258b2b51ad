"""Every score in a table of README and manual is rendered from a committed line."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "experiments" / "tables.py"
SCORED = ["README.md", *(f"docs/{name}.md" for name in ("results", "reproduction", "reconstruction", "training", "encoders"))]
SCORED += ["docs/yardsticks.md", "docs/analysis.md", "docs/index.md", "docs/directed.md", "docs/blocks.md"]
COSTS = ("| | time | memory |", "| graph | before, idle |", "| nodes | `sdpa` |", "| nodes, machine |")
"""Tables of these pages that hold no scores, but seconds and memory of one machine."""
SETTINGS = ("| protocol of | settings |", "| | links | classes | reconstruction |", "| cone | spaces |")
"""Tables of settings."""
PLACE = re.compile(r"<!-- table: [\w-]+ -->.*?<!-- end -->", re.DOTALL)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    found = importlib.util.spec_from_file_location("tables_of_the_manual", SCRIPT)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    yield module
    for name in (
        "arrow_dimensions",
        "batches",
        "boundary",
        "dimensions",
        "directed",
        "encoders",
        "frontier",
        "searched",
        "signature",
    ):
        sys.modules.pop(name, None)


def test_all_tables_are_as_their_lines_say():
    result = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_number_that_was_changed_by_hand_is_noticed_and_written_again(script, tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    right = (ROOT / "docs" / "reconstruction.md").read_text()
    wrong = right.replace("| nothing | 94.54 |", "| nothing | 94.55 |")
    assert wrong != right
    page.write_text(wrong)
    monkeypatch.setattr(script, "PAGES", [page])
    monkeypatch.setattr(script, "HERE", tmp_path / "experiments")
    monkeypatch.setattr(sys, "argv", ["tables.py", "--check"])
    assert script.main() == 1
    assert page.read_text() == wrong
    monkeypatch.setattr(sys, "argv", ["tables.py"])
    assert script.main() == 0
    assert page.read_text() == right
    assert capsys.readouterr().out == "page.md: not up to date\npage.md: written\n"


@pytest.mark.parametrize("page", SCORED)
def test_no_table_of_scores_is_written_by_hand(page):
    by_hand = PLACE.sub("", (ROOT / page).read_text())
    tables = re.findall(r"(?:^\|.*\n)+", by_hand, re.MULTILINE)
    scored = [table for table in tables if re.search(r"\d\.\d", table) and not table.startswith((*COSTS, *SETTINGS))]
    assert scored == []


def test_every_table_has_a_place_in_the_manual(script):
    placed = {name for page in script.PAGES for name in script.names_in(page.read_text())}
    assert placed == set(script.tables())
