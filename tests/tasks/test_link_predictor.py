"""The predictor of links: its loss is of edges and non-edges, by whatever decoder."""

import pytest
import torch
from torch.nn.functional import softplus

from cases import generator
from qgcn.data import load
from qgcn.nn import PAIR_DECODERS
from qgcn.tasks import LinkPrediction


@pytest.mark.parametrize("decoder", PAIR_DECODERS)
def test_the_loss_is_that_of_edges_and_of_non_edges_apart(decoder):
    task = LinkPrediction.of(load("stochastic-block"), space="Q3,2", decoder=decoder)
    predictor = task.build_predictor().eval()
    (others,) = task.draw(generator(0))
    points = predictor.embed(task.x, task.graph)
    edges = task.targets("train")[0]
    expected = softplus(-predictor.pair_logits(points, edges)).mean() + softplus(predictor.pair_logits(points, others)).mean()
    torch.testing.assert_close(predictor.loss(task.x, task.graph, edges, others), expected)
    assert predictor.row_logits(points, torch.tensor([2, 5])).shape == (2, task.num_nodes)
