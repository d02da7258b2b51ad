"""Training non-edges."""

import pytest
import torch
from torch_geometric.data import Data

from cases import generator, problem
from qgcn.tasks import DirectedLinks, LinkPrediction


def star_and_ring(leaves=60, ring=60):
    """Return a hub with leaves, and a ring beside it."""
    star = torch.stack((torch.zeros(leaves, dtype=torch.long), torch.arange(1, leaves + 1)))
    around = torch.stack((torch.arange(ring), (torch.arange(ring) + 1) % ring)) + leaves + 1
    edges = torch.cat((star, around), dim=1)
    return Data(edge_index=torch.cat((edges, edges.flip(0)), dim=1), num_nodes=leaves + ring + 1)


def drawn(kind, count=4000):
    task = problem(LinkPrediction, star_and_ring(), space="Q3,2", negative_sampling=kind)
    items = torch.randint(task.items, (count,), generator=generator(3))
    return task, *task.of_items(items, generator(4))


@pytest.mark.parametrize("kind", ["uniform", "in-batch", "degree"])
def test_no_edge_and_no_held_out_pair_is_drawn(kind):
    task, edges, others = drawn(kind)
    assert others.shape == edges.shape
    held = [getattr(task.links, name) for name in ("train", "val", "test", "val_negative", "test_negative")]
    pairs = torch.cat(held, dim=1)
    known = {frozenset(pair) for pair in pairs.t().tolist()}
    found = {frozenset(pair) for pair in others.t().tolist()}
    assert not known & found
    assert all(len(pair) == 2 for pair in found)
    assert bool(task.links.negatives.forbids(pairs.flip(0)).all())
    assert not bool(task.links.negatives.forbids(others).any())


def test_by_degree_the_hub_is_drawn_more_often_and_in_the_batch_only_what_is_there():
    share = {kind: float((drawn(kind)[2] == 0).float().mean()) for kind in ("uniform", "in-batch", "degree")}
    assert share["degree"] > 5 * share["uniform"]
    assert share["in-batch"] > 5 * share["uniform"]


def test_in_the_batch_other_nodes_are_drawn_only_in_place_of_edges():
    task = problem(LinkPrediction, star_and_ring(), space="Q3,2", negative_sampling="in-batch")
    edges = task.links.train[:, task.links.train.min(0).values > 0][:, :40]  # of the ring
    others = task._drawn(edges, generator(0))
    inside = torch.isin(others, edges).all(0)
    assert float(inside.float().mean()) > 0.8


def test_pairs_are_named_by_places_among_their_ends():
    task, edges, others = drawn("uniform", 20)
    nodes, (one, two) = task.localised((edges, others))
    assert torch.equal(nodes[one], edges)
    assert torch.equal(nodes[two], others)
    assert len(nodes.unique()) == len(nodes)


def arrows(both=30):
    """Return a directed graph in which some edges are there in both directions."""
    star_and_tails = star_and_ring().edge_index
    once = star_and_tails[:, star_and_tails[0] < star_and_tails[1]]
    return Data(edge_index=torch.cat((once, once[:, -both:].flip(0)), dim=1), num_nodes=121)


def drawn_arrows(count=40_000, **settings):
    task = problem(DirectedLinks, arrows(), space="Q3,2", batch_size=8, **settings)
    items = torch.randint(task.items, (count,), generator=generator(3))
    return task, *task.of_items(items, generator(4))


def test_edges_that_lead_one_way_are_turned_round_each_as_often():
    task, edges, turned, others = drawn_arrows()
    assert edges.shape == turned.shape == others.shape
    train = {tuple(pair) for pair in task.split["train"].t().tolist()}
    single = {(v, u) for u, v in train if (v, u) not in train}
    assert len(single) < len(train) - 10
    found, times = torch.unique(turned, dim=1, return_counts=True)
    assert {tuple(pair) for pair in found.t().tolist()} == single
    assert times.min() > 0.8 * times.float().mean()
    assert times.max() < 1.2 * times.float().mean()
    of_own = (edges.flip(0) == turned).all(0).float().mean()
    assert abs(float(of_own) - len(single) / len(train)) < 0.02  # else drawn: one of them, rarely the reverse of an edge


def test_ordered_pairs_drawn_are_no_edges_in_any_direction():
    task, _, _, others = drawn_arrows(4000)
    known = {frozenset(pair) for pair in task.data.edge_index.t().tolist()}
    assert not known & {frozenset(pair) for pair in others.t().tolist()}
    assert all(len({*pair}) == 2 for pair in others.t().tolist())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"messages": "mix"}, "messages mix has no mini-batches, where no edges that leave a node are: leave out batch_size"),
        ({"model": "propagation"}, "the model propagation with these options has no mini-batches"),
    ],
)
def test_ways_that_need_edges_which_leave_a_node_have_no_mini_batches(settings, message):
    with pytest.raises(ValueError, match=message):
        drawn_arrows(1, **{"model": "qgcn"} | settings)


def test_mini_batches_need_training_edges_that_lead_one_way():
    whole = problem(DirectedLinks, arrows(), space="Q3,2")
    train = whole.split["train"]
    split = whole.split | {"train": torch.cat((train, train.flip(0)), dim=1).unique(dim=1)}
    with pytest.raises(ValueError, match="no training edge leads one way, which mini-batches learn from: leave out batch_size"):
        DirectedLinks(arrows(), whole.config.model_copy(update={"batch_size": 8}), split=split)
