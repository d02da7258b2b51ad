"""The list of commands, and the one that is called."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import types

import pytest

import qgcn
from qgcn.cli import _signals_answered
from qgcn.cli.app import _COMMANDS, build_app


def registered(*arguments):
    """Return the commands of an app by name, and those that do nothing."""
    app = build_app(list(arguments))
    commands = {each.name: each.callback for each in app.registered_commands}
    idle = {name for name, callback in commands.items() if callback.__name__ == "_unused"}
    return {*commands, *(group.name for group in app.registered_groups)}, idle


@pytest.mark.parametrize("name", _COMMANDS)
def test_the_command_that_is_called_is_there_and_the_others_are_names(name):
    names, idle = registered("--verbose", name, "--help")
    assert names == set(_COMMANDS)
    assert idle == set(_COMMANDS) - {name}


def test_without_a_command_all_are_names():
    assert registered() == registered("--help") == (set(_COMMANDS), set(_COMMANDS))


def test_the_list_says_what_each_command_is_for(command):
    words = " ".join(command.works("--help").replace("│", " ").split())
    for name, about in _COMMANDS.items():
        assert f"{name} {about}" in words


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_command_has_help_of_its_own(command, name):
    text = command.works(name, "--help")
    assert f" {name} " in text.splitlines()[1]
    assert _COMMANDS[name].split(":")[0].split(",")[0].removesuffix(".") in " ".join(text.replace("│", " ").split())


def test_the_version_is_said(command):
    assert command.works("--version") == f"qgcn {qgcn.__version__}\n"


def test_a_command_of_nobody_is_refused(command):
    assert "No such command 'trian'" in command.fails("trian")


def on_a_terminal(folder, *arguments):
    """Run a command in a pseudo-terminal; return what it shows, without colours."""
    pid, screen = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "qgcn", *arguments])  # noqa: S606
    shown = b""
    with os.fdopen(screen, "rb", buffering=0) as file:
        while chunk := _read(file):
            shown += chunk
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def _read(file):
    try:
        return file.read(4096)
    except OSError:  # Linux says so at the end
        return b""


def test_progress_is_shown_before_anything_slow_is_done(here, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    settings = ("--data", "ring-of-trees", "--space", "H2", "--epochs", "1", "--out", "run")
    shown = on_a_terminal(here, "train", "reconstruction", *settings)
    places = [shown.index(text) for text in ("loading PyTorch", "reading: ring-of-trees", "180 nodes", "Written to run")]
    assert places == sorted(places)
    shown = on_a_terminal(here, "report", "run", "--no-umap", "--no-geometry")
    places = [shown.index(text) for text in ("loading PyTorch", "reading: run", "Written to run")]
    assert places == sorted(places)


@pytest.mark.parametrize("arguments", [[], ["report"], ["analyze"], ["datasets"], ["info"], ["demo"]])
def test_help_does_not_wait_for_pytorch(arguments):
    code = f"import sys, qgcn.cli\ntry: qgcn.cli.main([*{arguments}, '--help'])\nexcept SystemExit: pass\n"
    code += "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


SLOW = ("torch_geometric", "torch._dynamo", "sympy", "triton", "lightning_fabric", "pandas", "sklearn", "networkx", "numba")
"""What takes long to import, and training alone needs."""


def test_help_of_a_task_does_not_wait_for_what_it_does_not_need():
    code = "import sys, qgcn.cli\ntry: qgcn.cli.main(['train', 'links', '--help'])\nexcept SystemExit: pass\n"
    code += f"print([name for name in {SLOW} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_what_a_training_is_about_to_do_is_shown_before_anything_slow_is_imported(here):
    (here / "pairs.csv").write_text("source,target\n" + "".join(f"{k},{(k + 1) % 40}\n" for k in range(40)))
    code = f"""
import sys, qgcn.cli
write, seen = sys.stdout.write, []
def watched(text):
    seen.append((text, [name for name in {SLOW} if name in sys.modules]))
    return write(text)
sys.stdout.write = watched
try: qgcn.cli.main("train links --data pairs.csv --epochs 1 --no-yardsticks --device cpu --out run".split())
except SystemExit as end: assert not end.code
first = next(each for each in seen if each[0].strip())
print(file=sys.stderr, *first)
print(file=sys.stderr, *seen[-1][1])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    line, imported, later = result.stderr.splitlines()
    assert line.startswith("links on ")
    assert line.endswith("pairs.csv: qgcn in Q15,1 (hyperbolic, 15 dimensions), cpu.")
    assert imported.strip() == "[]"
    assert "torch_geometric" in later  # the test sees what is imported


def test_nothing_is_imported_before_ctrl_c_is_answered():
    told = "import sys, qgcn.cli; print(sorted({'rich', 'torch', 'typer'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("given", [["--help"], ["--version"], ["datasets"]])
def test_a_reader_that_has_enough_is_no_error(given):
    reading, writing = os.pipe()
    os.close(reading)  # as of head, which is gone before anything is written
    done = subprocess.run([sys.executable, "-m", "qgcn", *given], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_pytorch_is_imported(monkeypatch, number):
    """An exception that leaves PyTorch's C++ while it is imported ends the process with a message of C++."""
    spec = types.SimpleNamespace(_initializing=True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(__spec__=spec))
    before = signal.getsignal(number)
    with _signals_answered():
        signal.raise_signal(number)
        spec._initializing = False
        with pytest.raises(KeyboardInterrupt):
            time.sleep(60)
    assert signal.getsignal(number) == before
