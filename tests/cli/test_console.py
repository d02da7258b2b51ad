import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

import qgcn.cli
from qgcn.cli.console import Console as SafeConsole
from qgcn.cli.console import progress_bars


def shown(is_terminal, calls):
    out = io.StringIO()
    with progress_bars(Console(file=out, force_terminal=is_terminal, width=100, legacy_windows=False)) as progress:
        live = progress._bars
        for call in calls:
            progress(*call)
        bars = [(bar.description, bar.completed, bar.total) for bar in live.tasks]
        live.refresh()
    return bars, out.getvalue()


def test_a_new_stage_takes_the_place_of_the_one_before():
    bars, text = shown(True, [("delta", 1, 2), ("delta", 2, 2), ("trials", 5, 90, "Q2,1"), ("trials", 20, 90, "H3")])
    assert bars == [("trials: H3", 20, 90)]
    assert "trials: H3" in text
    assert "20/90" in text


def test_a_total_that_is_not_known_is_not_shown():
    bars, text = shown(True, [("reading",)])
    assert bars == [("reading", 0, None)]
    assert "0/" not in text


def test_nothing_is_written_where_there_is_no_terminal():
    assert shown(False, [("delta", 1, 2), ("trials", 5, 90, "Q2,1")])[1] == ""


def test_names_are_text():
    bars, text = shown(True, [("runs/[bold]x[/]", 0, 0, "[red]")])
    assert "runs/[bold]x[/]: [red]" in text
    assert len(bars) == 1


def test_bars_end_with_an_error():
    out = io.StringIO()

    def work():
        with progress_bars(Console(file=out, force_terminal=True)) as progress:
            progress("delta", 1, 2)
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        work()
    assert out.getvalue().endswith("\x1b[2K")  # the line of the bar is erased


def test_a_paused_bar_is_gone_until_it_goes_on():
    out = io.StringIO()
    with progress_bars(Console(file=out, force_terminal=True, width=100, legacy_windows=False)) as progress:
        progress("training", 1, 2)
        with progress.paused():
            assert not progress._bars.live.is_started
            before = out.getvalue()
            progress("training", 2, 2)
            assert out.getvalue() == before
        assert progress._bars.live.is_started


def test_escapes_of_others_are_shown_and_those_of_rich_are_kept():
    out = io.StringIO()
    console = SafeConsole(file=out, force_terminal=True, width=60, legacy_windows=False, color_system="standard")
    table = Table("name")
    table.add_row("a\x1b[2Jb")
    console.print(table)
    console.print("[bold]x[/]\x9b\u202e", highlight=False)
    console.print(Text("\x1b]0;title\x07"))
    written = out.getvalue()
    assert "a\\x1b[2Jb" in written
    assert "\\x9b\\u202e" in written
    assert "\\x1b]0;title" in written
    assert "\x1b[1mx" in written
    assert not {"\x1b[2J", "\x1b]", "\x9b", "\u202e"} & {written[k : k + n] for k in range(len(written)) for n in (1, 2, 4)}


def test_progress_shows_escapes():
    bars, text = shown(True, [("reading", 0, 0, "a\x1b[2J")])
    assert bars == [("reading: a\\x1b[2J", 0, None)]
    assert "a\\x1b[2J" in text


def test_every_command_prints_through_the_console_that_escapes():
    for path in Path(qgcn.cli.__file__).parent.glob("*.py"):
        assert path.name == "console.py" or "rich.console" not in path.read_text(), path
