"""Ranges that a search draws from."""

import pytest

from qgcn.tasks import TASKS
from qgcn.tasks.config import settings_of
from qgcn.tasks.ranges import WIDTH, Choice, Interval


@pytest.mark.parametrize("task", TASKS)
def test_ranges_name_settings_of_their_task_once(task):
    names = [each.name for each in TASKS[task].search]
    assert set(names) - {WIDTH} <= set(settings_of(task))
    assert len(set(names)) == len(names)


def test_ends():
    assert Interval("lr", 0.1, 0.2).ends == (0.1, 0.2)
    assert Choice("layers", (1, 2, 3)).ends == (1, 2, 3)
