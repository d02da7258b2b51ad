"""Masks that are a function of a key, by all implementations."""

import pytest
import torch

from qgcn.kernels import use_backend
from qgcn.kernels.mask import cpu, keyed_mask, reference
from qgcn.kernels.part import Part
from tolerance import DTYPES


@pytest.mark.parametrize("size", [(), (1,), (5,), (7, 3), (0, 3), (2, 3, 5)])
def test_any_shape_can_be_masked(size):
    like = torch.ones(size)
    mask = keyed_mask(torch.tensor(3), like, 0.5)
    assert mask.shape == like.shape
    assert ((mask == 0) | (mask == 1)).all()


@pytest.mark.parametrize("size", [(9,), (9, 4)])
def test_a_part_of_a_tensor_gets_what_it_gets_in_the_whole(size):
    part = Part(torch.tensor([7, 0, 3]), 9)
    keys = torch.tensor([2, 8])
    whole = torch.stack([keyed_mask(key, torch.ones(size), 0.5) for key in keys])
    like = torch.ones(3, *size[1:])
    assert torch.equal(keyed_mask(keys[0], like, 0.5, part=part), whole[0, part.rows])
    assert torch.equal(torch.vmap(lambda key: keyed_mask(key, like, 0.5, part=part))(keys), whole[:, part.rows])


def test_one_key_for_a_batch_of_inputs_draws_the_same_for_all():
    key = torch.tensor(9)
    mask = torch.vmap(lambda like: keyed_mask(key, like, 0.5))(torch.ones(3, 20))
    assert torch.equal(mask, keyed_mask(key, torch.ones(20), 0.5).expand(3, 20))


@pytest.mark.skipif(cpu.obstacle() is not None, reason="needs a C++ compiler")
@pytest.mark.parametrize("part", [None, Part(torch.tensor([8, 0, 3, 3]), 40)], ids=["whole", "part"])
@pytest.mark.parametrize("keep", [0.1, 0.5, 0.999])
def test_all_implementations_draw_the_same_bits(keep, part):
    keys = torch.tensor([5, 2**62 + 1, 0])
    like = torch.ones(40 if part is None else 4, 7)
    found = []
    for path in ("native", "eager"):
        with use_backend(path):
            one = keyed_mask(keys[0], like, keep, 2.0, part)
            many = torch.vmap(lambda key: keyed_mask(key, like, keep, 2.0, part))(keys)
        assert torch.equal(many[0], one)
        found.append(many)
    assert torch.equal(*found)
    assert set(found[0].unique().tolist()) <= {0.0, 2.0}


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_mask_has_no_gradient_and_the_type_of_its_like(dtype):
    like = torch.ones(3, 4, dtype=dtype, requires_grad=True)
    mask = keyed_mask(torch.tensor(1), like, 0.5)
    assert mask.dtype == dtype
    assert not mask.requires_grad


def test_the_reference_fills_tensors_that_are_not_contiguous():
    out = torch.empty(9, 2).t()
    expected = reference.masks([3, 4], torch.empty(2, 9), 0, 1.5)
    assert torch.equal(reference.masks([3, 4], out, 0, 1.5), expected)
