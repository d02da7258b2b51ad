"""Trials: how spaces are halved, when a trial ends, and what is left out for want of time."""

import math

import pytest

from qgcn.analysis import trials as module
from qgcn.analysis.trials import SMALL_SECONDS, Trials
from qgcn.data import as_data, cycle, load, tree
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import TASKS, Config, LinkPrediction, Reconstruction, Rung

SIX = ["E3", "H3", "S3", "Q2,2", "Q1,3", "H1xS2"]


def reconstruct(graph, natural="hyperbolic", seconds=math.inf, **options):
    return Trials(Reconstruction.of(as_data(graph), **options.pop("settings", {})), natural, seconds=seconds, **options)


@pytest.mark.parametrize("task", ["classification", "links", "reconstruction"])
@pytest.mark.parametrize("dim", [3, 4, 7, 10, 16, 30])
def test_trials_cost_less_than_a_fifth_of_the_sweep(task, dim):
    count = len(spaces_of_dimension(dim, twins=not TASKS[task].learns_nodes))
    cost = sum(rung.places(count) * rung.epochs * rung.seeds for rung in TASKS[task].rungs)
    assert cost <= 2 * Config.checked({"task": task, "data": "cycle"}).epochs * count / 5


def test_the_better_ones_go_further_and_the_natural_one_stays():
    heard = []
    made = reconstruct(cycle(40), natural="spherical", progress=lambda *told: heard.append(told))
    ranking = made.rank(SIX, (Rung(1, 5, 1), Rung(1 / 3, 8, 2)))
    assert {trial.space for trial in ranking} == set(SIX)
    assert [trial.rounds for trial in ranking] == [2, 2, 1, 1, 1, 1]
    assert [(trial.epochs, trial.seeds) for trial in ranking[:3]] == [(8, 2), (8, 2), (5, 1)]
    by_first = sorted(ranking, key=lambda trial: -trial.first)
    assert {trial.space for trial in ranking[:2]} <= {by_first[0].space, by_first[1].space, "S3"}
    assert "S3" in {trial.space for trial in ranking[:2]}
    assert all(trial.deviation > 0 for trial in ranking)  # of one seed: that of the others
    assert made.cost == 6 * 5 + 2 * 2 * 8
    assert heard[0] == ("trials", 0, made.cost, "E3")
    assert heard[-1] == ("trials", made.cost, made.cost)
    assert not made.late


def test_a_trial_ends_when_nothing_is_left_to_gain_and_no_round_follows():
    made = reconstruct(cycle(4))
    ranking = made.rank(["E10", "S10"], (Rung(1, 400, 1), Rung(1, 400, 2)))
    assert [trial.score for trial in ranking] == [1, 1]
    assert all(trial.epochs <= 100 and trial.rounds == 1 for trial in ranking)
    assert made.cost == sum(trial.epochs for trial in ranking)


def test_one_space_that_reaches_the_goal_is_enough_if_asked_for():
    rungs = (Rung(1, 40, 1),)
    assert len(reconstruct(cycle(4)).rank(SIX, rungs, goal=0.5)) == 6
    ranking = reconstruct(cycle(4)).rank(SIX, rungs, goal=0.5, one_is_enough=True)
    assert [trial.space for trial in ranking] == ["E3"]


def test_time_over_leaves_one_trial_and_then_none():
    made = reconstruct(tree(2, 3), seconds=0)
    assert [trial.space for trial in made.rank(SIX, (Rung(1, 2, 1), Rung(1, 2, 1)))] == ["E3"]
    assert made.late
    assert made.rank(SIX, (Rung(1, 2, 1),)) == []


def test_a_round_that_would_end_too_late_is_left_out_and_told(monkeypatch):
    made = reconstruct(cycle(40))
    monkeypatch.setattr(made, "fits", lambda epochs, share=1.0: epochs < 10)
    ranking = made.rank(SIX, (Rung(1, 2, 1), Rung(1 / 3, 8, 1)))
    assert [trial.rounds for trial in ranking] == [1] * 6
    assert made.late


def test_what_is_not_among_the_first_gets_half_of_the_time(monkeypatch):
    made = reconstruct(tree(2, 3), seconds=100)
    monkeypatch.setattr(Trials, "seconds", property(lambda self: 60.0))
    ranking = made.rank(SIX, (Rung(1, 2, 1),), first=2)
    assert [trial.space for trial in sorted(ranking, key=lambda trial: trial.space)] == ["E3", "H3"]
    assert made.late


def test_the_time_limit_of_a_larger_graph_follows_from_its_epochs(monkeypatch):
    made = reconstruct(tree(2, 3), seconds=None)
    made.rank(["E3"], (Rung(1, 2, 1),))
    assert made.limit == SMALL_SECONDS
    monkeypatch.setattr(module, "SMALL", 3)
    assert made.limit == max(SMALL_SECONDS, 3 * 2000 * made._spent / 2)
    made._spent = 20.0
    assert made.limit == 3 * 2000 * 10
    assert reconstruct(tree(2, 3), seconds=5).limit == 5


def test_a_training_in_full_has_the_settings_of_the_problem():
    made = Trials(LinkPrediction.of(load("stochastic-block"), layers=1, epochs=3, eval_every=1, seeds=4), "hyperbolic")
    score = made.train_in_full("E4", 2.0)
    assert made.cost == 3  # one seed
    assert made.train_in_full("E4", score) == score
    assert made.train_in_full("E4", 0.0) <= score
    assert made.cost <= 3 + 3 + 1


def test_dimensions_are_free_ones():
    (trial,) = reconstruct(cycle(4)).rank(["Q1,3"], (Rung(1, 1, 1),))
    assert trial.dim == 3


def test_what_diverges_scores_nothing():
    made = reconstruct(tree(2, 3), settings={"lr": 1e30})
    (trial,) = made.rank(["E3"], (Rung(1, 5, 1),))
    assert trial.score == 0
