"""What a validation tells."""

import dataclasses

import pytest

from qgcn.training.validations import DIVERGED, Diverged, Validation


def test_a_divergence_is_an_error_of_the_user_and_names_what_to_change():
    with pytest.raises(ValueError, match=r"the loss of seed 3 at epoch 7 is not finite; try a smaller lr than 0\.1$"):
        raise Diverged(DIVERGED.format("the loss", 3, 7, 0.1))


def test_a_validation_does_not_change():
    found = Validation(2, [0.5], [0.7], [0.7], [True])
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.epoch = 3
