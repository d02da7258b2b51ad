import io

import pytest
from rich.console import Console

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
