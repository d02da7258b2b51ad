"""Mini-batches: what they cover, what they compute, what processes that share them compute together."""

from itertools import chain

import pytest
import torch

from cases import problem, two_communities
from qgcn.nn import dropout_keys
from qgcn.tasks import (
    DirectedLinks,
    Entailment,
    FullBatch,
    LinkPrediction,
    MiniBatches,
    NodeClassification,
    Randomness,
    Reconstruction,
    Share,
)
from qgcn.tasks.minibatches import fanouts

CPU = torch.device("cpu")
KINDS = [NodeClassification, LinkPrediction, DirectedLinks]
MODELS = ["qgcn", "qgat", "qnn", "propagation", "deep", "gcn", "sage", "gat", "mlp"]
NOISE = {"dropout": 0.4, "feature_dropout": 0.2, "edge_dropout": 0.3}


def randomness(epoch=0, seed=0):
    return Randomness([seed], 0, epoch, CPU)


def graph(kind=NodeClassification):
    """Return two communities; for directed links, every third edge is there in both directions."""
    data = two_communities()
    if kind is DirectedLinks:
        once = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
        data.edge_index = torch.cat((once, once[:, ::3].flip(0)), dim=1)
    return data


def given(model, kind=NodeClassification):
    space = {} if model in ("gcn", "sage", "gat", "mlp") else {"space": "Q3,2"}
    found = {"model": model, "space": "E5", "one_hot": True} | space | ({"steps": 2} if model == "propagation" else {})
    if model == "propagation" and kind is DirectedLinks:
        found["along"] = "arrows"
    return found


def batched(kind, **settings):
    settings = {"model": "qgcn", "space": "Q3,2", "batch_size": 5, "fanout": "2"} | settings
    if settings.get("model") in ("qnn", "mlp"):  # they look at no neighbours
        del settings["fanout"]
    return problem(kind, graph(kind), **settings)


def loss_of(predictor, batch):
    return predictor("loss", batch.x, batch.graph, *batch.targets)


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_goes_through_everything_once_in_an_order_of_its_own(kind):
    task = batched(kind)
    assert isinstance(task.loader, MiniBatches)
    assert len(task.loader) == -(-task.items // 5)
    seen = []
    task.of_items = lambda items, generator, own=task.of_items: seen.append(items.tolist()) or own(items, generator)
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        assert len(list(task.loader.batches(randomness(epoch, seed)))) == len(task.loader)
    orders = [[*chain(*seen[k : k + len(task.loader)])] for k in range(0, len(seen), len(task.loader))]
    assert all(sorted(order) == list(range(task.items)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_a_function_of_seed_epoch_and_number(kind):
    task = batched(kind, edge_dropout=0.3)
    every = list(task.loader.batches(randomness(3)))
    later = list(task.loader.batches(randomness(3), first=2))
    assert len(later) == len(every) - 2
    for one, again in zip(every[2:], later, strict=True):
        assert torch.equal(one.x.to_dense() if hasattr(one.x, "values") else one.x, again.x)
        assert torch.equal(one.graph.hop(0).matrix.values, again.graph.hop(0).matrix.values)
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(one.targets, again.targets, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_one_batch_with_all_neighbours_costs_what_a_full_batch_costs(model, kind):
    settings = given(model, kind)
    whole, task = problem(kind, graph(kind), **settings), batched(kind, batch_size=10_000, fanout="all", **settings)
    torch.manual_seed(0)
    predictor = whole.build_predictor().eval()
    (batch,) = task.loader.batches(randomness())
    nodes, _ = task.localised(arguments := task.of_items(torch.arange(task.items), torch.Generator().manual_seed(1)))
    batch = task.loader._seen(arguments, task.loader.fanout, 7)
    assert len(nodes) <= batch.graph.gather(task.x).shape[0]
    expected = predictor("loss", whole.x, whole.graph, *arguments)
    torch.testing.assert_close(loss_of(predictor, batch), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", ["gcn", "sage", "gat", "qgat", "propagation", "deep"])
def test_edges_are_dropped_for_every_model(model):
    task = batched(NodeClassification, batch_size=10_000, fanout="all", edge_dropout=0.8, **given(model))
    (batch,) = task.loader.batches(randomness())
    torch.manual_seed(0)
    predictor = task.build_predictor().eval()
    without = predictor("predict", batch.x, batch.graph, *batch.targets)
    (every,) = batched(NodeClassification, batch_size=10_000, fanout="all", **given(model)).loader.batches(randomness())
    assert torch.equal(every.targets[0], batch.targets[0])
    assert (without - predictor("predict", every.x, every.graph, *every.targets)).abs().max() > 1e-3
    kept = batch.graph.edge_index[:, batch.graph.edge_index[0] != batch.graph.edge_index[1]]
    assert 0.1 < kept.shape[1] / int((every.graph.edge_index[0] != every.graph.edge_index[1]).sum()) < 0.3


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_predictions_and_points_are_those_of_a_full_batch(model, kind, monkeypatch):
    from qgcn.tasks import minibatches

    monkeypatch.setattr(minibatches, "ROWS", 7)
    settings = given(model, kind)
    whole, task = problem(kind, graph(kind), **settings), batched(kind, **settings)
    torch.manual_seed(0)
    predictor = whole.build_predictor().eval()
    assert isinstance(whole.loader, FullBatch)
    for split in ("val", "test"):
        found = task.loader.predictions(split, predictor.predict_batch)
        torch.testing.assert_close(found, whole.loader.predictions(split, predictor.predict_batch), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(task.embed(predictor), whole.embed(predictor), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["qgcn", "qgat", "deep"])
def test_shares_of_a_batch_have_the_gradient_of_the_whole(model, kind, count):
    plain = {"decoder": "source-target"} if kind is DirectedLinks else {}  # a network of pairs drops by place in the share
    task = batched(kind, batch_size=6, **given(model, kind) | NOISE | plain)
    torch.manual_seed(0)
    predictor = task.build_predictor().train()
    parameters = dict(predictor.named_parameters())

    def gradients(batches):
        losses = [
            batch.weight
            * torch.func.functional_call(
                predictor, dropout_keys(predictor, 0, 4), ("loss", batch.x, batch.graph, *batch.targets)
            )
            for batch in batches
        ]
        return sum(losses), torch.autograd.grad(sum(losses), list(parameters.values()), allow_unused=True)

    wholes = list(task.loader.batches(randomness(2)))
    shares = [list(task.loader.batches(randomness(2), share=Share(rank, count))) for rank in range(count)]
    for number in (0, len(wholes) - 1):
        loss, expected = gradients([wholes[number]])
        parts = [each[number] for each in shares]
        assert sum(part.weight for part in parts) == pytest.approx(1)
        together, found = gradients(parts)
        torch.testing.assert_close(together, loss, rtol=1e-5, atol=1e-6)
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)


def test_fanouts_are_one_for_each_hop():
    def of(fanout, **settings):
        return fanouts(problem(NodeClassification, graph(), space="Q3,2", batch_size=5, fanout=fanout, **settings).config)

    assert of(None) == [10, 10]
    assert of("4") == [4, 4]
    assert of(7, layers=3) == [7, 7, 7]
    assert of([5, "all"]) == of("5, all") == [5, -1]
    assert of(None, model="qnn") == []


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (NodeClassification, {"fanout": "3"}, "fanout has no effect without batch_size"),
        (NodeClassification, {"batch_size": 5, "fanout": "3", "model": "qnn"}, "fanout has no effect on the model qnn"),
        (NodeClassification, {"batch_size": 5, "fanout": "3,2,1"}, "fanout must be one number or 2, one for each aggregation"),
        (
            NodeClassification,
            {"batch_size": 5, "fanout": "0"},
            "fanout: expected numbers of neighbours, such as 10,5, or all, got",
        ),
        (NodeClassification, {"batch_size": 0}, "batch_size: input should be greater than or equal to 1, got 0"),
        (NodeClassification, {"batch_size": 5, "model": "transformer"}, "the model transformer with these options has no mini"),
        (NodeClassification, {"batch_size": 5, "model": "sgc"}, "the model sgc with these options has no mini-batches"),
        (
            LinkPrediction,
            {"batch_size": 5, "model": "propagation", "along": "both"},
            "the model propagation with these options has no mini-batches",
        ),
        (Reconstruction, {"batch_size": 5}, "reconstruction has no mini-batches: leave out batch_size"),
        (LinkPrediction, {"batch_size": 5, "decoder": "neighbours"}, "the decoder neighbours has no mini-batches"),
    ],
)
def test_what_has_no_mini_batches_says_so(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        problem(kind, graph(), **settings)


def test_entailment_has_none_either():
    assert Entailment.items is Reconstruction.items
    assert NodeClassification.items is not Reconstruction.items
