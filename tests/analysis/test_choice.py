"""The choice among what was tried: the simplest of what is as good as the best, or the fewest dimensions."""

import math
from dataclasses import replace

import networkx as nx
import pytest

from qgcn.analysis import measure
from qgcn.analysis.choice import Candidates, choose, natural_family, seek, simplest
from qgcn.analysis.trials import Trial, Trials
from qgcn.data import as_data, cycle, ring_of_trees, sphere_graph, tree
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import Config, Reconstruction, Rung

RUNGS = (Rung(1, 40, 1), Rung(1 / 3, 80, 1))


def ranked(**scores):
    return sorted((Trial(name, score, 0.001, 2, 9, 2, score) for name, score in scores.items()), key=lambda t: -t.score)


def test_the_simplest_of_what_is_as_good_is_taken():
    measured = measure(tree(2, 5), 4)
    taken = lambda **scores: simplest(ranked(**scores), measured).space  # noqa: E731
    assert taken(E4=0.995, H3=0.992, S3=1.0) == "H3"  # a tree
    assert taken(E4=0.995, S3=0.98) == "E4"
    assert taken(H3=0.90, E4=0.98) == "E4"
    assert taken(**{"Q2,2": 0.99, "H1xS1": 0.985}) == "H1xS1"
    assert taken(**{"Q2,2": 0.99, "H1xS1": 0.95, "H3": 0.9}) == "Q2,2"
    assert taken(**{"Q2,2": 0.99, "Q3,1": 0.985}) == "Q3,1"


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
    assert natural_family(measured) == natural
    families = {"H4": "hyperbolic", "Q3,1": "hyperbolic", "S4": "spherical", "Q0,4": "spherical", "E4": "flat", "K4": ""}
    for space, kind in families.items():
        for gap, good in ((0.004, True), (0.008, plain and kind == natural), (0.012, False)):
            found = simplest(ranked(**{"Q2,2": 0.9, space: 0.9 - gap}), measured)
            assert found.space == (space if good else "Q2,2")


def test_what_trials_cannot_tell_apart_is_settled_by_the_measurements():
    measured = measure(ring_of_trees(20, 3, 2), 4)
    apart = [Trial(name, score, spread, 2, 9, 2, score) for name, score, spread in (("S4", 0.9, 0.005), ("H4", 0.89, 0.01))]
    assert simplest(apart, measured).space == "H4"  # the two differ by less than their uncertainty
    apart[1] = replace(apart[1], deviation=0.005)
    assert simplest(apart, measured).space == "S4"


def test_candidates_are_a_few_of_each_kind_and_then_the_others():
    candidates = Candidates(Config.checked({"task": "reconstruction", "data": "graph"}))
    assert candidates.every(5)[: len(candidates.few(5))] == candidates.few(5) == spaces_of_dimension(5, few=True)
    assert set(candidates.every(5)) == set(spaces_of_dimension(5))
    assert Candidates(Config.checked({"task": "reconstruction", "data": "graph"}), ["q2,2"]).every(7) == ["Q2,2"]


@pytest.mark.parametrize(("model", "few"), [("hgcn", ["H4"]), ("qgcn", spaces_of_dimension(4, few=True, twins=True))])
def test_candidates_live_where_the_model_does(model, few):
    assert Candidates(Config.checked({"task": "links", "data": "graph", "model": model})).few(4) == few


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"task": "entailment"}, ["M4", "AdS4", "dS4", "M1xH3", "M1xS3"]),
        ({"task": "entailment", "cone": "order", "space": "E3"}, ["E4"]),
        ({"task": "entailment", "cone": "shadow", "space": "H3"}, ["H4"]),
        ({"task": "directed-reconstruction"}, ["M4", "M1xH3", "M1xS3"]),
    ],
)
def test_candidates_are_those_that_the_settings_go_with(settings, names):
    candidates = Candidates(Config.checked({"data": "graph", **settings}))
    assert candidates.few(4) == candidates.every(4) == names


def test_of_spacetimes_flat_ones_are_the_simplest_then_products():
    measured = measure(tree(2, 5), 4)
    assert simplest(ranked(AdS4=0.99, M4=0.99, M1xH3=0.992), measured).space == "M4"
    assert simplest(ranked(AdS4=0.99, M1xH3=0.99, dS4=0.992), measured).space == "M1xH3"


def chosen(rule, graph, *args, seconds=math.inf, **options):
    problem, measured = Reconstruction.of(as_data(graph), **options), measure(graph, 8)
    trials = Trials(problem, natural_family(measured), seconds=seconds)
    return rule(*args, Candidates(problem.config), RUNGS, trials, measured)


def test_where_all_spaces_tie_fewer_dimensions_are_tried_until_they_do_not():
    found = chosen(choose, nx.complete_multipartite_graph(4, 4, 4), 8)
    assert found.chosen.space == "S8"
    assert {trial.dim for trial in found.ranking} == {8}
    assert found.fewest.space[0] == "Q"
    assert found.fewest.dim < 8
    assert f"{found.fewest.dim} dimensions in {found.fewest.space} hold what 8 in S8 hold" in found.sentence
    tried = [trial for trial in found.others if trial.dim == found.fewest.dim]
    assert {trial.space for trial in tried} == set(spaces_of_dimension(found.fewest.dim))
    assert min(trial.score for trial in tried) < found.fewest.score - 0.03
    assert any(reason.startswith(f"With {found.fewest.dim} dimensions: ") for reason in found.reasons)
    assert max(trial.score for trial in found.others if trial.dim == found.fewest.dim - 1) < 0.995


def test_where_they_do_not_tie_no_fewer_dimensions_are_tried():
    found = chosen(choose, nx.complete_multipartite_graph(4, 4, 4), 4)
    assert (found.fewest, found.others) == (found.chosen, [])
    assert "hold what" not in found.sentence


@pytest.fixture(scope="module")
def petersen():
    return chosen(seek, nx.petersen_graph(), 0.95, 6)


def test_the_fewest_dimensions_that_reach_a_score_are_verified(petersen):
    found = petersen
    assert found.reached >= 0.95
    assert 2 < found.chosen.dim < 6
    assert found.fewest == found.chosen
    assert {trial.dim for trial in found.ranking} == {found.chosen.dim}
    below = [trial.score for trial in found.others if trial.dim == found.chosen.dim - 1]
    assert max(below) < 0.95
    assert "the fewest found to reach mAP 95" in found.sentence


def test_a_score_that_a_training_in_full_misses_takes_one_dimension_more(petersen):
    short = {"epochs": 10, "eval_every": 10}  # trials are longer here
    found = chosen(seek, nx.petersen_graph(), 0.95, 6, **short)
    assert found.chosen.dim > petersen.chosen.dim
    assert (found.reached >= 0.95) or (found.chosen.dim == 6 and "no more than" in found.sentence)


def test_a_score_out_of_reach_leaves_the_best_space_there_is():
    found = chosen(seek, cycle(30), 0.999, 2)
    assert found.chosen == max(found.ranking, key=lambda trial: trial.score)
    assert "No space of up to 2 dimensions reached mAP 99.9" in found.sentence
    assert found.reached is None
