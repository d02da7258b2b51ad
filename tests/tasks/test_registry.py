"""Tasks by name."""

import shlex

import pytest

from qgcn.sweeping.candidates import parse_candidate
from qgcn.tasks import TASKS, Config, LinkPrediction, NodeClassification, Reconstruction, find_task, register_task


def test_a_task_is_found_by_its_name():
    for task in (Reconstruction, NodeClassification, LinkPrediction):
        assert find_task(task.name) is TASKS[task.name] is task


def test_a_task_registers_itself_under_its_name(monkeypatch):
    monkeypatch.delitem(TASKS, "ranking", raising=False)

    @register_task
    class Ranking(LinkPrediction):
        name = "ranking"

    assert list(TASKS)[-1] == "ranking"
    assert find_task("ranking") is Ranking
    del TASKS["ranking"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("linkss", r"; did you mean 'links'\?$"), ("nothing at all", "got 'nothing at all'$"), (None, "got None"), (3, "got 3")],
)
def test_a_name_of_nobody_is_refused_with_the_names_and_the_nearest(name, hint):
    with pytest.raises(ValueError, match=rf"^task must be one of {', '.join(TASKS)}, got .*") as error:
        find_task(name)
    assert error.match(hint)


def settings_in(words):
    """Return the settings that flags of a command give."""
    return {flag[2:].replace("-", "_"): value for flag, value in zip(words[::2], words[1::2], strict=True)}


@pytest.mark.parametrize("task", sorted(TASKS))
def test_the_examples_of_a_task_are_valid(task):
    program, verb, name, *flags = shlex.split(TASKS[task].example)
    assert (program, verb, name) == ("qgcn", "train", task)
    Config.checked(
        {"task": task} | {key: int(value) if value.isdigit() else value for key, value in settings_in(flags).items()}
    )
    words = shlex.split(TASKS[task].sweep_example)
    place = words.index("--models")
    fixed = {"task": task} | settings_in(words[:place])
    candidates = [parse_candidate(name, fixed) for name in words[place + 1 :]]
    assert len(candidates) == 2
    assert all(candidate.ranges for candidate in candidates)
