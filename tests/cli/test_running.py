"""A run on the terminal."""

import signal

import pytest
from rich.console import Console

from qgcn.cli.running import _print_settings, train_and_show
from qgcn.data import load
from qgcn.training import Config, Run

SMALL = {"task": "classification", "data": "stochastic-block", "space": "Q5,2", "epochs": 3}


def started(folder=None, data=None, **settings):
    return lambda console: Run.start(Config.checked(SMALL | settings), folder, data)


def test_what_it_is_about_to_do_and_its_results_are_shown(capsys, tmp_path):
    run = train_and_show(started(tmp_path / "run", seeds=2))
    out = capsys.readouterr().out
    assert "classification on stochastic-block: 240 nodes, " in out
    assert "qgcn in Q5,2, cpu." in out
    assert "settings: epochs 3, seeds 2" in out
    assert f"qgcn in Q5,2, {run.task.scored_on()} (2 seeds, mean ± standard deviation)\n" in out
    for name, (mean, deviation) in run.train().items():
        line = next(line for line in out.splitlines() if f"│ {name} " in line)
        assert f"{100 * mean:.2f} ± {100 * deviation:.2f}" in line
    assert f"Written to {tmp_path / 'run'}" in out
    assert f"Look at it: qgcn report {tmp_path / 'run'}" in out


def test_one_seed_has_no_deviation_and_without_a_folder_nothing_is_written(capsys):
    train_and_show(started())
    out = capsys.readouterr().out
    assert "(1 seed)" in out
    assert "±" not in out
    assert "Written" not in out
    assert "qgcn report" not in out


@pytest.mark.parametrize(("settings", "said"), [({}, "all default"), ({"lr": 0.25, "bias": False}, "lr 0.25, bias no")])
def test_settings_that_are_not_at_their_defaults_are_told(capsys, settings, said):
    config = Config.checked({"task": "classification", "data": "stochastic-block"} | settings)
    _print_settings(Run(config), Console())
    assert f"  settings: {said}\n" in capsys.readouterr().out


def test_remarks_on_the_data_are_told(capsys):
    data = load("stochastic-block")
    data.remarks = ["2 self-loops left out [sic]"]
    train_and_show(started(data=data))
    assert "  2 self-loops left out [sic]\n" in capsys.readouterr().out


def stopping(monkeypatch, signals):
    """Send signals after the first epoch."""
    train = Run.train

    def stop(stage, done=0, total=0, note=""):
        if done == 1:
            for number in signals:
                signal.raise_signal(number)

    monkeypatch.setattr(Run, "train", lambda run, progress: train(run, stop))


@pytest.mark.parametrize(
    ("signals", "said"), [([signal.SIGTERM], "interrupted at epoch 1"), ([signal.SIGINT, signal.SIGINT], "interrupted")]
)
def test_an_interrupted_run_is_answered_with_the_way_to_resume_it(monkeypatch, tmp_path, signals, said):
    stopping(monkeypatch, signals)
    with pytest.raises(ValueError, match=rf"^{said}; go on with: qgcn resume '.*my run'$"):
        train_and_show(started(tmp_path / "my run"))


def test_an_interruption_before_anything_is_written_says_so(monkeypatch, tmp_path):
    stopping(monkeypatch, [signal.SIGTERM])
    with pytest.raises(ValueError, match="interrupted before training began; nothing was written"):
        train_and_show(started())
