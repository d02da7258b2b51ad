"""What a run lists to be looked through, against all pairs and all nodes of small graphs."""

import itertools

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from qgcn.data import load
from qgcn.training import Config, Run, pairs
from qgcn.viz.report import listings
from qgcn.viz.report.listings import listings_of


def train(task, data, **settings):
    run = Run.start(Config.checked({"task": task, "data": "graph", "epochs": 5, "space": "Q3,2", **settings}), None, data)
    run.train()
    return run


def named(data):
    """A graph whose nodes have names."""
    data.node_ids = np.array([f"n{k:03d}" for k in range(data.num_nodes)])
    return data


@pytest.fixture(scope="module")
def linked():
    return train("links", named(load("ring-of-trees")), seeds=2)


@pytest.fixture(scope="module")
def classified():
    data = named(load("stochastic-block"))
    data.y[::7] = (data.y[::7] + 1) % 4  # wrong, in every part of the split
    data.y[-30:] = -1  # unlabelled
    for name in ("train_mask", "val_mask", "test_mask"):
        data[name][-30:] = False
    data.train_mask[:40] &= torch.arange(40) % 2 == 0  # labelled, but in no part of the split
    return train("classification", data, seeds=2, epochs=2)


@pytest.fixture(scope="module")
def embedded():
    return train("reconstruction", named(load("ring-of-trees")), epochs=20)


def unlinked(run):
    """All pairs of names without a link, and how many neighbours they have in common."""
    neighbours = {name: set() for name in run.node_ids}
    for a, b in run.data.edge_index.T.tolist():
        neighbours[run.node_ids[a]].add(run.node_ids[b])
    every = itertools.combinations(run.node_ids, 2)
    return {(a, b): len(neighbours[a] & neighbours[b]) for a, b in every if b not in neighbours[a]}


@pytest.mark.parametrize("entries", [2**22, 2000])
def test_missing_links_are_the_most_probable_of_all_pairs(linked, monkeypatch, entries):
    monkeypatch.setattr(pairs, "BLOCK_ENTRIES", entries)  # all rows in one block, or 11 rows each
    (listing,) = listings_of(linked, 0)
    assert listing.title == "Links most probably missing"
    assert list(listing.table.columns) == ["node", "other", "probability", "spread", "common_neighbours"]
    assert (listing.nodes, listing.shares) == (("node", "other"), ("probability", "spread"))
    everything = unlinked(linked)
    mean, spread = linked.score_links(list(everything), return_std=True)
    place = {pair: k for k, pair in enumerate(everything)}
    found = list(listing.table)
    assert len({row[:2] for row in found}) == len(found) == 50
    for node, other, probability, deviation, common in found:
        k = place[node, other]
        assert (probability, deviation) == pytest.approx((mean[k], spread[k]))
        assert common == everything[node, other]
    np.testing.assert_allclose(listing.table["probability"], np.sort(mean)[::-1][:50], rtol=1e-6)
    assert listing.table["common_neighbours"].max() > 0
    (whole,) = listings_of(linked, 0, rows=10**6)
    assert {row[:2] for row in whole.table} == set(everything)


def test_doubtful_labels_are_ordered_by_how_sure_the_model_is(classified):
    (listing,) = listings_of(classified, 0, rows=1000)
    assert listing.title == "Labels most surely wrong"
    assert list(listing.table.columns) == ["node", "label", "predicted", "probability", "label_probability", "spread", "split"]
    mean, spread = classified.predict_proba(return_std=True)
    data, names = classified.data, classified.classes
    expected = []
    for k, label in enumerate(data.y.tolist()):
        guess = int(mean[k].argmax())
        if label >= 0 and guess != label:
            masks = {"training": data.train_mask, "validation": data.val_mask, "test": data.test_mask}
            part = next((name for name, mask in masks.items() if mask[k]), "none")
            figures = mean[k, guess], mean[k, label], spread[k, guess]
            expected.append((f"n{k:03d}", names[label], names[guess], *figures, part))
    expected.sort(key=lambda row: row[4] - row[3])
    assert list(listing.table) == expected
    assert {row[-1] for row in expected} == {"training", "validation", "test", "none"}
    (first,) = listings_of(classified, 0, rows=3)
    assert list(first.table) == expected[:3]
    assert f"of {len(expected)} that it contradicts among {int((data.y >= 0).sum())}." in first.about
    assert "The model is surest that these labels are wrong" in first.about


def test_nearest_points_that_are_not_linked_are_those_of_all_pairs(embedded):
    (listing,) = listings_of(embedded, 0)
    assert listing.title == "Nearest points that are not linked"
    assert list(listing.table.columns) == ["node", "other", "distance", "common_neighbours"]
    points, space, ids = embedded.embedding()
    distance = space.pairwise_dist(points).double().numpy()
    place = {name: k for k, name in enumerate(ids)}
    everything = {pair: distance[place[pair[0]], place[pair[1]]] for pair in unlinked(embedded)}
    np.testing.assert_allclose(listing.table["distance"], sorted(everything.values())[:50], rtol=1e-4, atol=1e-6)
    for node, other, found, _ in listing.table:
        assert found == pytest.approx(everything[node, other], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("blended", [False, True])
def test_calibration_is_told_as_the_results_have_it(blended):
    run = train("links", load("stochastic-block"), seeds=2, epochs=30, blend=blended)
    (listing,) = listings_of(run, 0)
    before, after = (np.mean([each["calibration"][name] for each in run.results]) for name in ("uncalibrated", "error"))
    assert listing.about.endswith(f"on the test from {100 * before:.1f} % to {100 * after:.1f} % (mean over 2 seeds).")
    temperature = np.mean([1 / each["blend"]["network"] for each in run.results])
    assert (f"with a temperature of {temperature:.2f}," in listing.about) is not blended


@pytest.mark.parametrize(
    ("task", "told"),
    [
        ("links", ""),
        ("directed-reconstruction", "Each leads from the first node to the second. "),
        ("entailment", "The first node of each is the ancestor. "),  # although edges lead from child to parent
    ],
)
def test_pairs_are_told_with_the_order_of_their_nodes(task, told):
    tree = torch.tensor([list(range(1, 31)), [(k - 1) // 2 for k in range(1, 31)]])
    form = {"edges": "child-parent"} if task == "entailment" else {}
    run = train(task, Data(edge_index=tree, num_nodes=31), space="E3" if task == "links" else "M3", **form)
    assert f"most probable. {told}The probability is" in listings_of(run, 0)[0].about


@pytest.mark.parametrize(("task", "space", "shares"), [("links", "Q3,2", {50}), ("entailment", "M3", set(range(9, 20)))])
def test_probabilities_are_told_with_the_share_of_links_that_they_were_fitted_to(task, space, shares):
    tree = torch.tensor([[(k - 1) // 2 for k in range(1, 31)], list(range(1, 31))])
    run = train(task, Data(edge_index=tree, num_nodes=31), space=space)
    joined, not_joined = (run.answering.split[part].shape[1] for part in ("val", "val_negative"))
    share = round(100 * joined / (joined + not_joined))
    assert share in shares
    assert f"linked in {share} % of cases, as in validation" in listings_of(run, 0)[0].about


def test_large_graphs_are_told_of_instead_of_compared(linked, classified, monkeypatch):
    monkeypatch.setattr(listings, "MOST_NODES", 100)
    notices = []
    assert listings_of(linked, 0, notices=notices) == []
    assert notices == ["Pairs that are not linked are not listed: the graph has 180 nodes, more than 100."]
    assert len(listings_of(classified, 0)) == 1  # which compares no pairs


def test_one_seed_answers_where_all_would_take_too_long(linked, monkeypatch):
    monkeypatch.setattr(listings, "MOST_PAIRS", 2 * 180 * 180 - 1)
    (listing,) = listings_of(linked, 1, rows=10)
    assert "that the model of seed 1 finds most probable" in listing.about
    assert list(listing.table.columns) == ["node", "other", "probability", "common_neighbours"]
    assert next(iter(listing.table))[:3] == next(iter(linked.missing_links(10, seed=1)))


def test_a_graph_without_a_pair_to_list_has_an_empty_listing():
    complete = Data(edge_index=torch.combinations(torch.arange(5)).T, num_nodes=5)
    (listing,) = listings_of(train("reconstruction", complete), 0)
    assert len(listing.table) == 0


def test_a_run_that_is_not_finished_lists_nothing():
    run = Run.start(Config.checked({"task": "links", "data": "ring-of-trees", "epochs": 5}), None)
    with pytest.raises(ValueError, match="the run is not finished"):
        listings_of(run, 0)
