"""The choice of a space: what is compared, how it is halved, what is chosen on graphs of known geometry."""

import json
from dataclasses import replace

import networkx as nx
import pytest

from qgcn.analysis import measure, signature, suggest_signature
from qgcn.analysis.signature import Trial, auto_space
from qgcn.data import cycle, load, ring_of_trees, sphere_graph, tree
from qgcn.manifolds import candidate_spaces
from qgcn.tasks import TASKS, Config, LinkPrediction, Rung

SIX = ["Q2,1", "Q1,2", "Q0,3", "E3", "H3", "S3"]
QUICK = (Rung(1, 100, 1), Rung(1 / 2, 200, 2))


@pytest.mark.parametrize("task", ["classification", "links", "reconstruction"])
@pytest.mark.parametrize("dim", [2, 3, 4, 7, 10, 16, 30])
def test_trials_cost_less_than_a_fifth_of_the_sweep(task, dim):
    count = len(candidate_spaces(dim))
    cost = sum(rung.places(count) * rung.epochs * rung.seeds for rung in TASKS[task].rungs)
    assert cost <= 2 * Config.checked({"task": task, "data": "cycle"}).epochs * count / 5


@pytest.mark.parametrize(("name", "dim"), [("auto", 16), ("auto:3", 3), ("AUTO:16", 16), ("H16", None), ("Q7,3", None)])
def test_auto_space_reads_the_dimension(name, dim):
    assert auto_space(name) == dim


@pytest.mark.parametrize("name", ["auto:", "auto:1", "auto:x", "auto:-3", "auto:9999999"])
def test_auto_space_refuses_what_is_no_dimension(name):
    with pytest.raises(ValueError, match="space must be auto:DIM"):
        auto_space(name)


def test_a_tree_gets_one_time_dimension_or_hyperbolic_space():
    found = suggest_signature(tree(2, 3), spaces=["Q3,1", "Q2,2", "Q0,4", "E4", "H4", "S4"], rungs=QUICK)
    assert found.space in ("Q3,1", "H4")
    assert "tree" in found.sentence
    assert "not needed" in found.sentence


def test_a_sphere_gets_no_space_dimension_or_a_sphere():
    found = suggest_signature(sphere_graph(60, 0.7, seed=0), spaces=["Q2,1", "Q1,2", "Q0,3", "E3", "H3", "S3"], rungs=QUICK)
    assert found.space in ("Q0,3", "S3")


def test_ranking_holds_every_space_and_the_better_ones_went_further():
    heard = []
    found = suggest_signature(
        cycle(40), spaces=SIX, rungs=(Rung(1, 5, 1), Rung(1 / 3, 8, 2)), progress=lambda *told: heard.append(told)
    )
    assert {trial.space for trial in found.ranking} == set(SIX)
    assert [trial.rounds for trial in found.ranking] == [2, 2, 1, 1, 1, 1]
    assert [(trial.epochs, trial.seeds) for trial in found.ranking[:3]] == [(8, 2), (8, 2), (5, 1)]
    by_first = sorted(found.ranking, key=lambda trial: -trial.first)
    named = next(trial for trial in by_first if trial.space in ("S3", "Q0,3"))  # what a cycle is measured to be
    assert {trial.space for trial in found.ranking[:2]} <= {by_first[0].space, by_first[1].space, named.space}
    assert named in found.ranking[:2]
    assert found.cost == 6 * 5 + 2 * 2 * 8
    assert all(trial.deviation > 0 for trial in found.ranking)  # of one seed: that of the others
    trials = [told for told in heard if told[0] == "trials"]
    assert heard[0] == ("spectrum",)
    assert trials[0] == ("trials", 0, found.cost, "Q2,1")
    assert trials[-1] == ("trials", found.cost, found.cost)
    assert json.loads(json.dumps(found.as_dict()))["space"] == found.space


def test_same_seed_same_choice():
    first, second = (suggest_signature(cycle(20), 2, rungs=(Rung(1, 5, 1),), seed=7) for _ in range(2))
    assert [(t.space, t.score) for t in first.ranking] == [(t.space, t.score) for t in second.ranking]


def test_other_tasks_are_tried_on_validation():
    found = suggest_signature("stochastic-block", spaces=["E4", "H4"], task="classification", rungs=(Rung(1, 5, 2),))
    assert (found.metric, found.task, len(found.ranking)) == ("f1_micro", "classification", 2)
    found = suggest_signature("stochastic-block", spaces=["E4"], task="links", rungs=(Rung(1, 3, 1),))
    assert found.metric == "roc_auc"


def test_large_graphs_are_tried_in_part():
    data = load("torus-with-trees")
    found = suggest_signature(data, spaces=["E3"], rungs=(Rung(1, 2, 1),), trial_nodes=50)
    assert found.nodes == 50
    assert any("part of 50 of" in reason for reason in found.reasons)
    part = signature._part(signature.Shape.of(data), 50, 0)
    assert nx.is_connected(nx.Graph(part.edge_index.T.tolist()))


def test_time_over_leaves_the_ranking_of_what_was_made():
    found = suggest_signature(cycle(20), 4, rungs=(Rung(1, 2, 1), Rung(1 / 2, 2, 1)), seconds=0)
    assert len(found.ranking) == 1 or {trial.rounds for trial in found.ranking} == {1}


def trials(**scores):
    return sorted((Trial(name, score, 0.001, 2, 9, 2, score) for name, score in scores.items()), key=lambda t: -t.score)


def test_the_simplest_of_what_is_as_good_is_taken():
    measured = measure(tree(2, 5), 4)
    choose = lambda **scores: signature._simplest(trials(**scores), measured).space  # noqa: E731
    assert choose(E4=0.995, H3=0.992, S3=1.0) == "H3"  # a tree
    assert choose(E4=0.995, S3=0.98) == "E4"
    assert choose(H3=0.90, E4=0.98) == "E4"
    assert signature._simplest(trials(**{"Q2,2": 0.99, "H1xS1": 0.985}), measured).space == "H1xS1"
    assert signature._simplest(trials(**{"Q2,2": 0.99, "H1xS1": 0.95, "H3": 0.9}), measured).space == "Q2,2"
    assert signature._simplest(trials(**{"Q2,2": 0.99, "Q3,1": 0.985}), measured).space == "Q3,1"


@pytest.mark.parametrize(
    ("graph", "natural", "plain"),
    [
        (tree(3, 4), "hyperbolic", True),
        (sphere_graph(200, 0.35, seed=3), "spherical", True),
        (ring_of_trees(20, 3, 2), "hyperbolic", False),
    ],
)
def test_what_is_natural_beyond_doubt_may_be_a_point_below_the_best_and_others_half_a_point(graph, natural, plain):
    measured = measure(graph, 4)
    assert (signature._natural(measured), signature._is_plain(measured)) == (natural, plain)
    families = {"H4": "hyperbolic", "Q3,1": "hyperbolic", "S4": "spherical", "Q0,4": "spherical", "E4": "flat", "K4": ""}
    for space, kind in families.items():
        for gap, good in ((0.004, True), (0.008, plain and kind == natural), (0.012, False)):
            found = signature._simplest(trials(**{"Q2,2": 0.9, space: 0.9 - gap}), measured)
            assert found.space == (space if good else "Q2,2")


def test_what_trials_cannot_tell_apart_is_settled_by_the_measurements():
    measured = measure(ring_of_trees(20, 3, 2), 4)
    apart = [Trial(name, score, spread, 2, 9, 2, score) for name, score, spread in (("S4", 0.9, 0.005), ("H4", 0.89, 0.01))]
    assert signature._simplest(apart, measured).space == "H4"  # the two differ by less than their uncertainty
    apart[1] = replace(apart[1], deviation=0.005)
    assert signature._simplest(apart, measured).space == "S4"


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (cycle(9), {"dim": 1}, "dim must be at least 2, got 1"),
        (cycle(9), {"task": "dancing"}, "task must be one of"),
        (cycle(9), {"spaces": []}, "spaces must name at least one"),
        (cycle(9), {"rungs": ()}, "rungs must hold at least one"),
        (cycle(9), {"spaces": ["R3"]}, "unknown space 'R3'"),
        (cycle(9), {"options": {"lrr": 1}}, "unknown key 'lrr'"),
        (nx.empty_graph(3), {}, "has no edges"),
    ],
)
def test_what_is_wrong_is_said(graph, options, message):
    with pytest.raises(ValueError, match=message):
        suggest_signature(graph, **({"dim": 3} | options))


def test_a_problem_is_tried_as_it_is_with_its_own_settings():
    problem = LinkPrediction.of(load("stochastic-block"), model="hgcn", layers=1, seed=3)
    found = suggest_signature(problem, 3, rungs=(Rung(1, 2, 1),))
    assert found.task == "links"
    assert {trial.space for trial in found.ranking} == {"H3"}  # where the model lives
    assert problem.config.space == "H16"
