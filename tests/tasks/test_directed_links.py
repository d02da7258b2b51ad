"""Directed links: what is learned from, what is scored, and what a user is told."""

import numpy as np
import pytest
import torch

from cases import batch_of, generator, train
from qgcn import load_run
from qgcn.data import one_way, read_graph
from qgcn.metrics import roc_auc
from qgcn.tasks import Config, DirectedLinks
from qgcn.tasks.arrow_scores import direction_accuracy, three_way_accuracy
from qgcn.training import Run

NODES = 90
PLAIN = {"reverse_weight": 1.0, "lr": 0.02, "dropout": 0.0, "feature_dropout": 0.0, "edge_dropout": 0.3}
"""Settings that suit a small graph without features."""


def edges(seed=0, both=20):
    """Return edges from each third of the nodes to the next, of one of three groups each, and some back."""
    source, target = torch.randint(NODES, (2, 5000), generator=generator(seed))
    kept = (source // 30 + 1 == target // 30) & (source % 3 == target % 3)
    forth = torch.unique(torch.stack((source, target))[:, kept], dim=1)
    return torch.cat((forth, forth[:, :both].flip(0)), dim=1)


def graph(**options):
    return read_graph(edges(**options))


def pairs_of(tensor):
    return {tuple(pair) for pair in tensor.t().tolist()}


def published(monkeypatch, split):
    """Have a published split, which a data set of these nodes would come with."""
    monkeypatch.setattr("qgcn.tasks.directed_links.load_directed_split", lambda name, fold: split)
    return Config.checked({"task": "directed-links", "data": "cora-ml", "space": "E4", "fold": 2})


def test_a_published_split_is_taken_as_it_is(monkeypatch):
    split = DirectedLinks.of(graph(), split_seed=7).split
    task = DirectedLinks(graph(), published(monkeypatch, split))
    assert all(torch.equal(task.split[part], split[part]) for part in split)
    assert task.scored_on() == "published split 2"


def test_a_problem_with_its_split_needs_no_file_of_the_data_set(monkeypatch, tmp_path):
    config = published(monkeypatch, split := DirectedLinks.of(graph()).split)
    monkeypatch.undo()
    monkeypatch.setenv("QGCN_DATA", str(tmp_path))
    task = DirectedLinks(graph(), config, split=split)
    assert task.scored_on() == "published split 2"


def test_a_published_split_of_another_graph_is_refused(monkeypatch):
    split = DirectedLinks.of(graph(seed=1)).split
    with pytest.raises(ValueError, match="the graph is not cora-ml: it lacks edges of the published split"):
        DirectedLinks(graph(seed=0), published(monkeypatch, split))


@pytest.mark.parametrize("along", ["alternating", "both", "phases", "against"])
def test_messages_pass_along_training_edges_alone(along):
    task = DirectedLinks.of(graph(), along=along)
    message = pairs_of(task.graph.edge_index)
    assert message == pairs_of(task.split["train"])
    for part in ("val", "test"):
        assert not message & pairs_of(task.split[part])


def test_a_model_without_direction_gets_edges_as_the_settings_say():
    given = graph()
    task = DirectedLinks.of(given, model="gcn", space="E4")
    train_edges = pairs_of(task.split["train"])
    reversed_edges = {(b, a) for a, b in train_edges}
    found = {
        way: pairs_of(DirectedLinks.of(given, model="gcn", space="E4", messages=way).graph.edge_index)
        for way in ("both", "forward", "backward")
    }
    assert found == {"both": train_edges | reversed_edges, "forward": train_edges, "backward": reversed_edges}
    back = task.reconfigured(Config.checked({"task": "directed-links", "data": "graph", "space": "E4"}))
    assert pairs_of(back.graph.edge_index) == train_edges  # another model of the same problem
    again = back.reconfigured(task.config)
    assert pairs_of(again.graph.edge_index) == found["both"]


@pytest.mark.parametrize("model", ["qgcn", "qgat", "deep", "transformer", "gcn", "gat", "sage"])
def test_every_encoder_learns_how_much_of_each_way_it_takes(model):
    settings = dict(model=model, space="E4", messages="mix", epochs=60, **PLAIN)
    if model != "transformer":
        settings["layers"] = 2
    seeds = [0, 1] if DirectedLinks.of(graph(), **settings).can_batch() else [0]
    trainer, losses = train(DirectedLinks, graph(), seeds, **settings)
    task = trainer.task
    assert pairs_of(task.graph.edge_index) == pairs_of(task.split["train"])
    assert not task.is_static
    assert losses[-1] < losses[0]
    with trainer.best_predictor(0) as best:
        assert (best.ways - 0.5).abs().min() > 0


def test_no_drawn_negative_is_held_out_in_either_direction():
    task = DirectedLinks.of(graph())
    (drawn,) = task.draw(generator(0))
    assert drawn.shape == task.split["train"].shape
    held = set.union(*(pairs_of(task.split[part]) for part in task.split))
    assert not pairs_of(drawn) & (held | {(b, a) for a, b in held})
    assert all(a != b for a, b in pairs_of(drawn))


def test_turned_edges_do_not_tell_which_of_them_are_held_out():
    """Every training edge without a reverse in training is turned round, whatever its reverse is."""
    task = DirectedLinks.of(graph(both=60))
    known, turned = task.targets("train")
    assert pairs_of(turned) == {(b, a) for a, b in pairs_of(known)} - pairs_of(known)
    assert pairs_of(turned) & (pairs_of(task.split["val"]) | pairs_of(task.split["test"]))


def test_loss_by_hand():
    task = DirectedLinks.of(graph(), reverse_weight=0.5, dropout=0.0, feature_dropout=0.0, edge_dropout=0.0)
    torch.manual_seed(0)
    predictor = task.build_predictor()
    x, adjacency, known, turned, drawn = batch_of(task)
    points = predictor.embed(x, adjacency)
    right, wrong, others = (predictor.pair_logits(points, pairs).double() for pairs in (known, turned, drawn))

    def entropy(logits):
        return (1 + logits.exp()).log().mean()

    expected = entropy(-right) + entropy(others) + 0.5 * entropy(wrong)
    torch.testing.assert_close(predictor.loss(x, adjacency, known, turned, drawn).double(), expected, rtol=1e-5, atol=1e-5)


def test_scores_by_hand():
    task = DirectedLinks.of(graph(), reverses=0.0)
    (pairs,) = task.targets("test")
    known = task.targets("val")[0].shape[1]
    assert torch.equal(pairs[:, :known], task.targets("val")[0])
    logits = torch.randn(pairs.shape[1], generator=generator(5))
    val, test = (task.split[part].shape[1] for part in ("val", "test"))
    forth, back = logits[known : known + 2 * test], logits[known + 2 * test :]
    found = task.score(logits, "test", None)
    assert found["roc_auc"] == pytest.approx(float(roc_auc(forth[:test], forth[test:])))
    single = one_way(task.split["test"], task.data.edge_index, NODES)
    assert 0 < int(single.sum()) < test
    accuracy = direction_accuracy(forth[:test][single], back[:test][single])
    assert found["direction_accuracy"] == pytest.approx(float(accuracy))
    assert float(task.selection(logits[:known], None)) == pytest.approx(task.score(logits[:known], "val", None)["roc_auc"])
    assert known == 4 * val
    assert set(found) == {"roc_auc", "average_precision", "mrr", "hits@20", "direction_accuracy", "three_way_accuracy"}


def test_whoever_knows_the_graph_is_always_right():
    task = DirectedLinks.of(graph())
    (pairs,) = task.targets("test")
    truth = ~one_way(pairs.flip(0), task.data.edge_index, NODES)
    found = task.score(truth.float() * 20 - 10, "test", None)
    assert found == dict.fromkeys(found, 1.0)
    turned = task.score(-(truth.float() * 20 - 10), "test", None)
    assert turned["roc_auc"] == turned["direction_accuracy"] == 0


def test_three_ways_are_weighed_alike():
    forth, back = torch.tensor([5.0, 5.0, -5.0, 5.0, -5.0, 5.0]), torch.tensor([-5.0, -5.0, 5.0, 5.0, -5.0, 5.0])
    truth = torch.tensor([0, 0, 1, 2, 2, 0])
    assert float(three_way_accuracy(forth, back, truth, 0.0)) == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert float(three_way_accuracy(forth, back, truth, 99.0)) == pytest.approx(1 / 3)  # nothing is an edge
    assert float(three_way_accuracy(forth[:3], back[:3], truth[:3], 0.0)) == 1  # a class without pairs does not count


@pytest.mark.parametrize(
    ("decoder", "space"),
    [
        ("joint", "E8"),
        ("joint", "Q5,4"),
        ("source-target", "E8"),
        ("oriented", "Q5,4"),
        ("interval", "M8"),
        ("interval", "H8"),
        ("triple", "AdS8"),
        ("triple", "Q7,2"),
    ],
)
def test_every_decoder_learns_the_direction(decoder, space):
    settings = {"decoder": decoder, "space": space, "epochs": 150}
    run = Run.start(Config.checked({"task": "directed-links", "data": "graph"} | PLAIN | settings), None, data=graph())
    run.train()
    (found,) = run.results
    assert found["test"]["roc_auc"] > 0.7
    assert found["test"]["direction_accuracy"] > 0.7


@pytest.mark.parametrize("along", ["alternating", "both", "phases", "against"])
def test_every_way_learns(along):
    _, losses = train(DirectedLinks, graph(), [0], along=along, space="E8", epochs=60)
    assert losses[-1][0] < 0.8 * losses[0][0]


def test_seeds_in_a_batch_are_those_alone():
    settings = {"task": "directed-links", "data": "graph", "space": "E8", "epochs": 10, "seeds": 2}
    batched, alone = (
        Run.start(Config.checked(settings | {"batch_seeds": batch}), None, data=graph()) for batch in (True, False)
    )
    batched.train()
    alone.train()
    for one, other in zip(batched.results, alone.results, strict=True):
        assert one["test"]["roc_auc"] == pytest.approx(other["test"]["roc_auc"], abs=0.01)


def test_a_run_answers_in_one_direction(tmp_path):
    settings = {"task": "directed-links", "data": "graph", "space": "E8", "epochs": 40, "reverse_weight": 1.0}
    Run.start(Config.checked(settings), tmp_path / "run", data=graph()).train()
    run = load_run(tmp_path / "run")
    forth, back = run.score_links([(0, 30), (30, 0)])
    assert forth > back
    found = run.recommend(0, k=5)
    known = pairs_of(edges())
    assert len(found["other"]) == 5
    assert not {(0, int(other)) for other in found["other"]} & known
    listed = run.missing_links(k=30)
    assert len(listed["node"]) == 30
    assert not {(int(a), int(b)) for a, b in zip(listed["node"], listed["other"], strict=True)} & known


def test_what_a_report_is_told():
    task = DirectedLinks.of(graph())
    torch.manual_seed(0)
    predictor = task.build_predictor().eval()
    columns, (quality,) = task.insights(predictor)
    assert [column.name for column in columns] == ["time", "edges out", "edges in"]
    assert columns[1].values.sum() == columns[2].values.sum() == task.data.edge_index.shape[1]
    assert sum(group.count for group in quality.groups) == task.split["test"].shape[1]
    (listing,) = task.listings(predictor)
    table = listing.table
    assert len(table["source"])
    points = task.embed(predictor)
    pairs = torch.from_numpy(np.stack((table["source"], table["target"])))
    gap = predictor.pair_logits(points, pairs.flip(0)) - predictor.pair_logits(points, pairs)
    np.testing.assert_allclose(table["log odds of the reverse"], gap.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert (np.diff(table["log odds of the reverse"]) <= 0).all()
    assert pairs_of(pairs) <= pairs_of(edges())


def test_time_rises_along_edges():
    settings = {"task": "directed-links", "data": "graph", "space": "E8", "epochs": 150}
    run = Run.start(Config.checked(settings | PLAIN), None, data=graph(both=0))
    run.train()
    (time, *_), _ = run.task.insights(run.predictor(0))
    source, target = edges(both=0).numpy()
    assert (time.values[target] > time.values[source]).mean() > 0.8


def test_yardsticks_know_training_edges_alone():
    task = DirectedLinks.of(graph())
    found = {name: method() for name, method in task.yardsticks().items()}
    assert set(found) == {"degrees", "paths", "truncated SVD"}
    assert all(0.4 < scores["roc_auc"] <= 1 for scores in found.values())
    assert found["degrees"]["direction_accuracy"] > 0.7


def test_a_refit_trains_on_all_edges():
    task = DirectedLinks.of(graph()).refitted()
    assert pairs_of(task.targets("train")[0]) == pairs_of(edges())
    assert pairs_of(task.graph.edge_index) == pairs_of(edges())


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (torch.cat((edges(), edges().flip(0)), dim=1), {}, r"^the graph is undirected, .*: expected edges that lead one way"),
        (edges()[:, :12], {}, "need at least 20 edges, got 12"),
        (edges(), {"fold": 1}, "^graph has no published splits: leave out fold"),
        (edges(), {"val": 0.5, "test": 0.5}, r"val \+ test < 1"),
        (edges(), {"messages": "forward"}, "^messages has no effect on the model propagation"),
        (edges(), {"messages": "mix"}, "^messages has no effect on the model propagation"),
        (edges(), {"space": "E1"}, "a source and a target need at least 2 dimensions, got E1"),
    ],
)
def test_bad_input_is_answered_in_one_line(given, settings, message):
    with pytest.raises(ValueError, match=message) as found:
        DirectedLinks.of(read_graph(given), **settings)
    assert "\n" not in str(found.value)


def test_self_loops_are_removed_and_said():
    given = read_graph(torch.cat((edges(), torch.arange(3).expand(2, 3)), dim=1))
    assert "3 self-loops removed" in given.remarks
    assert DirectedLinks.of(given).data.edge_index.shape == edges().shape
    assert "held-out" in DirectedLinks.of(given).scored_on()
