"""A choice of space in words."""

import torch

from qgcn.analysis import measure
from qgcn.analysis.explanation import explain
from qgcn.analysis.signature import Trial
from qgcn.data import cycle, tree


def trial(space, score):
    return Trial(space, score, 0.01, 3, 500, 2, score)


def told(edges, chosen, best):
    return explain(chosen, best, measure(edges), "mAP")


def test_the_sentence_names_graph_and_space():
    sentence, _ = told(tree(2, 4), trial("H3", 0.9), trial("H3", 0.9))
    assert sentence.startswith("A tree, or as good as one: take H3, a hyperbolic space.")
    assert "an indefinite one is not needed" in sentence
    sentence, _ = told(cycle(12), trial("Q2,2", 0.9), trial("Q2,2", 0.9))
    assert "take Q2,2, an indefinite space" in sentence
    assert "not needed" not in sentence


def test_the_reasons_tell_the_score_and_what_was_better():
    _, reasons = told(tree(2, 4), trial("H3", 0.9), trial("H3", 0.9))
    assert reasons[-1] == "H3 reached mAP 90.0 ± 1.0 in 500 epochs."
    _, reasons = told(tree(2, 4), trial("H3", 0.9), trial("Q2,2", 0.904))
    assert reasons[-1] == "Q2,2 reached 90.4, 0.4 more, which is within the tolerance."


def test_a_graph_without_planes_is_explained():
    _, reasons = told(torch.tensor([[0], [1]]), trial("H3", 1.0), trial("H3", 1.0))
    assert reasons[1] == "No node has two neighbours, so that nothing curves."
