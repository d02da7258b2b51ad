"""Decoders: probabilities of edges, scores of classes."""

import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.nn import Adjacency, FermiDirac, TangentClassifier
from tolerance import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_fermi_dirac_gives_the_logits_of_its_formula(dtype):
    decoder = FermiDirac(r=2.0, tau=0.5).to(dtype)
    sqdist = torch.tensor([0.0, 1.0, 2.0, 5.0], dtype=dtype)
    expected = 1 / (((sqdist - 2.0) / 0.5).exp() + 1)
    torch.testing.assert_close(torch.sigmoid(decoder(sqdist)), expected)
    assert decoder(sqdist)[2] == 0
    assert decoder(sqdist).dtype == dtype


def test_fermi_dirac_stays_positive_and_finite_wherever_training_takes_it():
    decoder = FermiDirac()
    optimiser = torch.optim.SGD(decoder.parameters(), lr=1.0)
    for _ in range(50):
        optimiser.zero_grad()
        decoder.tau.backward()
        optimiser.step()
    assert 0 < decoder.tau.item() < 0.1


def test_fermi_dirac_passes_gradcheck_in_everything():
    decoder = FermiDirac(1.5, 0.7).double()
    sqdist = torch.tensor([0.3, 4.0], dtype=torch.float64, requires_grad=True)
    values = decoder.values.detach().clone().requires_grad_()

    def function(sqdist, values):
        return torch.func.functional_call(decoder, {"values": values}, (sqdist,))

    assert torch.autograd.gradcheck(function, (sqdist, values))


def test_fermi_dirac_can_be_fixed_and_keeps_its_numbers_in_the_state():
    assert len(list(FermiDirac().parameters())) == 1
    fixed = FermiDirac(3.0, 0.25, learnable=False)
    assert list(fixed.parameters()) == []
    twin = FermiDirac(learnable=False)
    twin.load_state_dict(fixed.state_dict())
    assert repr(twin) == "FermiDirac(r=3, tau=0.25)"
    assert math.isclose(twin.r.item(), 3.0)
    assert math.isclose(twin.tau.item(), 0.25, rel_tol=1e-6)


@pytest.mark.parametrize("tau", [0.0, -1.0, float("nan")])
def test_a_softness_that_is_not_positive_is_refused(tau):
    with pytest.raises(ValueError, match="tau must be positive"):
        FermiDirac(tau=tau)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["identity", "relu"])
@pytest.mark.parametrize("name", ["E4", "H3", "S3", "Q2,2", "H2xS2"])
def test_the_classifier_equals_its_formula(name, activation, dtype):
    torch.manual_seed(0)
    space = parse_space(name, beta=-1.5)
    classifier = TangentClassifier(space, 3, activation).to(dtype)
    x = space.random(5, space.ambient_dim, dtype=dtype, std=0.4, generator=generator(0)).as_subclass(torch.Tensor)
    u = space.logmap0(x)
    active = u.relu() if activation == "relu" else u
    expected = active @ classifier.linear.weight.t() + classifier.linear.bias
    torch.testing.assert_close(classifier(x), expected)
    torch.testing.assert_close(classifier.from_tangent(u), expected)
    matrix = Adjacency.of(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 5, torch.ones(4, dtype=dtype))
    torch.testing.assert_close(classifier(x, matrix), matrix.to_dense() @ expected)
    assert classifier(x).shape == (5, 3)


def test_the_classifier_drops_in_training_only_and_does_not_own_the_space():
    torch.manual_seed(0)
    space = parse_space("Q8,2", learnable=True)
    classifier = TangentClassifier(space, 2, dropout=0.5)
    assert {name for name, _ in classifier.named_parameters()} == {"linear.weight", "linear.bias"}
    u = torch.randn(20, 10, generator=generator(0))
    u[:, 0] = 0
    assert not torch.equal(classifier.train().from_tangent(u), classifier.train().from_tangent(u))
    torch.testing.assert_close(classifier.eval().from_tangent(u), classifier.linear(u))


def test_points_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"4 coordinates in Q2,2, got shape \(3, 5\)"):
        TangentClassifier(parse_space("Q2,2"), 3)(torch.ones(3, 5))
    with pytest.raises(ValueError, match="activation must be one of"):
        TangentClassifier(parse_space("Q2,2"), 3, "rleu")
