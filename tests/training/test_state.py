"""The state of models in training as tensors by name."""

import pytest
import torch

from qgcn.training.state import restore_tensors, tensors_of


def made(seed, steps):
    """Return parameters after some steps of Adam, the best of them, and Adam."""
    torch.manual_seed(seed)
    parameters = {"net.weight": torch.randn(2, 3, requires_grad=True), "beta": torch.randn((), requires_grad=True)}
    optimiser = torch.optim.Adam(parameters.values(), lr=0.1)
    for _ in range(steps):
        step(parameters, optimiser)
    return parameters, {name: tensor.detach() + 1 for name, tensor in parameters.items()}, optimiser


def step(parameters, optimiser):
    optimiser.zero_grad()
    sum((tensor**2).sum() for tensor in parameters.values()).backward()
    optimiser.step()


@pytest.mark.parametrize("steps", [0, 3])
def test_what_is_restored_goes_on_as_what_was_saved(steps):
    whole, other = made(0, steps), made(1, 2)
    saved = {name: tensor.detach().clone() for name, tensor in tensors_of(*whole).items()}
    assert ("adam/exp_avg/net.weight" in saved) == (steps > 0)
    restore_tensors(saved, *other)
    if steps:
        for parameters, _, optimiser in (whole, other):
            step(parameters, optimiser)
    for one, two in zip(whole[:2], other[:2], strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_state_of_another_model_is_refused():
    saved = tensors_of(*made(0, 1))
    with pytest.raises(ValueError, match=r"has nothing, which is not a parameter"):
        restore_tensors(saved | {"parameter/nothing": torch.zeros(1)}, *made(1, 0))
    with pytest.raises(ValueError, match=r"has \(3, 2\) for net.weight, expected \(2, 3\)"):
        restore_tensors(saved | {"parameter/net.weight": torch.zeros(3, 2)}, *made(1, 0))
    with pytest.raises(ValueError, match=r"has None for beta, expected \(\)"):
        restore_tensors({name: tensor for name, tensor in saved.items() if name != "best/beta"}, *made(1, 0))
