"""The fewest dimensions that reach a score, on graphs that are known to need some."""

import math

import networkx as nx

from qgcn.analysis.fewest import FewestDimensions
from qgcn.analysis.trials import Trials
from qgcn.data import as_data
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import Reconstruction, Rung

RUNGS = (Rung(1, 40, 1), Rung(1 / 3, 80, 1))


def search_of(graph, goal, seconds=math.inf):
    trials = Trials(Reconstruction.of(as_data(graph)), "spherical", seconds=seconds)
    return FewestDimensions(trials, lambda dim: [f"E{dim}", f"S{dim}"], RUNGS, goal)


def test_bisection_finds_where_the_score_is_reached_first():
    search = search_of(nx.petersen_graph(), 0.95)
    assert search.reaches(8)
    least = search.below(8)
    assert 2 < least < 8
    assert search.reaching(least)
    assert not search.reaching(least - 1)
    assert len(search.rankings[least - 1]) == 2  # where it is not reached, all were tried
    assert [trial.dim for trial in search.trials_made()] == sorted(trial.dim for trial in search.trials_made())
    before = {trial.space for trial in search.rankings[least]}
    search.complete(least, spaces_of_dimension(least))
    after = search.rankings[least]
    assert {trial.space for trial in after} == before | set(spaces_of_dimension(least))
    assert [trial.score for trial in after] == sorted((trial.score for trial in after), reverse=True)


def test_two_dimensions_are_the_fewest_there_are():
    search = search_of(nx.path_graph(4), 0.9)
    assert search.below(5) == 2
    assert all(len(ranking) == 1 for ranking in search.rankings.values())  # the first space did


def test_without_time_nothing_below_is_claimed():
    search = search_of(nx.petersen_graph(), 0.95, seconds=0)
    search.trials.rank(["E8"], RUNGS[:1])
    assert search.below(8) == 8
    assert search.trials.late
    assert search.rankings == {4: []}
