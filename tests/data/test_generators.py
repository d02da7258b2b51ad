import pytest
import torch

from qgcn.data import ring_of_trees


def test_ring_of_trees_is_a_cycle_with_a_tree_on_each_node():
    edges = ring_of_trees(ring=5, branching=3, depth=2)
    nodes = 5 * (1 + 3 + 9)
    assert int(edges.max()) == nodes - 1
    assert edges.shape == (2, 2 * nodes)  # a tree on each node, and one edge more to close the ring
    assert {tuple(edge) for edge in edges.T.tolist()} == {tuple(edge) for edge in edges.flip(0).T.tolist()}
    degree = torch.bincount(edges[0])
    assert (degree[:5] == 2 + 3).all()
    assert (degree[5:20] == 1 + 3).all()
    assert (degree[20:] == 1).all()


def test_ring_of_trees_without_depth_is_the_bare_ring():
    assert ring_of_trees(ring=4, depth=0).tolist() == [[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("options", "message"), [({"ring": 2}, "ring"), ({"branching": 0}, "branching"), ({"depth": -1}, "depth")]
)
def test_impossible_shapes_are_refused(options, message):
    with pytest.raises(ValueError, match=f"{message} must"):
        ring_of_trees(**options)
