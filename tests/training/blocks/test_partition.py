from itertools import pairwise

import pytest
import torch

from cases import generator
from qgcn.kernels import Neighbourhoods
from qgcn.training.blocks import BlockGraph


def graph(n=50, seed=0):
    return Neighbourhoods.of(torch.randint(0, n - 2, (2, 4 * n), generator=generator(seed)), n)


@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 50])
def test_every_node_and_every_edge_is_there_once(blocks):
    whole = graph()
    found = BlockGraph.of(whole.source, whole.target, 50, blocks, 3)
    assert torch.equal(found.order.sort().values, torch.arange(50))
    assert sum(map(found.nodes, range(found.blocks))) == 50
    assert max(map(found.nodes, range(found.blocks))) == found.size
    assert found.num_edges == whole.num_edges
    edges = []
    for i in range(found.blocks):
        for j in range(found.blocks):
            local = found.edges(i, j)
            assert local.dtype == torch.int32
            edges += zip(
                found.order[found.places(i)][local[0].long()].tolist(),
                found.order[found.places(j)][local[1].long()].tolist(),
                strict=True,
            )
    assert sorted(edges) == sorted(zip(whole.source.tolist(), whole.target.tolist(), strict=True))
    assert torch.equal(found.degree.long(), whole.degree[found.order])
    assert found.joined == int((whole.degree > 0).sum())


def test_blocks_depend_on_the_seed_alone():
    whole = graph()
    one, two, other = (BlockGraph.of(whole.source, whole.target, 50, 4, seed) for seed in (1, 1, 2))
    assert torch.equal(one.order, two.order)
    assert torch.equal(one.ends, two.ends)
    assert not torch.equal(one.order, other.order)


@pytest.mark.parametrize("groups", [1, 2, 5, 6, 9])
def test_a_tour_meets_every_pair_of_groups_once_and_keeps_one_from_step_to_step(groups):
    found = BlockGraph.of(*torch.tensor([[0, 1], [1, 0]]), 60, 6, 0).tour(groups, generator(0))
    groups = min(groups, 6)
    assert len(found) == groups * (groups + 1) // 2
    every = {group for pair in found for group in pair}
    assert sorted(block for group in every for block in group) == list(range(6))
    assert {frozenset(pair) for pair in found} == {frozenset((i, j)) for i in every for j in every}
    moved = sum(not set(one) & set(two) for one, two in pairwise(found))
    assert moved <= groups


def test_groups_are_others_in_every_epoch():
    graph = BlockGraph.of(*torch.tensor([[0, 1], [1, 0]]), 60, 12, 0)
    one, two = ({frozenset(group) for pair in graph.tour(3, generator(seed)) for group in pair} for seed in (0, 1))
    assert one != two


def test_more_blocks_than_nodes_are_refused():
    whole = graph()
    for blocks in (0, 51):
        with pytest.raises(ValueError, match=r"blocks must be in \[1, 50\], the number of nodes, got"):
            BlockGraph.of(whole.source, whole.target, 50, blocks, 0)
