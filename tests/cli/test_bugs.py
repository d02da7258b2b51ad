"""Errors of qgcn itself: one line, a file with the traceback, exit code 70."""

import re
import tempfile
from pathlib import Path

import pytest

import qgcn
from qgcn.cli import main
from qgcn.cli.bugs import describe


@pytest.fixture
def broken(monkeypatch, tmp_path, here):
    """A command that fails by a mistake of ours, and a folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def break_by(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("qgcn.data.datasets", fail)
        return folder

    return break_by


@pytest.mark.parametrize("error", [TypeError("no len()"), KeyError("x"), RuntimeError("shapes"), RecursionError("deep\nly")])
def test_a_bug_is_one_line_a_file_and_exit_code_70(broken, capsys, error):
    folder = broken(error)
    with pytest.raises(SystemExit) as stop:
        main(["datasets"])
    assert stop.value.code == 70
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert re.match(
        rf"qgcn: an error of qgcn itself \({type(error).__name__}: .*\); please report it with {folder}/qgcn-error-", line
    )
    (file,) = folder.iterdir()
    assert line.rstrip().endswith(str(file))
    told = file.read_text()
    assert f"qgcn {qgcn.__version__}, Python " in told
    assert "Traceback (most recent call last)" in told
    assert "in fail" in told


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("no"), 2), (OSError("no"), 2), (MemoryError(), 2), (LookupError(), 70)]
)
def test_invalid_input_is_no_bug(broken, error, code):
    folder = broken(error)
    with pytest.raises(SystemExit) as stop:
        main(["datasets"])
    assert stop.value.code == code
    assert len(list(folder.iterdir())) == (code == 70)


def test_a_traceback_that_cannot_be_written_is_no_second_error(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    assert describe(TypeError("x")) == (
        "an error of qgcn itself (TypeError: x); its traceback could not be written (No such file or directory)"
    )


def test_an_argument_that_is_not_utf8_is_one_line(command):
    assert (
        command.fails("analyze", "caf\udce9.csv") == "qgcn: the argument 'caf\\udce9.csv' is not UTF-8 text; rename the file\n"
    )


def test_escapes_of_a_file_are_shown_on_a_terminal_and_not_obeyed(command):
    Path("g.csv").write_text("a,b\n\x1b[2J,\n")
    assert command.fails("analyze", "g.csv", "--no-trials") == "qgcn: g.csv, line 2: column 2 is empty\n"
    Path("labels.csv").write_text("\x1b]0;x\x07,red\n")
    line = command.fails("train", "classification", "--data", "g.csv", "--labels", "labels.csv", "--features", "\x1b[2J.csv")
    assert "\x1b" not in line
    line = command.fails("analyze", "\x1b[2J")
    assert "\\x1b[2J" in line
    assert "\x1b" not in line
