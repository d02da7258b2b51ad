"""Mean and deviation of scores over seeds."""

import math

import pytest

from qgcn.training.summary import summarize


def test_mean_and_sample_deviation_of_each_score():
    results = [{"test": {"map": value, "worst": math.inf}} for value in (0.5, 0.7, 0.9)]
    assert summarize(results)["map"] == (pytest.approx(0.7), pytest.approx(0.2))
    assert summarize(results)["worst"][0] == math.inf
    assert math.isnan(summarize(results)["worst"][1])
    assert summarize(results[:1])["map"] == (0.5, 0.0)
    assert summarize([]) == {}
