"""Link prediction: what is learned from, what is never seen, and seeds that do not see each other."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.data import Data

from cases import generator, problem, train
from qgcn import data
from qgcn.nn import Adjacency, SparseMatrix
from qgcn.tasks import LinkPrediction

ALL_DROPOUTS = {"dropout": 0.3, "feature_dropout": 0.2, "edge_dropout": 0.2}


def graph(dense=True):
    edge_index, y = data.stochastic_block((16, 16), 0.5, 0.05, seed=0)
    x = torch.randn(32, 8, generator=generator(0)) + y.unsqueeze(1)
    x = x if dense else x * (torch.rand(32, 8, generator=generator(1)) < 0.2)
    return Data(x=x, edge_index=edge_index, num_nodes=32)


def trained(seeds, given=None, **options):
    """Train seeds together and return the trainer and the losses of each validation."""
    options = {"space": "Q3,2", "epochs": 5, "precision": "float64", "curvature_lr": 0.01, "eval_every": 1, **options}
    return train(LinkPrediction, graph() if given is None else given, seeds, **options)


def parameters_of(trainer, index):
    return {name: tensor[index] if trainer.batched else tensor for name, tensor in trainer.parameters.items()}


def undirected(pairs):
    return {(min(pair), max(pair)) for pair in pairs.t().tolist()}


# --- the split -----------------------------------------------------------------------------------------------------------


def test_training_negatives_never_hit_an_edge_or_a_held_out_pair():
    task = problem(LinkPrediction, graph(), val=0.1, test=0.2)
    links = task.links
    forbidden = undirected(torch.cat((links.train, links.val, links.test, links.val_negative, links.test_negative), dim=1))
    drawn = set()
    for seed in range(60):
        (negatives,) = task.draw(generator(seed))
        assert negatives.shape == links.train.shape
        assert (negatives[0] != negatives[1]).all()
        drawn |= undirected(negatives)
    assert not drawn & forbidden
    assert len(drawn) == 32 * 31 // 2 - len(forbidden)  # every pair that is left is drawn sooner or later
    torch.testing.assert_close(task.draw(generator(3))[0], task.draw(generator(3))[0], rtol=0, atol=0)
    assert task.targets("train")[0] is links.train


@pytest.mark.parametrize("protocol", ["leak-free", "hgcn"])
def test_a_file_says_which_edges_are_held_out_and_is_not_needed_again(tmp_path, protocol):
    drawn = problem(LinkPrediction, graph(), val=0.1, test=0.2, split_seed=4).links
    path = tmp_path / "split.csv"
    held = [(part, pair) for part in ("val", "test") for pair in getattr(drawn, part).t().tolist()]
    path.write_text("source,target,part\n" + "".join(f"{b},{a},{part}\n" for part, (a, b) in held))
    task = problem(LinkPrediction, graph(), split=str(path), protocol=protocol)
    for part in ("train", "val", "test"):
        assert undirected(getattr(task.links, part)) == undirected(getattr(drawn, part))
    sizes = f"{drawn.train.shape[1]} train, {drawn.val.shape[1]} val, {drawn.test.shape[1]} test edges"
    others = f"{drawn.val.shape[1]} and {drawn.test.shape[1]} non-edges"
    assert task.remarks() == [f"split read from {path}: {sizes}; {others}"]
    path.unlink()
    again = LinkPrediction(graph(), task.config, split=task.split)
    assert torch.equal(again.links.test_negative, task.links.test_negative)
    assert again.links.protocol == protocol


def test_held_out_edges_are_scored_against_as_many_non_edges_as_a_file_lists(tmp_path):
    links = problem(LinkPrediction, graph(), val=0.1, test=0.2).links
    rows = [(part, pair) for part in ("val", "test") for pair in getattr(links, part).t().tolist()]
    rows += [("test_negative", pair) for pair in links.test_negative[:, :7].t().tolist()]
    path = tmp_path / "split.csv"
    path.write_text("".join(f"{a},{b},{part}\n" for part, (a, b) in rows))
    task = problem(LinkPrediction, graph(), split=str(path))
    count = links.test.shape[1]
    (pairs,) = task.targets("test")
    assert pairs.shape == (2, count + 7)
    scores = task.score(torch.cat((torch.ones(count), torch.zeros(7))), "test", None)
    assert scores["roc_auc"] == scores["average_precision"] == scores["mrr"] == 1
    trainer, _ = trained([0], graph(), split=str(path))
    assert 0 <= trainer.results()[0]["test"]["roc_auc"] <= 1


def test_the_protocol_of_the_hyperbolic_literature_draws_held_out_pairs_too():
    task = problem(LinkPrediction, graph(), protocol="hgcn", val=0.1, test=0.2)
    drawn = set()
    for seed in range(60):
        drawn |= undirected(task.draw(generator(seed))[0])
    for held_out in (task.links.val, task.links.test, task.links.test_negative):
        assert drawn & undirected(held_out)
    assert not drawn & undirected(task.links.train)


@pytest.mark.parametrize("model", ["qgcn", "gat"])
def test_messages_pass_along_training_edges_only(model):
    task = problem(LinkPrediction, graph(), model=model, val=0.1, test=0.2)
    train = torch.cat((task.links.train, task.links.train.flip(0)), dim=1)
    if model == "qgcn":
        torch.testing.assert_close(task.graph.to_dense(), Adjacency.of(train, 32).to_dense())
    else:
        assert undirected(task.graph.edge_index) == undirected(train)
    held_out = undirected(torch.cat((task.links.val, task.links.test), dim=1))
    assert len(held_out) + task.links.train.shape[1] == graph().edge_index.shape[1] // 2


def test_the_split_is_a_function_of_its_own_seed():
    first, again, other = (problem(LinkPrediction, graph(), split_seed=seed).links.test for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert undirected(first) != undirected(other)


# --- loss and scores -------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_cross_entropy_with_edges_as_heavy_as_non_edges():
    torch.manual_seed(0)
    task = problem(LinkPrediction, graph(), space="Q3,2")
    predictor = task.build_predictor().eval()
    drawn = (*task.targets("train"), *task.draw(generator(0)))
    points = predictor.embed(task.x, task.graph)
    total = 0.0
    for pairs, label in zip(drawn, (1.0, 0.0), strict=True):
        sqdist = predictor.space.dist(points[pairs[0]], points[pairs[1]]).square()
        logits = (predictor.decoder.r - sqdist) / predictor.decoder.tau
        total += binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))
    torch.testing.assert_close(predictor.loss(task.x, task.graph, *drawn), total, rtol=1e-4, atol=1e-5)


def test_predictions_are_the_logits_of_the_edges_then_of_the_non_edges():
    task = problem(LinkPrediction, graph(), space="Q3,2")
    predictor = task.build_predictor().eval()
    points = predictor.embed(task.x, task.graph)
    for split in ("val", "test"):
        pairs = torch.cat((getattr(task.links, split), getattr(task.links, f"{split}_negative")), dim=1)
        expected = predictor.decoder.logits(predictor.space.dist2(points[pairs[0]], points[pairs[1]]))
        torch.testing.assert_close(predictor.predict(task.x, task.graph, *task.targets(split)), expected)


def test_scores_have_the_documented_keys_and_values():
    task = problem(LinkPrediction, graph(), val=0.1, test=0.4)
    count = task.links.test.shape[1]
    assert 50 <= count < 100
    perfect = torch.cat((torch.ones(count), torch.zeros(count)))
    scores = task.score(perfect, "test", None)
    assert set(scores) == {"roc_auc", "average_precision", "mrr", "hits@10", "hits@50"}  # a hundred non-edges are not there
    assert all(value == pytest.approx(1.0) for value in scores.values())
    assert task.score(-perfect, "test", None)["roc_auc"] == 0
    held = task.links.val.shape[1]
    assert task.selection(torch.cat((torch.ones(held), torch.zeros(held))), None) == 1
    assert task.selection(torch.zeros(2 * held), None) == 0.5
    with pytest.raises(ValueError, match="training edges have no fixed non-edges"):
        task.score(perfect, "train", None)


# --- with nothing held out -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["leak-free", "hgcn"])
def test_refitted_all_edges_are_learned_and_messages_pass_along_them(protocol):
    task = problem(LinkPrediction, graph(), space="Q3,2", protocol=protocol, degree_features=True)
    again = task.refitted()
    edges = undirected(task.data.edge_index)
    assert undirected(again.links.train) == edges != undirected(task.links.train)
    assert again.links.train.shape[1] == len(edges)  # each once
    assert undirected(again.links.message) == edges
    assert again.links.message.shape[1] == 2 * len(edges)
    assert undirected(again.graph.edge_index[:, again.graph.edge_index[0] != again.graph.edge_index[1]]) == edges
    assert again.in_features == task.in_features
    assert undirected(task.links.test) & edges  # the problem itself is as it was
    drawn = undirected(again.links.negatives.sample(20_000, generator(0)))
    assert len(drawn) == 32 * 31 // 2 - len(edges)  # every pair that is no edge


# --- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{}, {"space": "H4"}, {"space": "S4"}, {"space": "E4"}, {"space": "Q0,5"}, {"model": "gcn", "space": "E8"}, ALL_DROPOUTS],
    ids=str,
)
def test_the_loss_is_finite_and_falls(options):
    trainer, losses = trained([0], epochs=40, lr=0.02, precision="float32", **options)
    values = torch.tensor(losses).squeeze(1)
    assert values.isfinite().all()
    assert values[-5:].median() < 0.9 * values[:3].mean()
    (result,) = trainer.results()
    assert result["network"]["val"]["roc_auc"] == pytest.approx(trainer.best_score.item())
    assert {"roc_auc", "average_precision", "mrr"} <= set(result["test"])
    assert trainer.best_score.item() > 0.55


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [{}, ALL_DROPOUTS, {"space": "H4", "edge_dropout": 0.5, "aggregation": "mean"}],
    ids=str,
)
def test_a_batch_of_seeds_ends_where_each_ends_alone(options, dense):
    seeds = [3, 0, 11]
    together, losses = trained(seeds, graph(dense), **options)
    assert isinstance(together.task.x, torch.Tensor if dense else SparseMatrix)
    for index, seed in enumerate(seeds):
        alone, own = trained([seed], graph(dense), **options)
        torch.testing.assert_close([loss[index] for loss in losses], [loss[0] for loss in own], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(parameters_of(together, index), parameters_of(alone, 0), rtol=1e-6, atol=1e-6)
    first, second = parameters_of(together, 0), parameters_of(together, 1)
    assert not torch.allclose(first["encoder.layers.0.linear.weight"], second["encoder.layers.0.linear.weight"])


def test_early_stopping_of_each_seed_is_the_same_batched_and_alone():
    seeds = [0, 1, 2]
    options = {"epochs": 60, "patience": 5, "lr": 0.05, **ALL_DROPOUTS}
    together, _ = trained(seeds, **options)
    for index, seed in enumerate(seeds):
        alone, _ = trained([seed], **options)
        assert alone.epoch < 60
        assert together.best_epoch[index] == alone.best_epoch[0]
        torch.testing.assert_close(together.best_score[index], alone.best_score[0])
        torch.testing.assert_close(together.weights(index), alone.weights(0), rtol=1e-5, atol=1e-5)


def test_predictions_of_a_seed_do_not_depend_on_the_others_of_the_batch():
    first, _ = trained([4, 7], **ALL_DROPOUTS)
    second, _ = trained([1, 2, 7], **ALL_DROPOUTS)
    torch.testing.assert_close(first.embedding(1)[0], second.embedding(2)[0], rtol=1e-8, atol=1e-8)
    assert first.results()[1] == second.results()[2]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"protocol": "leaky"}, "protocol: input should be 'leak-free', 'hgcn' or 'hard', got 'leaky'"),
        ({"val": 0.6, "test": 0.5}, r"val \+ test < 1"),
        ({"val": 1e-3}, "need at least 1000 edges"),
        ({"split": "s.csv", "val": 0.2}, "val has no effect beside split, whose file says what is held out"),
        ({"split": "s.csv", "test": 0.2}, "test has no effect beside split"),
        ({"decoder": "product", "learn_boundary": True}, "learn_boundary has no effect with the decoder product"),
        ({"negatives": 20}, "negatives has no effect with the protocol leak-free; it is for protocol hard"),
        (
            {"select": "hits@50", "val": 0.1},
            r"hits@50 needs at least 50 non-edges, got \d+ for validation: select another score",
        ),
        ({"select": "hits@20"}, "select: input should be 'roc_auc'"),
        ({"protocol": "hard"}, "at most [0-9]+ hard non-edges in this graph of 32 nodes"),
    ],
)
def test_what_does_not_fit_is_refused(options, match):
    with pytest.raises(ValueError, match=match):
        problem(LinkPrediction, graph(), **options)


def test_degree_features_count_training_edges_only():
    given = graph()
    task = problem(LinkPrediction, given, degree_features=True, val=0.1, test=0.2)
    columns = task.x.to_dense()[:, -6:]
    train = torch.bincount(task.links.message[0], minlength=32).minimum(torch.tensor(5))
    assert torch.equal(columns.argmax(1), train)
    everything = torch.bincount(given.edge_index[0], minlength=32).minimum(torch.tensor(5))
    assert not torch.equal(columns.argmax(1), everything)


def test_the_boundary_of_the_decoder_is_fixed_unless_it_is_to_be_learned():
    fixed, learned = (trained([0, 1], **given)[0] for given in ({}, {"learn_boundary": True}))
    assert "decoder.values" not in fixed.weights(0)
    with fixed.best_predictor(1) as predictor:
        assert (float(predictor.decoder.r), float(predictor.decoder.tau)) == (2, 1)
    assert not torch.equal(learned.weights(0)["decoder.values"], torch.tensor([2.0, 0.0], dtype=torch.float64))


# --- the score that is selected by, and hard non-edges ---------------------------------------------------------------------

HARD = {"protocol": "hard", "negatives": 4, "val": 0.1, "test": 0.2}


@pytest.mark.parametrize("select", ["roc_auc", "average_precision", "mrr", "hits@10"])
@pytest.mark.parametrize("given", [{"val": 0.2}, HARD | {"negatives": 12}])
def test_validation_selects_by_the_score_that_is_named(select, given):
    given = {**given, "val": 0.2, "protocol": given.get("protocol", "leak-free")}
    if given["protocol"] == "hard":
        sparse = data.stochastic_block((60, 60), 0.1, 0.02, seed=0)[0]
        task = problem(LinkPrediction, Data(edge_index=sparse, num_nodes=120), select=select, **given)
    else:
        task = problem(LinkPrediction, graph(), select=select, **given)
    size = task.targets("val")[0].shape[1]
    several = torch.randn(3, size, generator=generator(2))
    expected = torch.tensor([task.score(each, "val", None)[select] for each in several], dtype=torch.float64)
    torch.testing.assert_close(torch.stack([task.selection(each, None) for each in several]), expected, rtol=0, atol=0)
    torch.testing.assert_close(task.selection(several, None), expected)  # a batch of models at once
    assert task.metric == select == task.main_scores[0] == LinkPrediction.metric_of(task.config)
    assert len(set(task.main_scores)) == len(task.main_scores)
    assert LinkPrediction.metric == "roc_auc"


def test_the_best_epoch_is_the_one_of_the_selected_score():
    trainer, _ = trained([0], select="mrr", val=0.2)
    assert float(trainer.best_score[0]) == pytest.approx(trainer.results()[0]["network"]["val"]["mrr"])


def test_a_held_out_edge_is_ranked_among_its_own_hard_non_edges():
    task = problem(LinkPrediction, graph(), select="mrr", **HARD)
    count = task.links.test.shape[1]
    assert task.links.test_negative.shape == (2, 4 * count)
    (pairs,) = task.targets("test")
    assert (pairs[0, count:].view(count, 4)[:, :2] == task.links.test[0, :, None]).all()
    # the edges score 0, 1, 2, ...; of the non-edges of each, one scores a bit more and three far less
    positive = torch.arange(count, dtype=torch.float64)
    rows = positive[:, None] + torch.tensor([0.5, -100.0, -100.0, -100.0], dtype=torch.float64)
    scores = task.score(torch.cat((positive, rows.flatten())), "test", None)
    assert scores == pytest.approx({"roc_auc": 0.75, "average_precision": 0.5, "mrr": 0.5})


def test_a_blinded_problem_has_no_hard_test_pairs():
    task = problem(LinkPrediction, graph(), **HARD)
    blind = task.blinded()
    for part in ("test", "test_negative"):
        assert blind.split[part].shape == getattr(blind.links, part).shape == (2, 0)
    assert torch.equal(blind.links.val_negative, task.links.val_negative)
    guess = torch.randn(blind.targets("val")[0].shape[1], generator=generator(0))
    assert blind.selection(guess, None) == task.selection(guess, None)
    assert blind.loader.scored("test").targets[0].shape == (2, 0)
    held = undirected(torch.cat((task.links.test, task.links.test_negative), dim=1))
    assert not undirected(blind.draw(generator(0))[0]) & held
    assert task.refitted().links.val_negative.shape == (2, 0)


def test_hard_non_edges_train_and_blend():
    trainer, _ = trained([0, 1], **HARD)
    found = trainer.results()[0]
    assert 0 < found["test"]["mrr"] <= 1
    assert trainer.task.main_scores == ("roc_auc", "average_precision", "mrr")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"select": "mrr"}, "ranked among all held-out non-edges, have a mean reciprocal rank of 9 % (the leak-free split)."),
        ({"select": "average_precision"}, "have an average precision of 9 %"),
        ({"select": "hits@10", "val": 0.2}, "9 % of the held-out edges come before the non-edge in place 10"),
        (HARD | {"select": "mrr"}, "each ranked among 4 hard non-edges of its own, have"),
        (HARD, "a held-out edge and one of its hard non-edges, it prefers the edge 9 % of the time"),
    ],
)
def test_the_outcome_says_what_the_selected_score_is(options, said):
    assert said in problem(LinkPrediction, graph(), **options).outcome("9 %")


# --- yardsticks ----------------------------------------------------------------------------------------------------------


def test_yardsticks_score_the_test_pairs_by_training_edges_alone():
    import networkx as nx

    task = problem(LinkPrediction, graph(), val=0.1, test=0.2)
    found = {name: score() for name, score in task.yardsticks().items()}
    assert list(found) == [
        "common neighbours",
        "Adamic-Adar",
        "preferential attachment",
        "spectral embedding",
        "truncated SVD",
    ]
    training = nx.Graph()
    training.add_nodes_from(range(32))
    training.add_edges_from(task.links.train.t().tolist())
    pairs = task.targets("test")[0].t().tolist()
    scores = torch.tensor([score for *_, score in nx.adamic_adar_index(training, pairs)])
    assert found["Adamic-Adar"] == pytest.approx(task.score(scores, "test", None))
    assert all(scores.keys() == found["Adamic-Adar"].keys() for scores in found.values())
    assert all(found[name]["roc_auc"] > 0.55 for name in ("spectral embedding", "truncated SVD"))  # two blocks


def test_a_spectral_yardstick_takes_negative_eigenvalues_where_they_help():
    """A bipartite graph, in which neighbours have nothing in common: all of it is in the sign of the eigenvalues."""
    left, right = torch.meshgrid(torch.arange(20), torch.arange(20, 40), indexing="ij")
    kept = torch.rand(20, 20, generator=generator(0)) < 0.8
    edges = torch.stack((left[kept], right[kept]))
    task = problem(LinkPrediction, Data(edge_index=edges, num_nodes=40), val=0.2, test=0.2)
    found = {name: score()["roc_auc"] for name, score in task.yardsticks().items()}
    assert found["common neighbours"] < 0.5 < 0.7 < found["truncated SVD"]


@pytest.mark.parametrize(("protocol", "said"), [("leak-free", "the leak-free split"), ("hgcn", "the hgcn split, which leaks")])
def test_the_outcome_says_which_split_it_is_of(protocol, said):
    assert said in problem(LinkPrediction, graph(), space="Q3,2", protocol=protocol).outcome("90.0 %")


def test_validation_chooses_the_spectral_embedding_also_for_a_refit_and_a_changed_graph():
    graph = data.load("stochastic-block")
    task = LinkPrediction.of(graph)
    choice = task.link_terms.choice
    assert choice == task._choose(*task.link_terms.spectrum)
    assert task.refitted().link_terms.choice == choice
    assert task.changed(graph).link_terms.choice == choice
    assert len(task.prior.weights) == 1 + len(task.term_names)


def test_a_spectral_yardstick_is_chosen_among_2_to_64_eigenvectors_and_two_powers(monkeypatch):
    task, asked = LinkPrediction.of(data.load("stochastic-block")), []
    whole = task._by_eigenvectors
    monkeypatch.setattr(task, "_by_eigenvectors", lambda *given: asked.append(given[-1]) or whole(*given))
    task._choose(*task.link_terms.spectrum)
    assert sorted(asked) == [(2**k, power) for k in range(1, 7) for power in (1, 2)]


def test_a_changed_graph_has_neighbours_of_its_own():
    task = LinkPrediction.of(data.load("stochastic-block"), space="E4", decoder="neighbours", blend=False)
    trained = task.build_predictor().eval()
    known = task.data.edge_index
    changed = task.changed(Data(edge_index=known[:, known[0] != 0][:, known[1, known[0] != 0] != 0], num_nodes=task.num_nodes))
    asked = changed.adapted(trained)
    pairs = task.targets("test")[0]
    points = task.embed(trained)
    through = {node for _, node in zip(*(each.tolist() for each in trained.decoder.neighbours.of_pairs(pairs)), strict=True)}
    left = {node for _, node in zip(*(each.tolist() for each in asked.decoder.neighbours.of_pairs(pairs)), strict=True)}
    assert 0 in through
    assert 0 not in left
    assert not torch.equal(asked.pair_logits(points, pairs), trained.pair_logits(points, pairs))
    plain = LinkPrediction.of(data.load("stochastic-block"), space="E4").build_predictor()
    assert changed.adapted(plain) is plain


def test_seeds_with_shared_neighbours_are_trained_one_by_one():
    settings = {"space": "E4", "decoder": "neighbours"}
    task = LinkPrediction.of(data.load("stochastic-block"), **settings)
    assert not task.can_batch()
    assert not task.is_static
    other = task.reconfigured(type(task.config).model_validate(task.config.model_dump() | {"decoder": "network"}))
    assert other.can_batch()
    assert other.is_static
