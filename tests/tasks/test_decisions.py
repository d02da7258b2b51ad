"""Decisions by a threshold, against trying all of them."""

import pytest
import torch

from cases import generator
from qgcn.tasks.decisions import best_f1, decided


def by_trial(positive, negative):
    """Return the best F1 over all thresholds, one by one."""
    found = []
    for bar in torch.cat((positive, negative)).tolist():
        right, wrong = (positive >= bar).sum().item(), (negative >= bar).sum().item()
        found.append(2 * right / (right + wrong + len(positive)))
    return max(found)


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_is_better(seed, rounded):
    positive, negative = torch.randn(20, generator=generator(seed)) + 1, torch.randn(60, generator=generator(seed + 9))
    if rounded:  # many ties
        positive, negative = positive.round(), negative.round()
    best, bar = best_f1(positive, negative)
    assert float(best) == pytest.approx(by_trial(positive, negative))
    assert float(decided(positive, negative, bar)["f1"]) == pytest.approx(float(best))


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [
        ([5.0, 4.0], [2.0, 0.0], 3.0),
        ([5.0, 4.0], [], 4.0),  # nothing is below
        ([1.0], [1.0 - 2**-24], 1.0),  # neighbouring floats
        ([5.0, 4.0], [-torch.inf], 4.0),
    ],
)
def test_the_threshold_is_half_way_to_the_next_score(positive, negative, expected):
    assert float(best_f1(torch.tensor(positive), torch.tensor(negative))[1]) == expected


def test_by_hand():
    found = decided(torch.tensor([3.0, 2.0, 0.0]), torch.tensor([2.5, -1.0]), torch.tensor(2.0))
    assert {name: round(float(value), 4) for name, value in found.items()} == {
        "f1": 0.6667,
        "precision": 0.6667,
        "recall": 0.6667,
    }
    nothing = decided(torch.tensor([1.0]), torch.tensor([1.0]), torch.tensor(2.0))
    assert [float(value) for value in nothing.values()] == [0.0, 1.0, 0.0]
    assert float(best_f1(torch.tensor([1.0]), torch.empty(0))[0]) == 1
