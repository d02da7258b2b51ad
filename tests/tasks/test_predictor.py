"""A network with a decoder, called by the names of its methods."""

import pytest
import torch
from torch.func import functional_call

from cases import generator
from qgcn.models import build
from qgcn.tasks import Predictor


class Sums(Predictor):
    """Sums of coordinates."""

    def loss(self, x, graph, target):
        return (self.predict(x, graph) - target).square().mean()

    def predict(self, x, graph):
        return self.encoder.tangent(x, graph).sum(1)


def made():
    torch.manual_seed(0)
    return Sums(build("qnn", 3, "H4")).eval()


X = torch.randn(5, 3, generator=generator(0))


def test_methods_are_called_by_name():
    predictor = made()
    assert torch.equal(predictor("predict", X, None), predictor.predict(X, None))
    assert torch.equal(predictor("loss", X, None, torch.ones(5)), predictor.loss(X, None, torch.ones(5)))
    assert torch.equal(predictor("embed", X, None), predictor.encoder(X, None))


def test_methods_are_reached_through_functional_call():
    predictor = made()
    zero = {name: torch.zeros_like(parameter) for name, parameter in predictor.named_parameters()}
    assert torch.equal(functional_call(predictor, zero, ("predict", X, None)), torch.zeros(5))
    assert not torch.equal(predictor("predict", X, None), torch.zeros(5))


def test_the_space_is_that_of_the_encoder_and_points_lie_in_it():
    predictor = made()
    assert predictor.space is predictor.encoder.space
    assert str(predictor.space) == "H4"
    predictor.space.assert_check_point_on_manifold(predictor.embed(X, None), atol=1e-5, rtol=1e-5)


def test_a_predictor_needs_a_loss_and_a_prediction():
    with pytest.raises(TypeError, match="abstract"):
        Predictor(build("qnn", 3, "H4"))
