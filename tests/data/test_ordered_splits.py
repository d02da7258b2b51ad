"""Splits of ordered pairs: what is held out, and what stands beside it."""

import pytest
import torch

from qgcn.data import NegativeSampler, split_directed
from qgcn.data.ordered_splits import ORDERED_PARTS, one_way

NODES = 60


def edges(count=400, seed=0):
    """Return edges drawn at random, some in both directions, no loops."""
    keys = torch.randperm(NODES * NODES, generator=torch.Generator().manual_seed(seed))
    keys = keys[keys // NODES != keys % NODES][:count].sort().values
    return torch.stack((keys // NODES, keys % NODES))


def sets(split):
    return {name: {tuple(pair) for pair in pairs.t().tolist()} for name, pairs in split.items()}


@pytest.mark.parametrize("reverses", [0.0, 0.5, 1.0])
def test_parts_are_disjoint_and_together_the_edges(reverses):
    given = edges()
    split = split_directed(given, NODES, val=0.1, test=0.2, reverses=reverses, seed=3)
    assert tuple(split) == ORDERED_PARTS
    found, whole = sets(split), {tuple(pair) for pair in given.t().tolist()}
    assert found["train"] | found["val"] | found["test"] == whole
    assert sum(len(pairs) for pairs in found.values()) == len(set.union(*found.values())) == 400 + 40 + 80
    negative = found["val_negative"] | found["test_negative"]
    assert not negative & whole
    assert all(a != b for a, b in negative)
    assert [len(found[name]) for name in ("val", "test", "val_negative", "test_negative")] == [40, 80, 40, 80]


def test_reverses_are_those_of_held_out_edges_that_are_none():
    given = edges()
    split = split_directed(given, NODES, val=0.1, test=0.2, reverses=0.25, seed=3)
    found = sets(split)
    for part, wanted in (("val", 10), ("test", 20)):
        turned = {(b, a) for a, b in found[part]}
        assert len(found[f"{part}_negative"] & turned) >= wanted
    without = sets(split_directed(given, NODES, val=0.1, test=0.2, seed=3))
    assert len(without["test_negative"] & {(b, a) for a, b in without["test"]}) < 20


def test_no_negative_is_there_twice_where_few_are_left():
    """Reverses and drawn pairs share the few pairs that are no edges."""
    for seed in range(20):
        keys = torch.randperm(81, generator=torch.Generator().manual_seed(seed))
        keys = keys[keys // 9 != keys % 9][:44].sort().values
        split = split_directed(torch.stack((keys // 9, keys % 9)), 10, val=0.2, test=0.3, reverses=0.4, seed=seed)
        found = sets(split)
        assert sum(len(pairs) for pairs in found.values()) == 44 + 8 + 13


def test_negatives_are_spread_evenly():
    """Sources and targets of drawn negatives have the mean of uniform numbers."""
    drawn = torch.cat([split_directed(edges(), NODES, val=0.3, test=0.3, seed=k)["test_negative"] for k in range(40)], dim=1)
    deviation = NODES / 12**0.5 / drawn.shape[1] ** 0.5
    assert ((drawn.double().mean(1) - (NODES - 1) / 2).abs() < 4 * deviation).all()


def test_the_seed_decides():
    first, same, other = (split_directed(edges(), NODES, seed=seed)["test"] for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_one_way_asks_for_the_reverse():
    given = torch.tensor([[0, 1, 1], [1, 0, 2]])
    assert one_way(torch.tensor([[0, 1, 2, 3], [1, 2, 1, 0]]), given, 4).tolist() == [False, True, False, True]


def test_a_graph_that_leaves_no_pair_for_training_is_refused():
    every = torch.combinations(torch.arange(12)).T  # all that lead from a node to a later one: their reverses are no edges
    with pytest.raises(
        ValueError, match="two nodes that neither an edge nor such a pair joins: 12 nodes with 66 edges leave too few"
    ):
        split_directed(every, 12, reverses=0.25)
    split = split_directed(every[:, :40], 12, reverses=0.25)
    assert NegativeSampler(12, torch.cat(list(split.values()), dim=1)).num_allowed > 0


@pytest.mark.parametrize(
    ("options", "count", "message"),
    [
        ({"val": 0.0}, 400, "val and test must be positive shares with val"),
        ({"val": 0.5, "test": 0.5}, 400, "got val=0.5 and test=0.5"),
        ({"reverses": 1.5}, 400, "reverses must be a share from 0 to 1, got 1.5"),
        ({}, 19, "val=0.05 and test=0.15 need at least 20 edges, got 19"),
        ({"val": 0.3, "test": 0.3}, NODES * (NODES - 1), "leave too few"),
    ],
)
def test_what_cannot_be_split_is_refused(options, count, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        split_directed(edges(count), NODES, **options)
