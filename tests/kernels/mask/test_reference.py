"""Masks in plain PyTorch."""

import pytest
import torch

from qgcn.kernels.mask.reference import masks
from qgcn.kernels.part import Part


def bits(key, count):
    words = torch.empty((count + 3) // 4, dtype=torch.int64)
    return words.random_(-(2**63), None, generator=torch.Generator().manual_seed(key)).view(torch.int16)[:count]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("most", [-(2**15), -7, 0, 2**15 - 1])
def test_an_entry_is_kept_where_its_16_bits_are_at_most_the_bound(most, dtype):
    keys = [0, 3, 2**40 + 12345]
    out = torch.full((3, 7, 5), 9.0, dtype=dtype)
    assert masks(keys, out, most, 2.5) is out
    expected = torch.stack([torch.where(bits(key, 35) <= most, 2.5, 0.0) for key in keys]).view(3, 7, 5).to(dtype)
    assert torch.equal(out, expected)


def test_the_bound_itself_is_kept():
    drawn = bits(5, 40)
    kept = masks([5], torch.empty(1, 40), int(drawn[17]), 1.0)[0]
    assert kept[17] == 1
    assert torch.equal(kept, (drawn <= drawn[17]).float())


def test_the_share_that_is_kept_is_the_one_asked_for():
    out = masks([1], torch.empty(1, 100_000), int(0.3 * 2**16) - 2**15 - 1, 1.0)
    assert abs(float(out.mean()) - 0.3) < 4 * (0.3 * 0.7 / 100_000) ** 0.5


def test_masks_of_some_rows_are_those_rows_of_the_whole():
    rows = torch.tensor([900, 3, 3, 0, 41])
    whole = masks([7, 8], torch.empty(2, 1000, 5), 0, 3.0)
    assert torch.equal(masks([7, 8], torch.empty(2, 5, 5), 0, 3.0, Part(rows, 1000)), whole[:, rows])


def test_a_tensor_that_is_not_contiguous_is_filled_likewise():
    out = torch.empty(5, 4, 2).permute(2, 1, 0)
    assert torch.equal(masks([7, 8], out, 0, 1.0), masks([7, 8], torch.empty(2, 4, 5), 0, 1.0))


def test_masks_of_scattered_rows_depend_on_key_and_row_alone():
    rows = torch.tensor([900, 3, 10**9, 3])
    mask = masks([7], torch.empty(1, 4, 501), 0, 1.0, Part(rows, 10**9 + 1, scattered=True))[0]
    assert torch.equal(mask[1], mask[3])
    assert not torch.equal(mask[0], mask[1])
    assert torch.equal(masks([7], torch.empty(1, 1, 501), 0, 1.0, Part(rows[2:3], 10**10, scattered=True))[0], mask[2:3])
    assert not torch.equal(masks([8], torch.empty(1, 4, 501), 0, 1.0, Part(rows, 10**9 + 1, scattered=True))[0], mask)
    many = masks(
        [1], torch.empty(1, 2000, 50), int(0.3 * 2**16) - 2**15 - 1, 1.0, Part(torch.arange(2000), 2000, scattered=True)
    )
    assert abs(float(many.mean()) - 0.3) < 4 * (0.3 * 0.7 / 100_000) ** 0.5
