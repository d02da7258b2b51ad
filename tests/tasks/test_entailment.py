"""Entailment: what is learned from, what is scored, and what a user is told."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from cases import batch_of, generator, train
from qgcn import load_run
from qgcn.data import read_graph, transitive_closure
from qgcn.tasks import Config, Entailment
from qgcn.tasks import entailment as module
from qgcn.training import Run


def tree(depth=4, branching=3):
    """Return the edges of a tree, from parent to child."""
    count = (branching ** (depth + 1) - 1) // (branching - 1)
    child = torch.arange(1, count)
    return torch.stack(((child - 1) // branching, child))


def graph(edges=None):
    return read_graph(tree() if edges is None else edges)


def pairs_of(tensor):
    return {tuple(pair) for pair in tensor.t().tolist()}


def drawn_pairs(task, ends):
    """Return the pairs with another descendant, and those with another ancestor, shape ``(2, K, E)`` each."""
    above, below = (end.expand_as(ends[0]) for end in task.pairs)
    return torch.stack((above, ends[0])), torch.stack((ends[1], below))


def test_training_sees_no_held_out_pair_and_no_implied_negative():
    task = Entailment.of(graph(), share=0.2)
    assert not pairs_of(task.pairs) & (pairs_of(task.split["val"]) | pairs_of(task.split["test"]))
    closure = pairs_of(transitive_closure(task.split["train"], task.num_nodes))
    ends, counts = task.draw(generator(0))
    assert counts.shape == ends.shape == (2, task.config.negatives, task.pairs.shape[1])
    for drawn, counted in zip(drawn_pairs(task, ends), counts, strict=True):
        assert not pairs_of(drawn[:, counted]) & closure
        assert not bool((drawn[0] == drawn[1])[counted].any())
        left = pairs_of(drawn[:, ~counted])
        assert left & closure
        assert left <= closure | {(a, a) for a in range(task.num_nodes)}
    again = task.draw(generator(0))
    assert torch.equal(again[0], ends)


def test_training_pairs_alone_may_be_spared():
    task = Entailment.of(graph(), spare="trained")
    ends, counts = task.draw(generator(0))
    for drawn, counted in zip(drawn_pairs(task, ends), counts, strict=True):
        assert not pairs_of(drawn[:, counted]) & pairs_of(task.pairs)
        assert pairs_of(drawn[:, counted]) & pairs_of(transitive_closure(tree(), task.num_nodes))  # are negatives then


def test_composed_pairs_are_all_that_training_implies():
    task = Entailment.of(graph(), compose=True)
    assert pairs_of(task.pairs) == pairs_of(transitive_closure(tree(), task.num_nodes))


@pytest.mark.parametrize("objective", ["logistic", "hinge"])
@pytest.mark.parametrize(
    ("cone", "space"),
    [("light", name) for name in ("M4", "AdS4", "dS4", "M1xH3", "M1xS3")]
    + [("order", "E4"), ("hyperbolic", "H4"), ("shadow", "H4")],
)
def test_every_cone_learns(cone, space, objective):
    trainer, losses = train(
        Entailment, graph(), [0], cone=cone, space=space, objective=objective, epochs=120, eval_every=1, lr=0.05
    )
    assert losses[-1][0] < 0.9 * losses[0][0]
    assert 0.2 < float(trainer.best_score[0]) <= 1


@pytest.mark.parametrize(
    ("model", "space", "cone"),
    [
        ("qgcn", "M4", "light"),
        ("qgcn", "AdS4", "light"),
        ("qgcn", "M1xH3", "light"),
        ("gcn", "E4", "order"),
        ("hgcn", "H4", "shadow"),
    ],
)
def test_networks_entail(model, space, cone):
    """A network sees training pairs alone; its parameters get finite gradients."""
    given = graph()
    given.x = torch.randn(given.num_nodes, 5, generator=generator(1))
    torch.manual_seed(0)
    task = Entailment.of(given, model=model, space=space, cone=cone)
    predictor = task.build_predictor()
    loss = predictor("loss", *batch_of(task))
    loss.backward()
    assert all(bool(each.grad.isfinite().all()) for each in predictor.parameters() if each.grad is not None)
    score = task.selection(predictor.eval()("predict", task.x, task.graph, *task.targets("val")), predictor.space)
    assert score.dtype == torch.float64
    assert 0 <= score <= 1
    assert task.graph.edge_index.shape[1] in (120, 241)  # with a loop at each node, or without


def test_a_tree_is_read_off_the_light_cone():
    run = Run.start(Config.checked({"task": "entailment", "data": "tree", "epochs": 500}), None, data=graph())
    run.train()
    (found,) = run.results
    assert found["test"]["f1"] > 0.8
    assert set(found["test"]) == {"f1", "precision", "recall", "roc_auc", "average_precision"}


def test_loss_by_hand():
    task = Entailment.of(graph(), space="M3", negatives=2, negative_weight=3.0)
    predictor = task.build_predictor()
    x, adjacency, pairs, ends, counts = batch_of(task)
    points, space = predictor.embed(x, adjacency), predictor.space

    def logits(a, b):
        return -4 * space.light_margin(points[a], points[b])

    right = torch.nn.functional.softplus(-logits(*pairs)).mean()
    false = [torch.nn.functional.softplus(logits(*drawn)) for drawn in drawn_pairs(task, ends)]
    false = [cost * counted for cost, counted in zip(false, counts, strict=True)]
    false += [torch.nn.functional.softplus(logits(pairs[1], pairs[0])).unsqueeze(0)]
    loss = predictor.loss(x, adjacency, pairs, ends, counts)
    torch.testing.assert_close(loss, 2 * right + (3 + 1) * torch.cat(false).mean())  # logits begin like the objective
    expected = torch.autograd.grad(right + 3 * torch.cat(false).mean(), predictor.encoder.coordinates)
    torch.testing.assert_close(torch.autograd.grad(loss, predictor.encoder.coordinates), expected)  # but move no point


def test_the_threshold_is_that_of_validation():
    task = Entailment.of(graph())
    (pairs,) = task.targets("test")
    val, test = (task.split[name].shape[1] for name in ("val", "test"))
    known = task.targets("val")[0].shape[1]
    assert torch.equal(pairs[:, :known], task.targets("val")[0])
    logits = torch.full((pairs.shape[1],), -1.0)
    logits[:val] = 1.0  # on validation, what is above 0 is right
    logits[known : known + test] = -0.5  # all test pairs rank first, but below that threshold
    scores = task.score(logits, "test", None)
    assert scores["roc_auc"] == 1
    assert scores["f1"] == 0
    assert task.score(logits[:known], "val", None)["f1"] == 1
    assert float(task.selection(logits[:known], None)) == 1


def test_paths_of_training_pairs_are_a_yardstick():
    task = Entailment.of(graph())
    found = {name: method() for name, method in task.yardsticks().items()}
    assert found["paths of training pairs"]["f1"] == 1
    assert 0 < found["number of descendants"]["f1"] < 1
    assert "number of descendants" in str(task.verdict((0.99, 0.0), found))  # paths need no points: they are no rival
    assert "paths" not in str(task.verdict((0.01, 0.0), found)).lower()
    assert "follow from training pairs" in task.caution()


def test_direction_is_asked_for():
    flipped = graph(tree().flip(0))
    assert pairs_of(Entailment.of(flipped, edges="child-parent").split["test"]) == pairs_of(
        Entailment.of(graph()).split["test"]
    )
    upside = Entailment.of(flipped)
    assert not pairs_of(upside.split["test"]) & pairs_of(transitive_closure(tree(), upside.num_nodes))


@pytest.mark.parametrize(
    ("edges", "told"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], "the graph has a cycle, a -> b -> c -> a: expected a hierarchy"),
        ([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], "the graph is undirected, each edge being there in both directions"),
        ([("a", "b"), ("a", "c")], "implies 0 pairs beyond its edges"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], "no negatives were found for the implied pairs held out for test"),
    ],
)
def test_bad_input_is_told_in_one_line(edges, told):
    with pytest.raises(ValueError, match=told) as error:
        Entailment.of(read_graph(edges))
    assert "\n" not in str(error.value)


def test_self_loops_are_removed_and_told():
    edges = torch.cat((tree(), torch.tensor([[3], [3]])), dim=1)
    data = graph(edges)
    assert any("1 self-loop removed" in remark for remark in data.remarks)
    assert Entailment.of(data).num_nodes == 121


def published(monkeypatch, **settings):
    """Let the tree be ``wordnet-entailment``; return its split and the settings of a task on it."""
    split = Entailment.of(graph(), split_seed=7).split
    monkeypatch.setattr(module, "load_entailment", lambda name, share: split)
    return split, Config.checked({"task": "entailment", "data": "wordnet-entailment"} | settings)


def test_a_published_split_is_taken_as_it_is(monkeypatch):
    split, config = published(monkeypatch)
    task = Entailment(graph(), config)
    assert all(torch.equal(task.split[part], split[part]) for part in split)


@pytest.mark.parametrize("changed", [{"edges": "child-parent"}, {"val": 0.1}, {"test": 0.1}])
def test_settings_that_a_published_split_ignores_are_refused(monkeypatch, changed):
    _, config = published(monkeypatch, **changed)
    (name,) = changed
    with pytest.raises(ValueError, match=f"^{name} has no effect on wordnet-entailment, which has a published split"):
        Entailment(graph(), config)


@pytest.mark.parametrize("other", [tree(depth=3), tree().flip(0), tree(branching=4)])
def test_a_published_split_of_another_graph_is_refused(monkeypatch, other):
    _, config = published(monkeypatch)
    with pytest.raises(ValueError, match="the graph is not wordnet-entailment: its edges are not those of the published split"):
        Entailment(graph(other), config)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"space": "H4"}, "the cone light is defined in spacetimes"),
        ({"cone": "order"}, "the cone order is defined in Euclidean spaces such as E10, got M10"),
        ({"share": 0.95}, "more than there is: 0.95, 0.05 and 0.05"),
    ],
)
def test_settings_that_do_not_go_together(settings, told):
    with pytest.raises(ValueError, match=told):
        Entailment.of(graph(), **settings)


def named(node):
    """Return the name of a node of the tree: children are before and after their parents, and n60 is the root."""
    return f"n{(37 * node + 60) % 121}"


def named_edges():
    return [tuple(named(node) for node in pair) for pair in tree().t().tolist()]


def implied(run):
    return {tuple(pair) for pair in run.node_ids[run.answering.known_pairs().numpy()].T.tolist()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("entailment") / "run"
    data = read_graph(named_edges())
    Run.start(Config.checked({"task": "entailment", "data": "tree", "epochs": 400, "space": "M5"}), path, data=data).train()
    return path


def test_a_run_is_asked_about_ordered_pairs(folder):
    run = load_run(folder)
    forth, back = run.score_links([("n60", "n50"), ("n50", "n60")], raw=True)
    assert forth > back
    known = implied(run)
    assert known == {(named(a), named(b)) for a, b in pairs_of(transitive_closure(tree(), 121))}  # whatever is held out
    found = run.recommend(["n1"], k=5)
    assert not {("n1", other) for other in found.columns["other"]} & known
    assert not len(run.recommend(["n60"], k=5))  # the root is known to be an ancestor of all others
    linked = run.neighbors(["n97"], k=120).columns  # a child of the root
    assert set(linked["neighbor"][linked["linked"]]) == {named(child) for child in (4, 5, 6)}
    missing = run.missing_links(30)
    pairs = list(zip(missing.columns["node"], missing.columns["other"], strict=True))
    assert len(set(pairs)) == 30
    assert not set(pairs) & known
    upwards = [run.node_ids.tolist().index(a) > run.node_ids.tolist().index(b) for a, b in pairs]
    assert set(upwards) == {True, False}  # pairs of both directions are looked at


def test_rows_are_pairs(folder):
    run = load_run(folder)
    predictor = run.predictor(0)
    points = run.answering.embed(predictor)
    nodes = torch.tensor([4, 0])
    rows = predictor.row_logits(points, nodes)
    every = torch.arange(121, device=points.device)
    each = [predictor.pair_logits(points, torch.stack((torch.full_like(every, int(k)), every))) for k in nodes]
    torch.testing.assert_close(rows, torch.stack(each))
    assert predictor.row_logits(points, nodes[:0]).shape == (0, 121)


def test_insights_have_depth_and_time(folder):
    run = load_run(folder)
    columns, (quality,) = run.answering.insights(run.predictor(0))
    depth, time = (column.values for column in columns)
    assert depth.max() == 4
    assert np.corrcoef(depth, time)[0, 1] > 0.5
    assert [group.name for group in quality.groups] == ["2", "3", "4"][: len(quality.groups)]


def test_new_nodes_have_no_place(folder):
    run = load_run(folder)
    edges = named_edges()
    same = run.with_graph(edges[::-1])
    np.testing.assert_allclose(
        same.score_links([("n60", "n50")], raw=True), run.score_links([("n60", "n50")], raw=True), rtol=1e-5
    )
    with pytest.raises(ValueError, match="'new' was not there in training, and shallow places no new nodes"):
        run.with_graph([*edges, ("n3", "new")]).score_links([("n60", "n3")])


def test_a_changed_graph_is_known_by_its_own_edges(folder):
    """A part of the graph, and one with an edge more: numbers of nodes are others than in training."""
    run = load_run(folder)
    part = [edge for edge in named_edges() if "n60" not in edge]  # three trees without their root
    few = run.with_graph(part)
    assert implied(few) == {pair for pair in implied(run) if "n60" not in pair}
    found = few.recommend(k=200).columns
    assert not set(zip(found["node"], found["other"], strict=True)) & implied(few)
    above, below = named(1), named(7)  # a child of the root, and a child of another one
    assert below in run.recommend([above], k=200).columns["other"]
    more = run.with_graph([*named_edges(), (above, below)]).recommend([above], k=200).columns["other"]
    assert not {below, named(22)} & set(more)  # nor what follows from it
    with pytest.raises(ValueError, match="the graph has a cycle"):
        run.with_graph([*named_edges(), (below, "n60")])


def featured(edges):
    data = read_graph(edges)
    data.x = torch.randn(data.num_nodes, 3, generator=generator(1))
    return data


@pytest.mark.parametrize("edges", ["parent-child", "child-parent"])
def test_messages_pass_along_the_edges_of_a_changed_graph(edges):
    flip = -1 if edges == "child-parent" else 1
    whole = featured([edge[::flip] for edge in named_edges()])
    task = Entailment.of(whole, model="qgcn", edges=edges)
    given = [*named_edges()[:-1], (named(4), "a")]  # a node that sorts before all others
    data = featured([edge[::flip] for edge in given])
    pairs = task.changed(data).graph.edge_index
    used = np.asarray(data.node_ids)[pairs[:, pairs[0] != pairs[1]].numpy()].T
    assert {tuple(pair) for pair in used.tolist()} == set(given)
    assert torch.equal(task.changed(whole).graph.edge_index, task.graph.edge_index)  # nothing is held out of either


def test_refit_trains_on_everything():
    task = Entailment.of(graph(), refit=True)
    whole = task.refitted()
    assert pairs_of(whole.pairs) == pairs_of(torch.cat([task.split[name] for name in ("train", "val", "test")], dim=1))
    assert whole.split["test"].shape == (2, 0)


def test_words():
    task = Entailment.of(graph())
    assert task.remarks() == ["120 train, 15 val, 15 test pairs; 120 and 120 negatives"]
    assert task.features_used() == "no"
    assert "90 %" in task.outcome("90 %")
    weighted = Data(edge_index=tree(), edge_weight=torch.full((120,), 2.0), num_nodes=121)
    assert "weights of edges are not used" in Entailment.of(read_graph(weighted)).remarks()
