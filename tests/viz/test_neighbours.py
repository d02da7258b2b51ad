import pytest
import torch

from qgcn.kernels import graph
from qgcn.manifolds import parse_space
from qgcn.viz.neighbours import nearest_neighbours
from reports import points_of


@pytest.mark.parametrize("name", ["Q3,2", "H4", "H2xS2"])
def test_nearest_neighbours_are_those_of_all_distances(name):
    space = parse_space(name)
    x = points_of(space, 30).double()
    distance, index = nearest_neighbours(x, space, 5)
    everything = space.pairwise_dist(x).fill_diagonal_(torch.inf)
    torch.testing.assert_close(distance, everything.sort(dim=1).values[:, :5])
    torch.testing.assert_close(everything.gather(1, index), distance)
    assert (index != torch.arange(30).unsqueeze(1)).all()


def test_nearest_neighbours_in_parts_are_the_same(monkeypatch):
    space = parse_space("Q3,2")
    x = points_of(space, 30)
    whole = nearest_neighbours(x, space, 4)
    monkeypatch.setattr(graph, "CHUNK_ENTRIES", 100)  # three rows at once
    torch.testing.assert_close(nearest_neighbours(x, space, 4), whole)


@pytest.mark.parametrize("k", [0, 5])
def test_nearest_neighbours_refuse_more_than_there_are(k):
    space = parse_space("H2")
    with pytest.raises(ValueError, match=rf"k must be in \[1, 4\] for 5 points, got {k}"):
        nearest_neighbours(points_of(space, 5), space, k)
