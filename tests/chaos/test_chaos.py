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


def test_a_finished_run_in_a_folder_that_cannot_be_written_is_reported_elsewhere_and_asked(tmp_path):
    def qgcn(*words):
        command = [sys.executable, Path(__file__).parent / "faults.py", "obey-permissions", "--", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert qgcn("train", "links", "--data", "cycle", "--space", "Q3,2", "--epochs", "3", "--out", "run").returncode == 0
    run = tmp_path / "run"
    for path in (run, *run.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        plain = ("--no-umap", "--no-geometry")
        refused = qgcn("report", "run", *plain)
        assert (refused.returncode, refused.stderr) == (2, "qgcn: cannot write to run: Permission denied\n")
        for words in (("report", "run", *plain, "--out", "page.html"), ("recommend", "run"), ("resume", "run")):
            done = qgcn(*words)
            assert (done.returncode, done.stderr) == (0, ""), done
        assert "<html" in (tmp_path / "page.html").read_text()[:2000]
    finally:
        for path in (run, *run.rglob("*")):
            path.chmod(0o755)
