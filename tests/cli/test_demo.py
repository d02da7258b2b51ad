"""The real command in a real process."""

import signal
import subprocess
import sys

import pytest

import qgcn


def run(*arguments, cwd=None):
    return subprocess.run([sys.executable, "-m", "qgcn", *arguments], capture_output=True, text=True, timeout=300, cwd=cwd)


def test_demo_embeds_the_graph_and_ends_with_a_report(tmp_path):
    result = run("demo", "--steps", "150", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "180 nodes" in result.stdout
    line = next(line for line in result.stdout.splitlines() if "neighbours found" in line)
    before, after = (float(part.strip().rstrip("%")) for part in line.replace("│", "┃").split("┃")[2:4])
    assert before < 5
    assert after > 90
    assert "150/150" in result.stdout
    path = tmp_path / "runs" / "demo.html"
    assert result.stdout.splitlines()[-1] == f"Open it in a browser: {path}"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '"analysis":{"graph":"ring-of-trees"' in page


def test_version_and_help(command):
    assert command.works("--version") == f"qgcn {qgcn.__version__}\n"
    assert "--space" in command.works("demo", "--help")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("demo", "--space", "Q0,0"), "no space 'Q0,0': time_dim must be at least 1, got 0"),
        (("demo", "--space", "R10"), "unknown space 'R10': expected E10, H10"),
        (("demo", "--report", "/proc/none/demo.html"), "cannot write to /proc/none"),
        (("demo", "--steps", "0"), "--steps"),
        (("demo", "--steps", "many"), "--steps"),
        (("demo", "--sapce", "H5"), "--sapce"),
        (("damo",), "damo"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_exit_code_2(command, arguments, expected):
    assert expected in command.fails(*arguments)


def test_ctrl_c_is_answered_in_one_line(command):
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        assert command.fails("demo", "--steps", "1000000") == "qgcn: interrupted\n"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_module_is_the_command():
    result = run("demo", "--space", "R10")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("qgcn: unknown space 'R10'")
    assert result.stderr.count("\n") == 1
