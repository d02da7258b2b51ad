"""Maps under vmap see the stacked tensors, once, and are recorded."""

import pytest
import torch

from cases import generator
from qgcn.geometry.batch import stacked, under_vmap


def broadcasting(seen):
    def function(u, b, beta):
        seen.append((tuple(u.shape), tuple(b.shape), tuple(beta.shape) if isinstance(beta, torch.Tensor) else beta))
        return u * beta + b.square()

    return function


@pytest.mark.parametrize("places", [(0, 0, 0), (1, 0, None), (None, 1, None), (None, None, 0), (2, None, 0)])
def test_stacked_agrees_with_a_loop_and_calls_once(places):
    each = [
        torch.randn(shape, dtype=torch.float64, generator=generator(k)) for k, shape in enumerate(((3, 5, 2), (3, 2), (3,)))
    ]
    given = [
        (one.movedim(0, place) if place is not None else one[0]).clone().requires_grad_()
        for one, place in zip(each, places, strict=True)
    ]
    seen = []
    function = broadcasting(seen)
    result = torch.vmap(lambda *arguments: stacked(function, *arguments), in_dims=places)(*given)
    assert len(seen) == 1
    expected = torch.stack(
        [
            broadcasting([])(
                *(one if place is None else one.select(place, k) for one, place in zip(given, places, strict=True))
            )
            for k in range(3)
        ]
    )
    torch.testing.assert_close(result, expected)
    weights = torch.randn(result.shape, dtype=result.dtype, generator=generator(9))
    found, wanted = (torch.autograd.grad((each * weights).sum(), given) for each in (result, expected))
    torch.testing.assert_close(found, wanted)


def test_stacked_without_anything_batched_calls_the_map():
    u = torch.ones(2, 3, requires_grad=True)
    b = torch.ones(3)
    rows = torch.vmap(lambda k: k * stacked(broadcasting([]), u, b, -2.0))(torch.arange(4.0))
    torch.testing.assert_close(torch.autograd.grad(rows.sum(), u)[0], torch.full((2, 3), -12.0))


def test_under_vmap_knows_the_innermost_transform():
    seen = []

    def look(x):
        seen.append(under_vmap())
        return x.sum()

    look(torch.ones(2))
    torch.vmap(look)(torch.ones(2, 2))
    torch.vmap(torch.func.grad(look))(torch.ones(2, 2))
    assert seen == [False, True, False]
