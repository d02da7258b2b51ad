"""Compiled masks against PyTorch's generator; without a compiler there is nothing to test."""

import pytest
import torch

from qgcn.kernels.mask import cpu, reference
from qgcn.kernels.part import Part

pytestmark = pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")


def bits(key, count):
    words = torch.empty((count + 3) // 4, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=torch.Generator().manual_seed(key)).view(torch.int16)[:count]


@pytest.mark.parametrize("count", [0, 1, 5, 1247, 1248, 1249, 100_000])
@pytest.mark.parametrize("most", [-(2**15), -7, 0, 2**15 - 1])
def test_masks_are_drawn_bit_for_bit_as_torch_draws(count, most):
    keys = [0, 3, 2**40 + 12345, 2**63 - 1]
    found = cpu.masks(keys, torch.empty(4, count), most, 2.5)
    expected = torch.stack([torch.where(bits(key, count) <= most, 2.5, 0.0) for key in keys])
    assert torch.equal(found, expected)


@pytest.mark.parametrize("width", [1, 5])
def test_masks_of_some_rows_are_those_rows_of_the_whole(width):
    rows = torch.tensor([900, 3, 3, 0, 41])
    whole = cpu.masks([7, 8], torch.empty(2, 1000, width), 0, 1.0)
    assert torch.equal(cpu.masks([7, 8], torch.empty(2, 5, width), 0, 1.0, Part(rows, 1000)), whole[:, rows])
    assert torch.equal(cpu.masks([7, 8], torch.empty(2, 5, width), 0, 1.0, Part(rows.int(), 1000)), whole[:, rows])


@pytest.mark.parametrize("width", [1, 4, 7, 33])
def test_masks_of_scattered_rows_are_those_of_the_reference(width):
    rows = torch.randint(10**12, (3000,), generator=torch.Generator().manual_seed(0))
    part = Part(rows, 10**12, scattered=True)
    found = cpu.masks([7, 2**62 + 5], torch.empty(2, 3000, width), -9, 2.5, part)
    assert torch.equal(found, reference.masks([7, 2**62 + 5], torch.empty(2, 3000, width), -9, 2.5, part))
