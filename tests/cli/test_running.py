"""A run on the terminal."""

import io
import signal
import sys

import pytest
from rich.console import Console

from qgcn.cli import running
from qgcn.cli.running import _print_results, _print_settings, train_and_show
from qgcn.data import load
from qgcn.training import Config, Declined, Run

SMALL = {"task": "classification", "data": "stochastic-block", "space": "Q5,2", "epochs": 3}


def started(folder=None, data=None, **settings):
    config = Config.checked(SMALL | settings)
    return lambda console: (config, lambda progress: Run.start(config, folder, data))


def test_what_it_is_about_to_do_and_its_results_are_shown(capsys, tmp_path):
    run = train_and_show(started(tmp_path / "run", seeds=2, device="cpu"))
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "classification on stochastic-block: qgcn in Q5,2 (indefinite, 6 dimensions), cpu."
    assert lines[1] == "  settings: epochs 3, seeds 2, device cpu"
    assert lines[2].startswith("  240 nodes, ")
    assert f"qgcn in Q5,2, {run.task.scored_on()} (2 seeds, mean ± standard deviation)\n" in out
    summary = run.train()
    shown = {name: f"{100 * mean:.2f} ± {100 * deviation:.2f}" for name, (mean, deviation) in summary.items()}
    row = next(line for line in out.splitlines() if line.startswith("│ qgcn "))
    assert [cell.strip() for cell in row.split("│")[2:-1]] == [shown["f1_micro"], shown["f1_macro"]]
    assert f"also accuracy {shown['accuracy']}\n" in out
    assert f"Written to {tmp_path / 'run'}" in out
    assert f"Look at it: qgcn report {tmp_path / 'run'}" in out


def test_what_it_is_about_to_do_is_shown_before_the_graph_is_read(capsys):
    with pytest.raises(OSError, match="torn"):
        train_and_show(lambda console: (Config.checked(SMALL), torn))
    assert capsys.readouterr().out.splitlines()[0].startswith("classification on stochastic-block: qgcn in Q5,2 ")


def torn(progress):
    raise OSError("torn")


def test_large_numbers_of_nodes_are_easy_to_read(capsys):
    train_and_show(started(task="links", data=load("cycle", nodes=1200), epochs=1, yardsticks=False, blend=False))
    assert "\n  1,200 nodes, 1,200 edges, one-hot features\n" in capsys.readouterr().out


def test_yardsticks_stand_below_the_model_with_a_verdict(capsys):
    run = train_and_show(started(epochs=1))
    out = capsys.readouterr().out
    below = out.splitlines()[out.splitlines().index(next(line for line in out.splitlines() if line.startswith("│ qgcn "))) :]
    for name, scores in run.yardsticks.items():
        row = next(line for line in below if line.startswith(f"│ {name} "))
        assert [cell.strip() for cell in row.split("│")[2:-1]] == [
            f"{100 * scores[key]:.2f}" for key in ("f1_micro", "f1_macro")
        ]
    assert run.task.verdict(run.summary["f1_micro"], run.yardsticks).sentence in out.replace("\n", " ")


def test_shares_are_shown_in_per_cent_and_other_scores_as_they_are(capsys):
    run = train_and_show(started(task="reconstruction", epochs=20))
    out = " ".join(capsys.readouterr().out.split())
    (mean_precision, _), (distortion, _) = run.summary["map"], run.summary["distortion"]
    assert f"│ {100 * mean_precision:.2f} │ {distortion:.2f} │" in out


def test_without_yardsticks_there_is_no_verdict(capsys):
    train_and_show(started(yardsticks=False))
    out = capsys.readouterr().out
    assert "majority" not in out
    assert "yardstick" not in out.replace("settings: epochs 3, yardsticks no", "")


def test_the_best_of_each_column_is_bold():
    run = Run(Config.checked(SMALL | {"epochs": 1}))
    summary = run.train()
    console = Console(force_terminal=True, color_system="standard", width=120, record=True, file=io.StringIO())
    _print_results(run, summary, console)
    text = console.export_text(styles=True)
    best = max([summary["f1_micro"][0], *(scores["f1_micro"] for scores in run.yardsticks.values())])
    assert f"\x1b[1m{100 * best:.2f}\x1b[0m" in text
    worst = run.yardsticks["majority class"]["f1_micro"]
    assert f"\x1b[1m{100 * worst:.2f}\x1b[0m" not in text


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
    _print_settings(config, Console())
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

    monkeypatch.setattr(Run, "train", lambda run, *_: train(run, stop))


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


# --- costs ---------------------------------------------------------------------------------------------------------------


class Keyboard(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self):
        return True


def at_terminal(monkeypatch, answers):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    monkeypatch.setattr(sys, "stdin", Keyboard(answers))
    monkeypatch.setattr(running, "HOUR", 0)


def test_the_cost_is_told_in_one_line_after_the_first_epochs(capsys, tmp_path):
    train_and_show(started(tmp_path / "run", epochs=20, seeds=3))
    lines = [line for line in capsys.readouterr().out.splitlines() if "estimate" in line]
    assert len(lines) == 1
    assert lines[0].startswith("  estimate: about ")
    assert " for 20 epochs of 3 seeds" in lines[0]


def test_without_a_terminal_a_long_training_needs_yes(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(running, "HOUR", 0)
    with pytest.raises(
        Declined, match=r"^not trained, as it would take about .*; to train it without being asked, give --yes$"
    ):
        train_and_show(started(tmp_path / "run", epochs=20))
    assert list(tmp_path.iterdir()) == []
    train_and_show(started(tmp_path / "run", epochs=20), yes=True)
    assert (tmp_path / "run" / "results.json").is_file()


@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_at_a_terminal_a_long_training_is_asked_about(monkeypatch, capsys, tmp_path, answer):
    at_terminal(monkeypatch, f"{answer}\n")
    if answer == "y":
        train_and_show(started(tmp_path / "run", epochs=20))
    else:
        with pytest.raises(Declined):
            train_and_show(started(tmp_path / "run", epochs=20))
    assert "Train for that long?" in capsys.readouterr().out
    assert (tmp_path / "run").exists() == (answer == "y")


def test_a_refitted_run_says_what_its_scores_are_of(capsys, tmp_path):
    run = train_and_show(started(tmp_path / "run", refit=True, seeds=2))
    out = capsys.readouterr().out
    epochs = ", ".join(str(result["best_epoch"]) for result in run.results)
    assert f"Model and embedding were then trained again on all labelled nodes (epochs: {epochs}); the scores are those" in out
