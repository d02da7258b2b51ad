"""Training batches of nodes."""

import torch

from cases import generator, problem, two_communities
from qgcn.tasks import NodeClassification


def test_items_are_training_nodes_with_their_labels():
    task = problem(NodeClassification, two_communities(), space="Q3,2")
    assert task.items == int(task.data.train_mask.sum())
    nodes, labels = task.of_items(torch.tensor([2, 0]), generator(0))
    assert nodes.tolist() == [task.nodes["train"][2], task.nodes["train"][0]]
    assert torch.equal(labels, task.data.y[nodes])
    found, (places, same) = task.localised((nodes, labels))
    assert found is nodes
    assert places.tolist() == [0, 1]
    assert same is labels
