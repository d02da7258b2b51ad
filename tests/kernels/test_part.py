import torch

from qgcn.kernels.part import Part


def test_a_part_moves_with_its_indices():
    part = Part(torch.tensor([2, 0]), 5).to(torch.device("meta"))
    assert part.rows.device.type == "meta"
    assert part.total == 5
