"""The command line in an empty folder."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from qgcn.cli import main

SCRIPT = Path(sys.executable).parent / "qgcn"


def listing(folder):
    """Everything below a folder, hidden files too, with what is in it."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in Path(folder).rglob("*")}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here, capsys):
    """The command line in this process, or as a real process."""

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    def works(*arguments):
        code, out, err = call(*arguments)
        assert (code, err) == (0, ""), err
        return out

    def fails(*arguments):
        """Check that one line is all that a failure leaves behind; return the line."""
        before = listing(here)
        code, _, err = call(*arguments)
        assert code == 2
        one_line(err)
        assert listing(here) == before
        return err

    def one_line(err):
        assert err.startswith("qgcn: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in err

    def start(*arguments):
        return subprocess.Popen(
            [SCRIPT, *map(str, arguments)],
            cwd=here,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return types.SimpleNamespace(works=works, fails=fails, one_line=one_line, start=start, listing=lambda: listing(here))
