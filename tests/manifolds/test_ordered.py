"""The order of time: what a space without one answers."""

import pytest
import torch

from qgcn import parse_space


def test_a_space_without_time_says_so():
    space = parse_space("H3")
    x = space.origin(4).as_subclass(torch.Tensor)
    for ask in (space.light_margin, space.time_separation, space.causal_order):
        with pytest.raises(ValueError, match="H3 has no order of time: expected a spacetime such as M10, AdS10, dS10 or M1xH9"):
            ask(x, x)


def test_orders_of_pairs_are_told_by_sign():
    x, y = torch.zeros(4, 2), torch.tensor([[1.0, 0.5], [-1.0, 0.5], [0.5, 1.0], [0.0, 0.0]])
    assert parse_space("M2").causal_order(x, y).tolist() == [1, -1, 0, 1]


def test_rounding_does_not_break_a_ray_of_light():
    a = torch.tensor([[0.1, 0.1], [1000.1, 1000.1]])
    b = a + torch.tensor([0.3, 0.3])
    assert parse_space("M2").causal_order(a, b).tolist() == [1, 1]
