"""Batches: what a step sees, and what it draws."""

from inspect import signature

import pytest
import torch

from cases import problem, ring, step_graph
from cases import two_communities as graph
from qgcn.data import read_graph
from qgcn.tasks import Entailment, LinkPrediction, NodeClassification, Randomness, Reconstruction
from qgcn.tasks.batches import FullBatch, Loader, Share

CPU = torch.device("cpu")


def drawn(generators):
    return [torch.rand(3, generator=each).tolist() for each in generators]


def test_randomness_is_a_function_of_seed_and_epoch_alone():
    alone, group = Randomness([5], 0, 3, CPU), Randomness([4, 5], 0, 3, CPU)
    assert drawn(alone.of_each_seed()) == drawn(group.of_each_seed())[1:]
    assert drawn(alone.of_each_seed()) != drawn(Randomness([5], 0, 4, CPU).of_each_seed())
    assert drawn([alone.of_edges()]) == drawn([group.of_edges()])
    assert drawn([alone.of_edges()]) != drawn([Randomness([5], 1, 3, CPU).of_edges()])
    assert drawn([Randomness([0], 0, 3, CPU).of_edges()]) != drawn(Randomness([0], 0, 3, CPU).of_each_seed())


@pytest.mark.parametrize("kind", [NodeClassification, LinkPrediction, Reconstruction])
def test_an_epoch_is_one_batch_of_features_graph_and_targets(kind):
    task = problem(kind, graph(), space="Q2,2")
    assert len(task.loader) == 1
    (batch,) = task.loader.batches(Randomness([0, 1], 0, 0, CPU))
    assert len(batch.drawn) == 2
    assert len(batch.targets) == len(task.targets("train"))
    loss = task.build_predictor()("loss", batch.x, batch.graph, *batch.targets, *batch.drawn[0])
    assert loss.isfinite()


def test_each_seed_draws_its_own_negatives_and_the_same_again():
    task = problem(LinkPrediction, graph(), space="Q2,2")
    one, again, later = (next(iter(task.loader.batches(Randomness([0, 1], 0, epoch, CPU)))) for epoch in (2, 2, 3))
    assert all(torch.equal(a, b) for a, b in zip(one.drawn[0], again.drawn[0], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.drawn[0], one.drawn[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(one.drawn[0], later.drawn[0], strict=True))


def test_a_step_sees_no_more_than_the_nodes_of_its_split_see():
    task = problem(NodeClassification, ring(), space="Q3,2")  # two layers
    (batch,) = task.loader.batches(Randomness([0], 0, 0, CPU))
    assert batch.x.shape[0] < 24
    assert task.loader.scored("train").x.shape == batch.x.shape
    whole = task.loader.scored("val", whole=True)
    assert whole.x is task.x
    assert whole.graph is task.graph
    predictor = task.build_predictor().eval()
    val = task.loader.scored("val")
    found = predictor.predict(val.x, val.graph, *val.targets)
    torch.testing.assert_close(found, predictor.predict(whole.x, whole.graph)[task.nodes["val"]])


@pytest.mark.parametrize("model", ["qgcn", "gat"])
def test_edges_are_left_out_in_both_directions_for_a_step_only(model):
    task = problem(NodeClassification, graph(), model=model, edge_dropout=0.5)
    whole = task.graph.to_dense().clone()

    def edges_of(drawn):
        if model == "gat":
            return {tuple(pair) for pair in drawn.edge_index.t().tolist()}
        dense = drawn.to_dense()
        return {tuple(pair) for pair in (dense - torch.diag(dense.diagonal())).nonzero().tolist()}

    every = edges_of(task.graph)
    thinned = edges_of(step_graph(task, 0))
    assert thinned < every
    assert thinned == {(j, i) for i, j in thinned}
    count = len(every) / 2
    assert abs(len(thinned) / 2 - count / 2) < 4 * (count / 4) ** 0.5
    assert edges_of(step_graph(task, 0)) == thinned
    assert edges_of(step_graph(task, 1)) != thinned
    assert torch.equal(task.graph.to_dense(), whole)


@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Entailment, {"space": "M4"}),
        (Entailment, {"space": "E4", "cone": "order", "objective": "hinge"}),
        (Reconstruction, {"space": "H4", "negatives": "32"}),
    ],
)
def test_processes_divide_a_full_batch_so_that_losses_and_gradients_add_up(kind, settings, count):
    tree = read_graph(torch.tensor([[(k - 1) // 3 for k in range(1, 41)], list(range(1, 41))]))
    task = problem(kind, tree, precision="float64", **settings)
    predictor, randomness = task.build_predictor().double(), Randomness([0], 0, 0, CPU)

    def found(share):
        (batch,) = task.loader.batches(randomness, 0, share)
        loss = predictor("loss", batch.x, batch.graph, *batch.targets, *batch.drawn[0]) * batch.weight
        return loss, *torch.autograd.grad(loss, list(predictor.parameters()), materialize_grads=True)

    whole = found(Share())
    parts = [found(Share(rank, count)) for rank in range(count)]
    assert all(part[0] < 0.9 * whole[0] for part in parts)
    for together, expected in zip(map(sum, zip(*parts, strict=True)), whole, strict=True):
        torch.testing.assert_close(together, expected)


def test_a_full_batch_that_nobody_divides_is_refused():
    task = problem(NodeClassification, graph(), space="Q2,2")
    with pytest.raises(ValueError, match="a full batch has no parts"):
        next(task.loader.batches(Randomness([0], 0, 0, CPU), 0, Share(0, 2)))


def test_the_loader_of_length_one_takes_what_a_loader_takes():
    for name in ("batches", "scored"):
        assert signature(getattr(FullBatch, name)) == signature(getattr(Loader, name))
