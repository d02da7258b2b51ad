"""A problem is built from settings and what is at hand."""

import networkx as nx
import pytest
import torch

from qgcn.data import load
from qgcn.tasks import Config
from qgcn.training.problem import build_problem


def config(task):
    return Config.checked({"task": task, "data": "stochastic-block", "space": "Q5,2", "device": "cpu"})


def test_the_graph_of_the_settings_is_read_unless_one_is_given():
    assert build_problem(config("links"), None, None).num_nodes == 240
    assert build_problem(config("links"), load("stochastic-block", sizes=(20, 30)), None).num_nodes == 50


def test_a_graph_may_be_anything_that_is_understood():
    assert build_problem(config("links"), nx.karate_club_graph(), None).num_nodes == 34


def test_a_split_that_is_read_back_is_the_split():
    made = build_problem(config("links"), None, None)
    again = build_problem(config("links"), made.source, made.split)
    assert made.split.keys() == again.split.keys()
    assert all(torch.equal(made.split[name], again.split[name]) for name in made.split)


def test_targets_that_are_no_classes_do_not_keep_a_graph_from_other_tasks():
    data = load("stochastic-block")
    for y in (data.y.unsqueeze(1) + 0.5, torch.rand(240), torch.zeros(240, 3)):
        given = data.clone()
        given.y = y
        assert build_problem(config("links"), given, None).num_nodes == 240
        with pytest.raises(ValueError, match="labels"):
            build_problem(config("classification"), given, None)
