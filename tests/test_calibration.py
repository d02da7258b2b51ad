"""Calibration error: against a value computed by hand."""

import math

import pytest
import torch

from qgcn.calibration import calibration_error


def logits(probability):
    return torch.tensor([0.0, math.log(probability / (1 - probability))])


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    z = torch.stack([logits(0.9)] * 4 + [logits(0.6)] * 5)
    outcomes = torch.tensor([1, 1, 1, 0, 1, 1, 1, 0, 0])  # 3 of 4 at 0.9, 3 of 5 at 0.6
    assert calibration_error(z, outcomes) == pytest.approx(4 / 9 * 0.15, abs=1e-6)


def test_calibration_error_is_0_for_what_is_sure_and_right_and_1_for_what_is_sure_and_wrong():
    z = torch.tensor([[0.0, 900.0], [900.0, 0.0]])
    assert calibration_error(z, torch.tensor([1, 0])) == 0
    assert calibration_error(z, torch.tensor([0, 1])) == 1
