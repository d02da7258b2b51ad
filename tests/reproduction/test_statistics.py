import math

import pytest

from qgcn.reproduction.statistics import mean_and_deviation, paired


def test_mean_and_deviation_are_those_of_a_sample():
    assert mean_and_deviation([1.0, 2.0, 3.0]) == (2.0, 1.0)
    assert mean_and_deviation([5.0]) == (5.0, None)


def test_paired_takes_the_seeds_of_both():
    found = paired({0: 1.0, 1: 2.0, 2: 9.0}, {0: 0.0, 1: 0.5, 3: 7.0})
    assert found.mean == 1.25
    assert found.seeds == 2
    half = 12.706204736 * math.sqrt(0.125) / math.sqrt(2)  # Student's with one degree of freedom
    assert (found.low, found.high) == pytest.approx((1.25 - half, 1.25 + half))


def test_paired_takes_a_common_shift_of_a_seed_out():
    wide = {seed: 10.0 * seed for seed in range(10)}
    found = paired({seed: value + 1 for seed, value in wide.items()}, wide)
    assert (found.low, found.high) == (1.0, 1.0)


def test_one_seed_has_no_interval_and_none_no_difference():
    assert paired({0: 1.0}, {0: 0.5}).shown() == "+0.50 (one seed)"
    assert paired({0: 1.0}, {1: 0.5}) is None
    assert paired({0: 1.0, 1: 1.0}, {0: 0.5, 1: 0.5}).shown(1) == "+0.5 [+0.5, +0.5]"
