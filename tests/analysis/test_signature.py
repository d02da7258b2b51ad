"""The choice of a space: what it takes, and what is chosen on graphs of known geometry."""

import json
import math

import networkx as nx
import pytest

from qgcn.analysis import signature, suggest_signature
from qgcn.analysis.signature import auto_space
from qgcn.data import cycle, load, sphere_graph, tree
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import Config, LinkPrediction, Rung

QUICK = (Rung(1, 100, 1), Rung(1 / 2, 200, 2))


@pytest.mark.parametrize(
    ("name", "dim"),
    [("auto", 16), ("auto:3", 3), ("AUTO:16", 16), ("auto:2", 2), ("auto:1024", 1024), ("H16", None), ("Q7,3", None)],
)
def test_auto_space_reads_the_dimension(name, dim):
    assert auto_space(name) == dim


@pytest.mark.parametrize("name", ["auto:", "auto:1", "auto:x", "auto:-3", "auto:1025", "auto:9999999"])
def test_auto_space_refuses_what_is_no_dimension(name):
    with pytest.raises(ValueError, match="space must be auto:DIM"):
        auto_space(name)


def test_a_tree_gets_one_time_dimension_or_hyperbolic_space():
    spaces = ["Q3,1", "Q2,2", "Q0,4", "E4", "H4", "S4"]
    found = suggest_signature(tree(2, 3), spaces=spaces, rungs=QUICK, seconds=math.inf)
    assert found.space in ("Q3,1", "H4")
    assert "tree" in found.sentence
    assert "not needed" in found.sentence


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"task": "entailment"}, {"M3", "AdS3", "dS3", "M1xH2", "M1xS2"}),
        ({"task": "entailment", "options": {"cone": "hyperbolic"}}, {"H3"}),
        ({"task": "directed-reconstruction"}, {"M3", "M1xH2", "M1xS2"}),
        ({"task": "directed-reconstruction", "trial_nodes": 30}, {"M3", "M1xH2", "M1xS2"}),
    ],
)
def test_tasks_that_read_cones_are_tried_where_these_are_defined(options, names):
    arrows = nx.balanced_tree(2, 5, create_using=nx.DiGraph)
    found = suggest_signature(arrows, 3, rungs=(Rung(1, 5, 1),), seconds=math.inf, **options)
    assert {trial.space for trial in found.ranking} == names
    assert found.nodes == options.get("trial_nodes", 63)
    assert ("ordered by light" in found.sentence) == (names != {"H3"})
    assert ("not needed" in found.sentence) == (names == {"H3"})


def test_settings_that_go_with_no_space_are_refused():
    with pytest.raises(ValueError, match="hgcn lives in a hyperbolic space such as H16, got M10"):
        suggest_signature(nx.path_graph(9), 3, task="directed-reconstruction", options={"model": "hgcn"})


def test_a_sphere_gets_no_space_dimension_or_a_sphere():
    spaces = ["Q2,1", "Q1,2", "Q0,3", "E3", "H3", "S3"]
    found = suggest_signature(sphere_graph(60, 0.7, seed=0), spaces=spaces, rungs=QUICK, seconds=math.inf)
    assert found.space in ("Q0,3", "S3")


def test_ranking_and_reasons_go_into_a_file():
    heard = []
    rungs = (Rung(1, 5, 1), Rung(1 / 3, 8, 2))
    found = suggest_signature(cycle(40), 3, rungs=rungs, seconds=math.inf, progress=lambda *told: heard.append(told))
    assert {trial.space for trial in found.ranking} == set(spaces_of_dimension(3))
    assert found.cost == 8 * 5 + 2 * 2 * 8
    assert found.sweep_cost == 2 * 8 * Config.checked({"task": "reconstruction", "data": "cycle"}).epochs
    assert heard[0] == ("spectrum",)
    assert ("trials", found.cost, found.cost) in heard
    told = json.loads(json.dumps(found.as_dict()))
    assert (told["space"], told["fewest"], told["others"], told["reached"]) == (found.space, found.space, [], None)
    assert [trial["score"] for trial in told["ranking"]] == [trial.score for trial in found.ranking]


def test_same_seed_same_choice():
    first, second = (suggest_signature(cycle(20), 2, rungs=(Rung(1, 5, 1),), seconds=math.inf, seed=7) for _ in range(2))
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


def test_a_target_is_not_verified_on_a_part():
    found = suggest_signature(load("torus-with-trees"), 3, target=0.2, rungs=(Rung(1, 20, 1),), trial_nodes=50)
    assert found.ranking[0].score >= 0.2
    assert found.reached is None


def test_time_over_leaves_the_ranking_of_what_was_made():
    found = suggest_signature(cycle(20), 4, rungs=(Rung(1, 2, 1), Rung(1 / 2, 2, 1)), seconds=0)
    assert len(found.ranking) == 1 or {trial.rounds for trial in found.ranking} == {1}


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
        (cycle(9), {"target": 99}, "target must be above 0 and at most 1, such as 0.99, got 99"),
        (cycle(9), {"target": 0.9, "spaces": ["E3"]}, "spaces cannot be given"),
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
