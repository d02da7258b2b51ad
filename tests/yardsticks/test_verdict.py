"""Whether a model was worth it, in words."""

import math

import pytest

from qgcn.yardsticks import judge

OTHERS = {"Adamic-Adar": 0.931, "common neighbours": 0.9}


def test_a_better_model_beats_every_yardstick():
    found = judge("qgcn in Q15,1", 0.954, 0.002, 5, OTHERS, title="ROC AUC")
    assert found.outcome == "better"
    assert found.best == "Adamic-Adar"
    assert found.margin == pytest.approx(0.023)
    assert found.sentence == (
        "qgcn in Q15,1 beats every yardstick by 2.3 points of ROC AUC (95.4; next is Adamic-Adar with 93.1)."
    )


def test_a_worse_model_was_not_worth_it():
    found = judge("qgcn in Q15,1", 0.875, 0.0, 1, {"logistic regression on smoothed features": 0.901}, title="F1 (micro)")
    assert found.outcome == "worse"
    assert found.sentence == (
        "Logistic regression on smoothed features does better: F1 (micro) 90.1 against 87.5; "
        "qgcn in Q15,1 was not worth training."
    )


@pytest.mark.parametrize(
    ("deviation", "seeds", "outcome"),
    [
        (0.0, 1, "better"),  # a point is more than one seed varies by
        (0.01, 5, "better"),  # twice the standard error is 0.9 points
        (0.012, 5, "no clear difference"),  # 1.1 points
        (0.012, 10, "better"),
        (math.nan, 2, "no clear difference"),
    ],
)
def test_the_spread_over_seeds_decides_what_is_clear(deviation, seeds, outcome):
    for sign in (1, -1):
        found = judge("m", 0.931 + sign * 0.01, deviation, seeds, OTHERS)
        assert found.outcome == (outcome if sign == 1 or outcome != "better" else "worse")


def test_one_seed_asks_for_more_where_the_difference_is_small():
    found = judge("m", 0.934, 0.0, 1, OTHERS, title="ROC AUC")
    assert found.outcome == "no clear difference"
    assert found.sentence == "No clear difference: m has ROC AUC 93.4, Adamic-Adar 93.1; more seeds may tell."
    assert "more seeds" not in judge("m", 0.931, 0.0, 1, OTHERS).sentence


def test_scores_that_are_no_shares_are_shown_as_they_are():
    assert "(9.0; next is rest with 2.0)" in judge("m", 9.0, 0.0, 1, {"rest": 2.0}, percent=False).sentence


def test_without_yardsticks_or_a_score_there_is_no_verdict():
    assert judge("m", 0.9, 0.0, 1, {}) is None
    assert judge("m", math.nan, 0.0, 1, OTHERS) is None
    assert judge("m", 0.9, 0.0, 1, {"broken": math.nan}) is None
