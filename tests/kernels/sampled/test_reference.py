import math

import pytest
import torch

from cases import generator
from qgcn import parse_space
from qgcn.kernels.pairs.points import Energy
from qgcn.kernels.sampled import reference
from qgcn.kernels.sampled.negatives import Negatives


@pytest.mark.parametrize("squared", [False, True])
def test_a_sum_is_its_definition_in_one_run_and_in_many(squared, monkeypatch):
    space, edges = parse_space("Q2,2"), torch.tensor([[0, 0, 1, 4], [1, 3, 0, 6]])
    x = space.random(7, 4, dtype=torch.float64, generator=generator(0)).as_subclass(torch.Tensor)
    columns = torch.tensor([3, 6, 1])
    found = Negatives.of(columns, edges, range(5), 7, torch.ones(5))
    dist = space.pairwise_dist(x[:5], x[columns])
    energy = 1.7 * (dist.square() if squared else dist)
    kept = torch.tensor([[0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 0, 1]])
    truth = [
        math.log(sum(math.exp(-e) for e, k in zip(*row, strict=True) if k)) for row in zip(energy.tolist(), kept, strict=True)
    ]
    for entries in (2**24, 6):
        monkeypatch.setattr(reference, "CHUNK_ENTRIES", entries)
        given = Energy(torch.tensor(1.7, dtype=torch.float64), squared)
        sums = reference.log_sum(x[:5], x[columns], space, given, found.left_out)
        torch.testing.assert_close(sums, torch.tensor(truth, dtype=torch.float64))
