import torch
from torch_geometric.data import Data

from cases import problem
from qgcn import data
from qgcn.tasks import NodeClassification, Reconstruction


def test_coordinates_are_divided_if_asked_for():
    graph = Data(edge_index=data.ring_of_trees(32, 2, 1), num_nodes=96)
    options = {"model": "shallow", "space": "H3", "negatives": "32"}
    assert problem(Reconstruction, graph, **options).division is None
    found = problem(Reconstruction, graph, blocks=3, balance=False, **options).division
    assert (found.blocks, found.drawn, found.balance, found.in_memory) == (3, 32, False, True)
    assert found.graph.num_nodes == 96
    torch.manual_seed(0)
    model = found.build(4)
    assert model.encoder.coordinates.shape == (4, 4)
    assert problem(Reconstruction, graph, blocks=2, store="disk", model="shallow").division.in_memory is False


def test_other_tasks_are_not_divided():
    assert NodeClassification.division is None
