"""Rows of a sweep."""

import math

from qgcn.sweeping.results import Row, best_rows


def row(trial, scores, state="complete"):
    validation = sum(scores) / len(scores) if state == "complete" else None
    return Row("gcn", "E4", trial, state, validation, scores, {"lr": 0.123456, "layers": 2}, 1.0, 5, "0", "")


def test_the_best_comes_first_and_only_complete_ones():
    rows = [row(0, [0.5, 0.7]), row(1, [0.9], "pruned"), row(2, [0.8, 0.8]), row(3, [0.8, 0.8])]
    assert [each.trial for each in best_rows(rows)] == [2, 3, 0]


def test_words_and_deviation():
    assert (row(0, [0.5, 0.7]).shown, row(0, [0.5]).shown) == ("60.00 ± 14.14", "50.00")
    assert row(0, [0.5], "pruned").shown == "pruned"
    assert math.isnan(row(0, [0.5]).deviation)
    assert row(0, [0.5]).words == "lr 0.1235, layers 2"
