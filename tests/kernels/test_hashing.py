"""Random bits as a function of integers."""

import torch

from cases import generator
from qgcn.kernels.hashing import keyed_uniform, scrambled, shifted, signed

MASK = 2**64 - 1


def splitmix(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def test_scrambled_mixes_as_splitmix_does():
    numbers = [0, 1, 2, 2**63 - 1, -1, -(2**63), 123456789]
    assert [each % 2**64 for each in scrambled(torch.tensor(numbers)).tolist()] == [splitmix(each % 2**64) for each in numbers]


def test_shifted_lets_zeros_in():
    assert shifted(torch.tensor([-1, 2**40]), 33).tolist() == [2**31 - 1, 128]


def test_signed_keeps_the_lowest_bits():
    assert [signed(each) for each in (0, -5, 2**64 - 1, 2**64 + 7, 2**63)] == [0, -5, -1, 7, -(2**63)]


def test_uniform_numbers_depend_on_key_and_pair_and_spread_evenly():
    first, second = torch.randint(1000, (2, 100_000), generator=generator(0))
    one = keyed_uniform(3, first, second)
    assert 0 <= float(one.min()) < float(one.max()) < 1
    assert torch.equal(keyed_uniform(3, first.flip(0), second.flip(0)), one.flip(0))
    other, turned = keyed_uniform(4, first, second), keyed_uniform(3, second, first)
    for each in (one, other, turned):
        assert abs(float(each.mean()) - 0.5) < 4 / (12 * 90_000) ** 0.5
    for each in (other, turned):
        assert abs(float(torch.corrcoef(torch.stack((one, each)))[0, 1])) < 4 / 90_000**0.5
