"""A short version of ``make chaos``: every scenario, a few attempts of each."""

import subprocess
import sys
from pathlib import Path


def test_a_run_ends_as_if_nothing_had_been_or_says_why_not_in_a_line():
    """In a process of its own, which forks others: this one has threads."""
    process = subprocess.run([sys.executable, Path(__file__).parent, "1", "0.06"], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    rows = [line for line in process.stdout.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 10, process.stdout
    assert all(row.endswith("| 0 |") for row in rows), process.stdout
