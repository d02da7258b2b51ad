"""A choice of space in words."""

import torch

from qgcn.analysis import measure
from qgcn.analysis.explanation import explain, explain_fewest, explain_target, list_scores
from qgcn.analysis.trials import Trial
from qgcn.data import cycle, tree


def trial(space, score):
    return Trial(space, score, 0.01, 3, 500, 2, score)


def told(edges, chosen, best):
    return explain(chosen, best, measure(edges), "mAP")


def test_the_sentence_names_graph_and_space():
    sentence, _ = told(tree(2, 4), trial("H3", 0.9), trial("H3", 0.9))
    assert sentence == "A tree, or as good as one: take H3, a hyperbolic space."
    sentence, _ = told(cycle(12), trial("Q2,2", 0.9), trial("Q2,2", 0.9))
    assert "take Q2,2, an indefinite space" in sentence


def test_the_reasons_tell_the_score_and_what_was_better():
    _, reasons = told(tree(2, 4), trial("H3", 0.9), trial("H3", 0.9))
    assert reasons[-1] == "H3 reached mAP 90.0 ± 1.0 in 500 epochs."
    _, reasons = told(tree(2, 4), trial("H3", 0.9), trial("Q2,2", 0.904))
    assert reasons[-1] == "Q2,2 reached 90.4, 0.4 more, which is within the tolerance."


def test_a_graph_without_planes_is_explained():
    _, reasons = told(torch.tensor([[0], [1]]), trial("H3", 1.0), trial("H3", 1.0))
    assert reasons[1] == "No node has two neighbours, so that nothing curves."


def test_fewer_dimensions_are_counted_as_free_ones():
    sentence = explain_fewest(trial("H10", 1.0), trial("Q1,3", 0.998), 15)
    assert sentence.startswith("All 15 spaces of 10 dimensions")
    assert "3 dimensions in Q1,3 hold what 10 in H10 hold" in sentence
    assert "none of fewer dimensions did" in explain_fewest(trial("H10", 1.0), trial("H10", 1.0), 15)


def test_a_target_is_reached_in_trials_in_full_or_not_at_all():
    said = explain_target(trial("Q1,3", 0.99), 0.985, "mAP", 16, None)
    assert said == "Its 3 dimensions are the fewest found to reach mAP 98.5 in trials."
    assert explain_target(trial("Q1,3", 0.99), 0.99, "mAP", 16, 0.992).endswith("trained in full, it reached 99.2.")
    assert explain_target(trial("Q1,3", 0.99), 0.99, "mAP", 16, 0.97).endswith("it reached no more than 97.0.")
    said = explain_target(trial("H16", 0.9), 0.99, "mAP", 16, None)
    assert said == "No space of up to 16 dimensions reached mAP 99 in trials; it came closest with 90.0."


def test_scores_of_a_dimension_are_listed_up_to_some():
    names = ["Q1,3", "E3", "H3", "S3", "Q2,2", "H1xS2", "H1xH2"]
    ranking = [trial(name, 0.9) for name in names]
    assert list_scores(ranking[:2]) == "With 3 dimensions: Q1,3 90.0, E3 90.0."
    assert list_scores(ranking).endswith("H1xS2 90.0, ...")
