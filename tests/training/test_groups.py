"""Groups of seeds."""

import pytest

from cases import problem, two_communities
from qgcn.tasks import NodeClassification
from qgcn.training import groups


def task(**settings):
    return problem(NodeClassification, two_communities(), space="Q3,2", **settings)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, [[3, 4, 5]]), ({"batch_seeds": False}, [[3], [4], [5]]), ({"batch_size": 4}, [[3], [4], [5]])],
)
def test_seeds_are_trained_together_where_they_can_be(settings, expected):
    assert groups.groups_of(task(**settings), [3, 4, 5]) == expected


def test_no_more_seeds_are_trained_together_than_memory_holds(monkeypatch):
    made = task()
    one = groups.TENSORS_OF_A_LAYER * 24 * made.config.coordinates_kept() * 4
    monkeypatch.setattr(groups, "BATCH_BYTES", 2 * one)
    assert groups.groups_of(made, [0, 1, 2, 3, 4]) == [[0, 1], [2, 3], [4]]
    monkeypatch.setattr(groups, "BATCH_BYTES", 1)
    assert groups.groups_of(made, [0, 1]) == [[0], [1]]
