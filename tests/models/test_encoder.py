"""What an encoder is if it says nothing else about itself."""

import pytest
import torch
from pydantic import ValidationError

from cases import generator
from qgcn import parse_space
from qgcn.models import Capabilities, Encoder, Options


class Features(Encoder):
    """The features themselves, as tangent vectors."""

    def __init__(self, space):
        super().__init__()
        self.space = parse_space(space)

    def tangent(self, x, graph):
        return self.space.proju(self.space.origin(self.space.ambient_dim), x)


class Sized(Options):
    size: int = 3


@pytest.mark.parametrize("space", ["E4", "H3", "S3", "Q2,2", "H1xS1"])
def test_points_are_the_exponential_of_the_tangent_vectors(space):
    encoder = Features(space)
    x = 0.3 * torch.randn(5, 4, generator=generator(0))
    points = encoder(x)
    encoder.space.assert_check_point_on_manifold(points, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(points, encoder.space.expmap0(encoder.tangent(x, None)), rtol=0, atol=0)
    torch.testing.assert_close(encoder.space.logmap0(points), encoder.tangent(x, None), rtol=1e-4, atol=1e-5)


def test_an_encoder_that_says_nothing_reads_features_and_a_matrix_and_does_not_change_with_time():
    space = parse_space("Q3,2")
    assert Features.capabilities(space, {}) == Capabilities()
    assert (Capabilities().graph, Capabilities().hops, Capabilities().learns_nodes) == ("matrix", None, False)
    assert Features.width(space, {}) == 5
    Features.check(space, {})
    encoder = Features("Q3,2")
    assert encoder.settled(100) == 0
    before = encoder(torch.ones(2, 5))
    encoder.advance(3, 10)
    assert torch.equal(encoder(torch.ones(2, 5)), before)


def test_an_encoder_without_tangent_vectors_cannot_be_built():
    class Nothing(Encoder):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?tangent"):
        Nothing()


@pytest.mark.parametrize("options", [{"sise": 4}, {"size": "many"}])
def test_options_refuse_what_they_do_not_have(options):
    with pytest.raises(ValidationError):
        Sized(**options)


def test_options_cannot_be_changed():
    with pytest.raises(ValidationError):
        Sized().size = 5
