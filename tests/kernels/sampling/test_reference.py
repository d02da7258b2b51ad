"""Samples of neighbours in plain PyTorch: laws."""

import pytest
import torch

from qgcn.kernels.sampling import reference
from sampled import matrix

CROW, COL, LOOPS = matrix()
NODES = torch.randperm(300, generator=torch.Generator().manual_seed(1))[:200]


def rows(begin, values):
    return [part.tolist() for part in values.split(begin.diff().tolist())]


@pytest.mark.parametrize("loops", [None, LOOPS])
@pytest.mark.parametrize("fanout", [-1, 1, 4, 60])
def test_drawn_entries_are_different_ones_of_their_row_and_as_many_as_there_are(fanout, loops):
    begin, entries, sources = reference.drawn(CROW, COL, NODES, fanout, 5, False, loops)
    assert torch.equal(sources, COL[entries].long())
    for node, found in zip(NODES.tolist(), rows(begin, entries), strict=True):
        every = range(int(CROW[node]), int(CROW[node + 1]))
        assert set(found) <= set(every)
        assert found == sorted(set(found))
        own = -1 if loops is None else int(loops[node])
        assert own < 0 or own in found
        others = len(every) - (own >= 0)
        assert len(found) - (own >= 0) == (others if fanout < 0 else min(others, fanout))


def test_what_is_drawn_of_a_node_does_not_depend_on_the_others():
    whole = reference.drawn(CROW, COL, NODES, 4, 5, False, None)
    part = reference.drawn(CROW, COL, NODES[50:90], 4, 5, False, None)
    assert rows(part[0], part[1]) == rows(whole[0], whole[1])[50:90]
    other = reference.drawn(CROW, COL, NODES, 4, 6, False, None)
    assert not torch.equal(other[1], whole[1])


@pytest.mark.parametrize("replace", [False, True])
def test_every_neighbour_has_the_same_chance(replace):
    hub = torch.tensor([0])
    degree, fanout, draws = int(CROW[1] - CROW[0]), 5, 4000
    counts = torch.zeros(degree)
    for key in range(draws):
        _, entries, _ = reference.drawn(CROW, COL, hub, fanout, 1000 + key, replace, None)
        counts += torch.bincount(entries - CROW[0], minlength=degree)
    share = fanout / degree
    assert degree > 2 * fanout
    assert float((counts / draws - share).abs().max()) < 5 * (share / draws) ** 0.5


def test_with_replacement_a_node_is_drawn_as_often_as_asked():
    begin, entries, _ = reference.drawn(CROW, COL, NODES, 40, 5, True, None)
    degree = (CROW[NODES + 1] - CROW[NODES]).long()
    assert torch.equal(begin.diff(), torch.where(degree > 0, 40, 0))
    assert len(entries.unique()) < len(entries)


def test_numbers_follow_the_order_of_first_appearance():
    place, fresh = reference.numbered(torch.tensor([7, 3]), torch.tensor([9, 3, 9, 1, 7, 1, 5]))
    assert place.tolist() == [2, 1, 2, 3, 0, 3, 4]
    assert fresh.tolist() == [9, 1, 5]
    place, fresh = reference.numbered(torch.tensor([4]), torch.empty(0, dtype=torch.int64))
    assert place.tolist() == fresh.tolist() == []
