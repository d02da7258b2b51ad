"""The state of models in training as tensors by name."""

import pytest
import torch

from qgcn.training.state import (
    check_state,
    check_tensors,
    check_values,
    finite_models,
    progress_of,
    restore_tensors,
    stepped,
    still_training,
    tensors_of,
)


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
    moved = stepped(whole[0], whole[2])
    assert moved == (["net.weight", "beta"] if steps else [])
    check_state(saved, *other[:2], moved, {})
    restore_tensors(saved, *other, moved)
    assert stepped(other[0], other[2]) == moved
    if steps:
        for parameters, _, optimiser in (whole, other):
            step(parameters, optimiser)
    for one, two in zip(whole[:2], other[:2], strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)


BOTH = ["net.weight", "beta"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameter/nothing": torch.zeros(1)}, "has parameter/nothing, which this model does not have"),
        (
            {"parameter/net.weight": torch.zeros(3, 2)},
            r"has float32 in \(3, 2\) for parameter/net.weight, expected float32 in \(2, 3\)",
        ),
        ({"parameter/beta": torch.zeros((), dtype=torch.float64)}, r"has float64 in \(\) for parameter/beta, expected float32"),
        ({"parameter/beta": torch.zeros((), dtype=torch.int32)}, r"has int32 in \(\) for parameter/beta"),
        ({"best/beta": None}, "has no best/beta"),
        ({"adam/exp_avg/net.weight": torch.zeros(1, 3)}, r"has float32 in \(1, 3\) for adam/exp_avg/net.weight"),
        ({"adam/exp_avg_sq/net.weight": torch.zeros(2)}, r"has float32 in \(2,\) for adam/exp_avg_sq/net.weight"),
        ({"adam/exp_avg_sq/beta": None}, "has no adam/exp_avg_sq/beta"),
        ({"adam/step/beta": torch.ones(2)}, r"has float32 in \(2,\) for adam/step/beta, expected float32 in \(\)"),
        ({"adam/step/beta": torch.tensor(0.0)}, "has moments of beta that Adam cannot have"),
        ({"adam/step/beta": torch.tensor(torch.nan)}, "has moments of beta that Adam cannot have"),
        ({"adam/exp_avg_sq/beta": torch.tensor(-1.0)}, "has moments of beta that Adam cannot have"),
        ({"adam/max_exp_avg_sq/beta": torch.tensor(1.0)}, "has adam/max_exp_avg_sq/beta, which this model does not have"),
        ({"more": torch.ones(3)}, r"has float32 in \(3,\) for more, expected float32 in \(2,\)"),
        ({"more": None}, "has no more"),
    ],
)
def test_a_tensor_of_another_name_shape_or_type_is_refused(change, message):
    saved = tensors_of(*made(0, 1)) | {"more": torch.ones(2)}
    parameters, best, _ = made(1, 0)
    check_state(saved, parameters, best, BOTH, {"more": torch.zeros(2)})
    wrong = {name: tensor for name, tensor in (saved | change).items() if tensor is not None}
    with pytest.raises(ValueError, match=f"^the checkpoint {message}"):
        check_state(wrong, parameters, best, BOTH, {"more": torch.zeros(2)})


def test_moments_are_those_that_the_state_says_it_has():
    saved, (parameters, best, _) = tensors_of(*made(0, 1)), made(1, 0)
    with pytest.raises(ValueError, match="has adam/step/beta, which this model does not have"):
        check_state(saved, parameters, best, ["net.weight"], {})
    with pytest.raises(ValueError, match="has moments of other, which is not a parameter of this model"):
        check_state(saved, parameters, best, [*BOTH, "other"], {})


ABOUT = {"seeds": [2, 3], "epoch": 4, "seconds": 1.5, "stepped": BOTH}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": [2]}, r"is of seeds \[2\], expected \[2, 3\]"),
        *(
            ({"epoch": epoch}, r"epoch of the checkpoint must lie in \[0, 9\], got")
            for epoch in (-1, 10, 1e999, "4", None, True, 4.0)
        ),
        *(({"seconds": seconds}, "seconds of the checkpoint must be a time") for seconds in (-1.0, 1e999, "1", None)),
        *(
            ({"stepped": moved}, "does not have the moments of Adam that belong to epoch 4")
            for moved in ([], None, "beta", [1])
        ),
        *(({"step": step}, r"step of the checkpoint must lie in \[0, 1\)") for step in (1, -1, 0.0, None)),
        ({"epoch": 0}, "does not have the moments of Adam that belong to epoch 0"),
    ],
)
def test_what_a_state_says_about_itself_is_checked(change, message):
    assert progress_of(ABOUT, [2, 3], 9) == (4, 0, 1.5, BOTH)
    assert progress_of(ABOUT | {"step": 2}, [2, 3], 9, 3) == (4, 2, 1.5, BOTH)
    assert progress_of(ABOUT | {"epoch": 0, "step": 2}, [2, 3], 9, 3) == (0, 2, 1.5, BOTH)
    with pytest.raises(ValueError, match=message):
        progress_of(ABOUT | change, [2, 3], 9)


def values(**changes):
    chosen = {"best_score": torch.tensor([0.5, -torch.inf]).double(), "best_epoch": torch.tensor([3, 0])}
    rows = {"stopped": torch.tensor([False, True]), "loss": torch.tensor([1.0, 2.0])}
    return (
        chosen
        | rows
        | {"parameter/w": torch.ones(2, 3), "best/w": torch.ones(2, 3), "adam/exp_avg/w": torch.ones(2, 3)}
        | changes
    )


NAN = torch.tensor([[1.0, 1.0, 1.0], [1.0, torch.nan, 1.0]])


@pytest.mark.parametrize("name", ["parameter/w", "adam/exp_avg/w", "best/w"])
def test_what_is_not_finite_is_refused_unless_the_seed_has_stopped(name):
    check_values(values(), 4, None)
    with pytest.raises(ValueError, match="holds numbers that are not finite"):
        check_values(values(**{name: NAN.flip(0)}), 4, None)
    if name == "best/w":
        with pytest.raises(ValueError, match="holds numbers that are not finite"):
            check_values(values(**{name: NAN}), 4, None)
    else:
        check_values(values(**{name: NAN}), 4, None)  # it goes on in its batch, but nothing of it is kept
    with pytest.raises(ValueError, match="holds numbers that are not finite"):
        check_values(values(loss=torch.tensor([torch.inf, 1.0])), 4, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"best_epoch": torch.tensor([5, 0])},
        {"best_epoch": torch.tensor([-1, 0])},
        {"best_epoch": torch.tensor([0, 0])},
        {"best_score": torch.tensor([0.5, 0.5])},
        {"best_score": torch.tensor([torch.nan, -torch.inf])},
        {"best_score": torch.tensor([torch.inf, -torch.inf])},
    ],
)
def test_best_epochs_and_scores_must_be_possible(changes):
    with pytest.raises(ValueError, match="the best epochs or scores of the checkpoint are not possible at epoch 4"):
        check_values(values(**changes), 4, None)


def test_a_model_trained_again_keeps_the_epochs_it_was_given():
    check_values(values(), 4, [3, 0])
    with pytest.raises(ValueError, match="not possible"):
        check_values(values(), 4, [3, 1])


def test_a_seed_is_in_training_until_it_stops_or_its_epoch_has_passed():
    best, stopped = torch.tensor([3, 5]), torch.tensor([True, False])
    assert still_training(best, stopped, 4, None).tolist() == [False, True]
    assert still_training(best, stopped, 4, [3, 5]).tolist() == [False, True]
    assert still_training(best, stopped, 3, [3, 5]).tolist() == [True, True]


def test_models_are_finite_one_by_one():
    assert finite_models({"a": torch.ones(2, 3), "b": NAN, "c": torch.ones(2), "d": torch.ones(2, 0)}, 2).tolist() == [
        True,
        False,
    ]
    assert finite_models({"a": torch.ones(()), "b": NAN[0]}, 1).tolist() == [True]
    assert finite_models({"adam/step/a": torch.tensor(torch.nan), "a": torch.ones(2, 1)}, 2).tolist() == [True, True]


def test_weights_are_compared_with_a_model():
    check_tensors({"a": torch.ones(2)}, {"a": torch.zeros(2)}, "the file")
    with pytest.raises(ValueError, match=r"^the file has no a$"):
        check_tensors({}, {"a": torch.zeros(2)}, "the file")
