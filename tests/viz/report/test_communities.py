import numpy as np

from qgcn.data import stochastic_block
from qgcn.viz.report.communities import communities


def test_communities_are_found_and_sorted_by_size():
    edge_index, block = stochastic_block((40, 30, 20), within=0.5, between=0.005)
    label = communities(edge_index.numpy(), 90)
    assert np.all(np.diff(np.bincount(label)) <= 0)
    assert len(np.unique(label)) == 3
    for k in range(3):
        assert len(np.unique(block.numpy()[label == k])) == 1
