"""The list of commands, and the one that is called."""

import subprocess
import sys

import pytest

import qgcn
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


def test_help_does_not_wait_for_what_it_does_not_need():
    code = "import sys, qgcn.cli\ntry: qgcn.cli.main(['train', 'links', '--help'])\nexcept SystemExit: pass\n"
    code += "print([name for name in ('torch_geometric', 'lightning_fabric', 'sklearn', 'networkx') if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
