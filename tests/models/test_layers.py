"""Spaces and activations of layers."""

from typing import get_args

import pytest

from qgcn import parse_space
from qgcn.models.layers import Activation, fresh_space, hidden_space
from qgcn.nn import ACTIVATIONS


def test_every_activation_has_a_name():
    assert set(get_args(Activation)) == set(ACTIVATIONS)


def test_a_space_that_is_given_is_copied_with_its_curvature():
    given = parse_space("Q2,2", beta=-3.0)
    made = fresh_space(given, -1.0, True)
    assert made is not given
    assert (str(made), float(made.beta), list(made.parameters())) == ("Q2,2", pytest.approx(-3.0), [])


def test_a_name_starts_where_it_is_told_and_learns_if_asked_to():
    made = fresh_space("Q2,2", -4.0, True)
    assert float(made.beta.detach()) == pytest.approx(-4.0)
    assert list(made.parameters())
    assert not list(fresh_space("Q2,2", None, False).parameters())


def test_hidden_layers_are_where_they_are_asked_to_be_or_where_the_last_is():
    space, other = parse_space("Q2,2"), parse_space("H3")
    assert hidden_space(space, {}) is hidden_space(space, {"hidden": None}) is space
    assert str(hidden_space(space, {"hidden": "E5"})) == "E5"
    assert hidden_space(space, {"hidden": other}) is other
