import geoopt
import torch

from qgcn import parse_space
from qgcn.kernels import distances_from
from qgcn.kernels.metric import factors_of


def test_a_space_with_an_unknown_factor_has_none():
    assert factors_of(parse_space("K4")) is None
    assert factors_of(parse_space("K4xE2")) is None


def test_a_wrapped_space_does_not_pass_for_what_it_wraps():
    space = parse_space("Q2,2")
    scaled = geoopt.Scaled(space, 2.0)
    assert scaled.factors == space.factors  # handed on, as if nothing were scaled
    assert factors_of(scaled) is None
    x = space.random(6, 4, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    torch.testing.assert_close(distances_from(x, range(6), scaled), 2 * distances_from(x, range(6), space))
