"""Tasks by name."""

import pytest

from qgcn.tasks import TASKS, LinkPrediction, NodeClassification, Reconstruction, find_task, register_task


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
