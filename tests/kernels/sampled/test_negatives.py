import pytest
import torch

from cases import generator
from qgcn.kernels.sampled.negatives import Negatives
from qgcn.kernels.sampled.reference import mask_of


@pytest.mark.parametrize("count", [1, 31, 32, 33, 64, 90])
@pytest.mark.parametrize("rows", [range(90), range(20, 57)])
def test_a_row_itself_its_neighbours_and_what_is_not_there_are_left_out(count, rows):
    pairs = torch.rand(90, 90, generator=generator(0)) < 0.3
    pairs.fill_diagonal_(False)
    edges = pairs.nonzero().T
    edges = edges[:, (edges[0] >= rows.start) & (edges[0] < rows.stop)]
    columns = torch.randperm(90, generator=generator(count))[:count]
    total = torch.full((len(rows),), 40.0)
    found = Negatives.of(columns, edges, rows, 90, total)
    expected = (pairs | torch.eye(90, dtype=torch.bool))[rows.start : rows.stop][:, columns]
    assert found.left_out.shape == (-(-count // 32), len(rows))
    assert found.left_out.dtype == torch.int32
    bits = mask_of(found.left_out, 32 * len(found.left_out))
    assert torch.equal(bits[:, :count], expected)
    assert bits[:, count:].all()
    drawn = (~expected).sum(1)
    assert torch.equal(found.log_weight, torch.where(drawn > 0, total / torch.where(drawn > 0, drawn, 1), 1).log())


def test_columns_that_were_drawn_unequally_have_weights_of_their_own():
    edges, weights = torch.tensor([[0, 1], [2, 0]]), torch.tensor([3.0, 2.0, 1.0])
    found = Negatives.of(torch.tensor([2, 0, 4]), edges, range(5), 5, torch.ones(5), weights)
    assert torch.equal(found.of_columns, weights.log())
    assert not found.log_weight.any()
    assert Negatives.of(torch.tensor([2, 0, 4]), edges, range(5), 5, torch.ones(5)).of_columns is None
