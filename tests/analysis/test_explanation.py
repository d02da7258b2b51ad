"""A choice of space in words."""

import pytest

from qgcn.analysis import distance_spectrum, gromov_hyperbolicity, sectional_curvature
from qgcn.analysis.explanation import explain, kind_of
from qgcn.analysis.signature import Trial
from qgcn.data import cycle, tree


@pytest.mark.parametrize(
    ("space", "kind"),
    [("Q3,2", "Q"), ("Q4,1", "H"), ("Q0,4", "S"), ("H4", "H"), ("S4", "S"), ("E4", "E"), ("H2xS2", "product")],
)
def test_the_ends_of_the_family_are_riemannian(space, kind):
    assert kind_of(space) == kind


def trial(space, score):
    return Trial(space, score, 0.01, 3, 500, 2, score)


def told(edges, chosen, best):
    measured = gromov_hyperbolicity(edges), sectional_curvature(edges), distance_spectrum(edges)
    return explain(chosen, best, measured, "mAP")


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
