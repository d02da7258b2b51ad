import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels import use_backend
from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.operation import sampled_energies


@pytest.mark.parametrize("name", ["Q2,2", "H2xE2"])
def test_rows_columns_and_edges_have_their_gradients(name):
    space = parse_space(name, learnable=True)
    x = space.random(9, space.ambient_dim, dtype=torch.float64, std=0.3, generator=generator(0)).as_subclass(torch.Tensor)
    edges = torch.tensor([[2, 2, 3, 5], [0, 7, 6, 8]])
    negatives = Negatives.of(torch.tensor([0, 8, 6, 3]), edges, range(2, 6), 9, torch.ones(4))

    def both(x, tau):
        return sampled_energies(space.projx(x), negatives, edges, space, tau, squared=True)

    given = x.detach().requires_grad_(), torch.tensor(1.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(both, given)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_empty_sum_is_minus_infinity_and_pushes_nobody(dtype):
    space = parse_space("Q2,2")
    x = space.random(3, 4, dtype=dtype, generator=generator(0)).as_subclass(torch.Tensor).detach().requires_grad_()
    edges = torch.tensor([[0, 1], [2, 2]])
    negatives = Negatives.of(torch.tensor([2]), edges, range(2), 3, torch.zeros(2))
    sums, energy = sampled_energies(x, negatives, edges, space, torch.tensor(1.0, dtype=dtype), squared=True)
    assert sums.tolist() == [-math.inf, -math.inf]
    (gradient,) = torch.autograd.grad(torch.sigmoid(sums).sum() + 0 * energy.sum(), x)
    assert (gradient == 0).all()


@pytest.mark.parametrize("name", ["E3", "H2xE2"])
def test_a_bias_of_columns_is_in_the_exponent_and_has_its_gradient(name):
    space = parse_space(name, learnable=True)
    x = space.random(9, space.ambient_dim, dtype=torch.float64, std=0.3, generator=generator(0)).as_subclass(torch.Tensor)
    edges = torch.tensor([[2, 2, 3, 5], [0, 7, 6, 8]])
    negatives = Negatives.of(torch.tensor([0, 8, 6, 3]), edges, range(2, 6), 9, torch.ones(4))

    def sums(x, bias):
        given = negatives, edges, space, torch.tensor(1.3, dtype=torch.float64)
        return sampled_energies(space.projx(x), *given, squared=False, bias=bias)[0]

    bias = torch.tensor([0.4, -2.0, 1.0, 0.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sums, (x.detach().requires_grad_(), bias))
    dist = space.pairwise_dist(x[2:6], x[negatives.columns])
    left_out = torch.tensor([[1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()
    torch.testing.assert_close(sums(x, bias), (bias - 1.3 * dist).masked_fill(left_out, -math.inf).logsumexp(1))


@pytest.mark.parametrize("path", ["native", "eager"])
@pytest.mark.parametrize("squared", [False, True])
def test_a_bias_of_nothing_is_none(path, squared):
    space = parse_space("H2xE2")
    x = space.random(40, space.ambient_dim, generator=generator(0)).as_subclass(torch.Tensor).detach()
    edges = torch.tensor([[0, 1, 1], [2, 2, 30]])
    negatives = Negatives.of(torch.arange(0, 40, 2), edges, range(40), 40, torch.ones(40))
    with use_backend(path):
        found = [
            sampled_energies(x, negatives, edges, space, torch.tensor(1.3), squared=squared, bias=bias)[0]
            for bias in (None, torch.zeros(20))
        ]
    assert torch.equal(*found)
