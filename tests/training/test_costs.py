"""Costs, estimated from the first steps, which are those of the training."""

import math

import pytest
import torch

from qgcn.data import read_graph
from qgcn.training import Config, Cost, Declined, Run, Trainer, load_run
from qgcn.training.costs import Pace, estimate_cost, measure_pace

SMALL = {"device": "cpu", "task": "links", "data": "stochastic-block", "space": "Q3,2", "epochs": 20}


def config(**settings):
    return Config.checked(SMALL | settings)


def trainer(**settings):
    run = Run(config(**settings))
    return Trainer(run.task, [0], run.fabric)


def never():
    return False


# --- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.01, "1 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (3600, "1 h"),
        (7830, "2 h 10 min"),
        (86400, "1 day"),
        (90000, "1 day 1 h"),
        (3 * 86400 + 7200, "3 days 2 h"),
        (10**8, "1,157 days"),
    ],
)
def test_times_are_said_in_two_units(seconds, said):
    assert str(Cost(seconds, None, 400, 1, at_most=False)) == f"about {said} for 400 epochs"


@pytest.mark.parametrize(("memory", "said"), [(1, "1 MB"), (310_400_000, "310 MB"), (1_440_000_000, "1.4 GB")])
def test_memory_seeds_and_bounds_are_said(memory, said):
    found = str(Cost(200, memory, 2000, 5, at_most=True))
    assert found == f"at most about 3 min 20 s for 2,000 epochs of 5 seeds, {said} of memory"


# --- arithmetic --------------------------------------------------------------------------------------------------------


def test_a_cost_is_that_of_epochs_and_validations_of_all_seeds():
    made, pace = trainer(eval_every=7), Pace(2.0, 10.0)
    whole = 20 * 2 + 3 * 10  # validated at 7, 14 and 20
    assert estimate_cost(made, pace).seconds == whole
    assert estimate_cost(made, pace, later=4).seconds == 5 * whole
    made.epoch = 14
    assert estimate_cost(made, pace, later=4).seconds == 6 * 2 + 10 + 4 * whole
    found = estimate_cost(made, pace, later=4)
    assert (found.epochs, found.seeds, found.at_most) == (20, 5, False)


def test_a_cost_is_a_bound_where_training_may_end_before():
    pace = Pace(1.0, 0.0)
    assert estimate_cost(trainer(patience=5), pace).at_most
    assert estimate_cost(trainer(task="reconstruction"), pace).at_most  # at a score that cannot get better
    refit = estimate_cost(trainer(refit=True), pace)
    assert refit.at_most
    assert refit.seconds == 40


def test_a_cost_counts_what_adam_has_not_allocated_yet():
    made = trainer()
    before = estimate_cost(made, Pace(1.0, 1.0)).memory
    if before is None:
        pytest.skip("not known on this system")
    parameters = sum(parameter.nbytes for parameter in made.parameters.values())
    made.run(until=lambda: True)
    assert before >= 3 * parameters
    assert estimate_cost(made, Pace(1.0, 1.0)).memory >= before - 3 * parameters - 2**24


# --- measuring ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 2, 5])
def test_measured_epochs_are_those_of_the_training(every):
    whole, measured = trainer(eval_every=every, dropout=0.3), trainer(eval_every=every, dropout=0.3)
    whole.run()
    reports = []
    pace = measure_pace(measured, reports.append, never)
    assert 0 < measured.epoch < 15
    assert pace.epoch > 0
    assert (pace.validation > 0) == (every > 1)
    measured.run(reports.append)
    assert [each.epoch for each in reports] == list(range(every, 21, every))
    for name, tensor in whole.state()[0].items():
        assert torch.equal(measured.state()[0][name], tensor), name


def test_of_an_epoch_of_many_steps_a_few_are_timed_and_nothing_changes():
    def made():
        given = {"epochs": 3, "eval_every": 1, "batch_size": 8, "fanout": "2", "dropout": 0.5}
        return trainer(**given, task="classification", data="stochastic-block", space="Q3,2", feature_dropout=0.3)

    measured, undisturbed, heard, expected = made(), made(), [], []
    steps = len(measured.task.loader)
    assert steps > 20
    pace = measure_pace(measured, heard.append, never)
    assert measured.epoch == 0
    assert 2 < measured.step < steps
    assert pace.epoch > 0
    assert pace.validation > 0
    measured.run(heard.append)
    undisturbed.run(expected.append)
    assert heard == expected
    assert all(torch.equal(one, undisturbed.state()[0][name]) for name, one in measured.state()[0].items())
    assert measure_pace(made(), heard.append, lambda: True) is None


def test_there_is_no_estimate_of_a_training_that_has_ended_or_was_asked_to_stop():
    assert measure_pace(trainer(epochs=2), lambda _: None, never) is None
    made = trainer()
    assert measure_pace(made, lambda _: None, lambda: made.epoch == 1) is None
    assert made.epoch == 1


def test_a_long_step_is_estimated_before_it_is_taken():
    node = torch.arange(12_000)
    data = read_graph(torch.stack((node[1:], (node[1:] - 1) // 2)))
    run = Run(Config.checked({"task": "reconstruction", "data": "tree", "device": "cpu", "space": "Q3,2"}), data=data)
    made = Trainer(run.task, [0], run.fabric)
    pace = measure_pace(made, lambda _: None, never)
    assert made.epoch == 0
    assert not made.optimiser.state
    assert 0 < pace.validation < math.inf
    assert 0 < pace.epoch < math.inf


# --- consent -----------------------------------------------------------------------------------------------------------


def test_the_cost_is_told_once_and_changes_nothing(tmp_path):
    settings = {"seeds": 3, "batch_seeds": False}
    told = []
    Run.start(config(**settings), tmp_path / "asked").train(consent=told.append)
    Run.start(config(**settings), tmp_path / "plain").train()
    (cost,) = told
    assert (cost.seeds, cost.epochs) == (3, 20)
    for name in ("results.json", "metrics.jsonl", "weights/seed-2.safetensors", "embeddings/seed-2.npz"):
        assert (tmp_path / "asked" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def decline(cost):
    raise Declined(f"no: {cost}")


def test_nothing_is_left_of_a_new_run_that_was_declined(tmp_path):
    with pytest.raises(Declined, match=r"no: about .* for 20 epochs"):
        Run.start(config(checkpoint_seconds=0), tmp_path / "runs" / "new").train(consent=decline)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_begun_stays_if_what_is_left_is_declined(tmp_path):
    def stop(stage, done, total, note=""):
        if done == 10:
            raise RuntimeError("killed")

    whole, begun = tmp_path / "whole", tmp_path / "begun"
    Run.start(config(), whole).train()
    with pytest.raises(RuntimeError, match="killed"):
        Run.start(config(checkpoint_seconds=0), begun).train(stop)
    with pytest.raises(Declined):
        load_run(begun).train(consent=decline)
    load_run(begun).train()
    for name in ("metrics.jsonl", "weights/seed-0.safetensors", "embeddings/seed-0.npz"):
        assert (begun / name).read_bytes() == (whole / name).read_bytes()


def test_a_finished_run_costs_nothing(tmp_path):
    Run.start(config(epochs=4), tmp_path / "run").train()
    load_run(tmp_path / "run").train(consent=decline)


def test_training_again_on_everything_costs_its_own_epochs_alone():
    made = trainer(refit=True)
    made.keep = 3  # as many epochs as validation chose
    assert estimate_cost(made, Pace(1.0, 0.0)).seconds == 20
