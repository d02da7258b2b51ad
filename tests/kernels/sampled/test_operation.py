import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
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
