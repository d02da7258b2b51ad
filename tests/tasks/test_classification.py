"""Node classification: losses, scores, and seeds that do not see each other."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from cases import generator, problem, train
from qgcn import data
from qgcn.nn import QGCNConv, SparseMatrix, dropout_keys
from qgcn.tasks import NodeClassification

ALL_DROPOUTS = {"dropout": 0.3, "feature_dropout": 0.2, "edge_dropout": 0.2}


def graph(dense=True):
    """Return a graph of three communities, with labels, masks and features that hint at them."""
    edge_index, y = data.stochastic_block((14, 14, 14), 0.4, 0.03, seed=0)
    train, val, test = data.split_nodes(y, train=0.4, val=0.3, seed=0)
    x = torch.randn(42, 10, generator=generator(0)) + 0.7 * nn.functional.one_hot(y, 10)
    x = x if dense else x * (torch.rand(42, 10, generator=generator(1)) < 0.2)
    return Data(x=x, edge_index=edge_index, y=y, train_mask=train, val_mask=val, test_mask=test, num_nodes=42)


def trained(seeds, given=None, **options):
    """Train seeds together and return the trainer and the losses of each validation."""
    options = {"space": "Q3,2", "epochs": 5, "precision": "float64", "curvature_lr": 0.01, **options}
    return train(NodeClassification, graph() if given is None else given, seeds, **options)


def parameters_of(trainer, index):
    return {name: tensor[index] if trainer.batched else tensor for name, tensor in trainer.parameters.items()}


# --- the model ---------------------------------------------------------------------------------------------------------


def test_the_head_is_the_last_convolution_or_looks_at_each_node_alone():
    task = problem(NodeClassification, graph(), space="Q3,2", layers=3, activation="tanh", dropout=0.4)
    predictor = task.build_predictor().eval()
    assert len(predictor.encoder.layers) == 2
    assert all(isinstance(layer, QGCNConv) for layer in predictor.encoder.layers)
    u = predictor.encoder.tangent(task.x, task.graph)
    logits = task.graph.to_dense() @ predictor.head.linear(u.tanh())
    torch.testing.assert_close(predictor.predict(task.x, task.graph), logits)
    assert predictor.head.dropout.p == 0.4
    linear = problem(NodeClassification, graph(), space="Q3,2", layers=3, head="linear").build_predictor().eval()
    assert len(linear.encoder.layers) == 3
    u = linear.encoder.tangent(task.x, task.graph)
    torch.testing.assert_close(linear.predict(task.x, task.graph), linear.head.linear(u))
    alone = problem(NodeClassification, graph(), model="qnn", space="Q3,2").build_predictor()
    assert len(alone.encoder.layers) == 2
    assert not alone.convolve


def test_networks_of_pyg_classify_with_their_last_layer():
    predictor = problem(NodeClassification, graph(), model="gcn", space="E8").build_predictor().eval()
    assert predictor.head is None
    assert [tuple(conv.lin.weight.shape) for conv in predictor.encoder.network.convs] == [(8, 10), (3, 8)]
    given = graph()
    torch.testing.assert_close(predictor.predict(given.x, given.edge_index), predictor.encoder(given.x, given.edge_index))


def test_the_loss_is_the_cross_entropy_of_the_training_nodes_alone():
    given = graph()
    task = problem(NodeClassification, given, space="Q3,2")
    torch.manual_seed(0)
    predictor = task.build_predictor().eval()
    drawn = task.targets("train")
    loss = predictor.loss(task.x, task.graph, *drawn)
    logits = predictor.predict(task.x, task.graph).log_softmax(-1)
    expected = -logits[given.train_mask, given.y[given.train_mask]].mean()
    torch.testing.assert_close(loss, expected)
    assert torch.equal(drawn[0], given.train_mask.nonzero().squeeze(1))


def test_scores_have_the_documented_keys_and_values():
    given = graph()
    task = problem(NodeClassification, given)
    perfect = nn.functional.one_hot(given.y, 3).float()
    for split in ("train", "val", "test"):
        assert task.score(perfect[task.nodes[split]], split, None) == {"accuracy": 1.0, "f1_micro": 1.0, "f1_macro": 1.0}
    assert task.selection(perfect[given.val_mask], None) == 1
    nodes = given.test_mask.nonzero().squeeze(1)
    wrong = perfect[nodes].clone()
    wrong[0] = nn.functional.one_hot((given.y[nodes[0]] + 1) % 3, 3).float()
    scores = task.score(wrong, "test", None)
    assert scores["accuracy"] == scores["f1_micro"] == pytest.approx(1 - 1 / len(nodes))
    assert scores["f1_macro"] < 1
    assert task.metric in scores


# --- the split -----------------------------------------------------------------------------------------------------------


def test_the_graphs_own_split_is_kept_if_nothing_is_said():
    given = graph()
    task = problem(NodeClassification, given)
    assert task.split == {}
    assert task.data.train_mask is given.train_mask
    assert task.remarks() == []


def test_shares_draw_a_split_of_the_labelled_nodes_and_say_that_the_public_one_is_not_used():
    given = graph()
    given.y[3] = -1
    task = problem(NodeClassification, given, val=0.2, test=0.5, split_seed=7)
    expected = data.split_nodes(given.y, train=0.3, val=0.2, seed=7)
    for name, mask in zip(("train", "val", "test"), expected, strict=True):
        assert torch.equal(task.split[f"{name}_mask"], mask)
        assert torch.equal(task.nodes[name], mask.nonzero().squeeze(1))
    assert [len(nodes) for nodes in task.nodes.values()] == [13, 8, 20]
    assert not torch.equal(given.train_mask, task.data.train_mask)  # the graph that was given stays as it was
    assert task.source is given
    assert task.remarks() == ["split drawn by val and test: 13 train, 8 val, 20 test nodes; the graph's own split is not used"]


def test_nodes_of_each_class_are_drawn_for_training():
    task = problem(NodeClassification, graph(), per_class=5, split_seed=3)
    expected = data.split_classes(graph().y, per_class=5, seed=3)
    for name, mask in zip(("train", "val", "test"), expected, strict=True):
        assert torch.equal(task.nodes[name], mask.nonzero().squeeze(1))
    said = "split drawn with 5 training nodes a class: 15 train, 9 val, 18 test nodes; the graph's own split is not used"
    assert task.remarks() == [said]
    with pytest.raises(ValueError, match="val has no effect beside per_class, which says what is held out"):
        problem(NodeClassification, graph(), per_class=5, val=0.2)


def test_one_share_leaves_the_other_at_fifteen_per_cent():
    y = graph().y
    for given, expected in (({"val": 0.3}, (0.55, 0.3)), ({"test": 0.3}, (0.55, 0.15))):
        task = problem(NodeClassification, graph(), **given)
        masks = data.split_nodes(y, train=expected[0], val=expected[1])
        assert torch.equal(task.data.test_mask, masks[2])
        assert torch.equal(task.data.val_mask, masks[1])


def test_the_usual_shares_are_the_split_of_a_graph_that_has_none():
    given = data.read_graph(data.load("stochastic-block").edge_index, labels=data.load("stochastic-block").y, split_seed=5)
    task = problem(NodeClassification, given, val=0.15, test=0.15, split_seed=5)
    for name in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(task.data[name], given[name])
    (remark,) = task.remarks()
    assert remark.endswith("test nodes")  # nothing public was replaced


def test_a_file_says_which_nodes_are_held_out_and_is_not_needed_again(tmp_path):
    path = tmp_path / "split.csv"
    path.write_text("id,part\n" + "".join(f"{k},{('train', 'val', 'test')[k % 3]}\n" for k in range(30)))
    task = problem(NodeClassification, graph(), split=str(path))
    assert [nodes.tolist() for nodes in task.nodes.values()] == [list(range(k, 30, 3)) for k in range(3)]
    (remark,) = task.remarks()
    assert remark == f"split read from {path}: 10 train, 10 val, 10 test nodes; the graph's own split is not used"
    path.unlink()
    again = NodeClassification(graph(), task.config, split=task.split)
    assert torch.equal(again.data.val_mask, task.data.val_mask)
    assert again.remarks() == [remark]
    assert torch.equal(task.reconfigured(task.config).nodes["test"], task.nodes["test"])


# --- what the nodes of a split see -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"head": "linear"}, {"space": "H4"}, {"aggregation": "mean"}], ids=str)
def test_the_field_of_a_split_gives_the_predictions_and_gradients_of_the_whole_graph(options, dense):
    usual = {"space": "Q3,2", "dropout": 0.3, "feature_dropout": 0.2, "precision": "float64"}
    task = problem(NodeClassification, sparse_graph(dense), **usual | options)
    torch.manual_seed(0)
    predictor = task.build_predictor().double()
    for name, key in dropout_keys(predictor, 5, 0).items():
        predictor.get_submodule(name.removesuffix(".key")).key = key
    parameters = list(predictor.parameters())
    drawn = task.targets("train")
    here, whole = (
        predictor.loss(*inputs, *drawn) for inputs in (task.loader.inputs("train", task.graph), (task.x, task.graph))
    )
    torch.testing.assert_close(here, whole)
    torch.testing.assert_close(torch.autograd.grad(here, parameters), torch.autograd.grad(whole, parameters))
    assert task.loader.inputs("train", task.graph)[0].shape[0] < task.num_nodes
    predictor.eval()
    found = predictor.predict(*task.loader.inputs("val", task.graph), *task.targets("val"))
    torch.testing.assert_close(found, predictor.predict(task.x, task.graph)[task.nodes["val"]])


def sparse_graph(dense):
    """Return a ring, on which few nodes see few others, with the features and labels of :func:`graph`."""
    given = graph(dense)
    ring = torch.stack((torch.arange(42), (torch.arange(42) + 1) % 42))
    given.edge_index = torch.cat((ring, ring.flip(0)), dim=1)
    given.train_mask = torch.arange(42) < 5
    given.val_mask = (torch.arange(42) >= 20) & (torch.arange(42) < 30)
    return given


def test_edges_left_out_of_a_step_are_left_out_of_what_its_nodes_see():
    task = problem(NodeClassification, sparse_graph(True), space="Q3,2", edge_dropout=0.5)
    predictor = task.build_predictor().eval()
    thinned = task.graph.thinned(0.5, generator(0))
    found = predictor.predict(*task.loader.inputs("train", thinned))
    torch.testing.assert_close(found, predictor.predict(task.x, thinned)[task.nodes["train"]])
    assert not torch.allclose(found, predictor.predict(*task.loader.inputs("train", task.graph)))


@pytest.mark.parametrize(
    "options",
    [{"attention": True}, {"skip": True, "layers": 3}, {"projection": True}, {"model": "qnn"}, {"model": "gcn", "space": "E8"}],
    ids=str,
)
def test_models_that_look_further_get_the_whole_graph(options):
    task = problem(NodeClassification, graph(), **{"space": "Q3,2"} | options)
    assert task.loader.inputs("train", task.graph) == (task.x, task.graph)
    field = problem(NodeClassification, graph(), space="Q3,2").loader.scored("train")
    with pytest.raises(ValueError, match="a restricted graph is for"):
        task.build_predictor().predict(field.x, field.graph)


# --- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"head": "linear"},
        {"space": "H4"},
        {"space": "S4"},
        {"space": "H2xS2", "model": "kappa-gcn"},
        {"model": "gcn", "space": "E8"},
        {"model": "qnn"},
        {"attention": True},
        {"skip": True, "layers": 3},
        {"projection": True, "perturbation": 0.02},
        ALL_DROPOUTS,
    ],
    ids=str,
)
def test_the_loss_is_finite_and_falls(options):
    options = {"dropout": 0.0, "weight_decay": 0.0, **options}
    trainer, losses = trained([0], epochs=25, lr=0.05, row_normalize=False, precision="float32", **options)
    values = torch.tensor(losses).squeeze(1)
    assert values.isfinite().all()
    # the median: near the pole's cone a translation is unbounded, and a step may land there
    assert values[-5:].median() < 0.8 * values[:3].mean()
    (result,) = trainer.results()
    assert set(result["test"]) == set(result["val"]) == {"accuracy", "f1_micro", "f1_macro"}
    assert result["network"]["val"]["accuracy"] == pytest.approx(trainer.best_score.item())
    assert result["val"]["accuracy"] > 0.4  # a guess is right in a third


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        ALL_DROPOUTS,
        {"dropout": 0.5},
        {"feature_dropout": 0.5},
        {"edge_dropout": 0.5, "aggregation": "mean"},
        {"attention": True, **ALL_DROPOUTS},
        {"space": "H4", "weight_decay": 1e-2, **ALL_DROPOUTS},
        {"space": "H2xS2", "clip": 0.1, "schedule": "cosine"},
    ],
    ids=str,
)
def test_a_batch_of_seeds_ends_where_each_ends_alone(options, dense):
    seeds = [3, 0, 11]
    together, losses = trained(seeds, graph(dense), **options)
    assert isinstance(together.task.x, torch.Tensor if dense else SparseMatrix)
    for index, seed in enumerate(seeds):
        alone, own = trained([seed], graph(dense), **options)
        torch.testing.assert_close([loss[index] for loss in losses], [loss[0] for loss in own], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(parameters_of(together, index), parameters_of(alone, 0), rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(together.weights(index), alone.weights(0), rtol=1e-7, atol=1e-7)
    first, second = parameters_of(together, 0), parameters_of(together, 1)
    assert not torch.allclose(first["encoder.layers.0.linear.weight"], second["encoder.layers.0.linear.weight"])


def test_dropout_differs_between_the_seeds_of_a_batch():
    """Seeds with equal weights would have equal losses if they shared their draws."""
    trainer, _ = trained([0, 1], epochs=1, dropout=0.5)
    with torch.no_grad():
        for parameter in trainer.parameters.values():
            parameter[1] = parameter[0]
    trainer._advance()
    first, second = trainer._loss.tolist()
    assert first != second


def test_in_float32_a_batch_of_seeds_ends_close_to_each_alone():
    seeds = [3, 0, 11]
    together, _ = trained(seeds, precision="float32", **ALL_DROPOUTS)
    for index, seed in enumerate(seeds):
        alone, _ = trained([seed], precision="float32", **ALL_DROPOUTS)
        torch.testing.assert_close(parameters_of(together, index), parameters_of(alone, 0), rtol=1e-3, atol=1e-3)


def test_early_stopping_of_each_seed_is_the_same_batched_and_alone():
    seeds = [0, 1, 2, 3]
    options = {"epochs": 60, "patience": 6, "lr": 0.03, **ALL_DROPOUTS}
    together, _ = trained(seeds, **options)
    stops = []
    for index, seed in enumerate(seeds):
        alone, _ = trained([seed], **options)
        stops.append(alone.epoch)
        assert together.best_epoch[index] == alone.best_epoch[0]
        assert together.best_score[index] == alone.best_score[0]
        one, other = together.results()[index], alone.results()[0]
        for name in ("blend", "calibration"):  # they follow the last digits of weights
            assert one.pop(name) == pytest.approx(other.pop(name))
        assert one == other
        torch.testing.assert_close(together.weights(index), alone.weights(0), rtol=1e-6, atol=1e-6)
    assert len(set(stops)) > 1  # they stop at different times
    assert max(stops) < 60
    assert together.epoch == max(stops)


def test_predictions_of_a_seed_do_not_depend_on_the_others_of_the_batch():
    first, _ = trained([4, 7, 9], **ALL_DROPOUTS)
    second, _ = trained([1, 2, 3, 7], **ALL_DROPOUTS)
    (here, space), (there, other) = first.embedding(1), second.embedding(3)
    torch.testing.assert_close(here, there, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(space.beta, other.beta)
    assert first.results()[1] == second.results()[3]


# --- what does not fit ---------------------------------------------------------------------------------------------------


def without(*names):
    given = graph()
    for name in names:
        given[name] = None
    return given


def empty(name):
    given = graph()
    given[name] = torch.zeros(42, dtype=torch.bool)
    return given


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: problem(NodeClassification, without("y")), "classification needs labels, but the graph has none"),
        (lambda: problem(NodeClassification, empty("train_mask")), "needs train nodes, but the train mask is empty"),
        (lambda: problem(NodeClassification, empty("val_mask")), "needs val nodes, but the val mask is empty"),
        (lambda: problem(NodeClassification, empty("test_mask")), "needs test nodes, but the test mask is empty"),
        (lambda: problem(NodeClassification, graph(), head="nonlinear"), "head: input should be 'convolution' or 'linear'"),
        (lambda: problem(NodeClassification, graph(), layers=1), "by convolution needs at least 2 layers, got 1"),
        (lambda: problem(NodeClassification, without("y"), val=0.2), "classification needs labels, but the graph has none"),
        (
            lambda: problem(NodeClassification, without("y"), split="s.csv"),
            "classification needs labels, but the graph has none",
        ),
        (
            lambda: problem(NodeClassification, graph(), val=0.6, test=0.4),
            r"shares with val \+ test < 1, got val=0\.6 and test=0\.4",
        ),
        (lambda: problem(NodeClassification, graph(), val=0.0), "val: input should be greater than 0, got 0"),
        (lambda: problem(NodeClassification, graph(), val=0.1, split="s.csv"), "val has no effect beside split"),
    ],
)
def test_what_does_not_fit_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_a_missing_label_error_names_the_graph():
    given = without("y")
    given.name = "airport"
    with pytest.raises(ValueError, match="but airport has none"):
        problem(NodeClassification, given)


# --- yardsticks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dense", [True, False])
def test_yardsticks_are_the_majority_and_regressions_on_features(dense):
    task = problem(NodeClassification, graph(dense))
    found = {name: score() for name, score in task.yardsticks().items()}
    names = ["majority class", "logistic regression on features", "logistic regression on smoothed features"]
    assert list(found) == names
    majority = task.y[torch.cat((task.nodes["train"], task.nodes["val"]))].bincount().argmax()
    assert found["majority class"]["accuracy"] == (task.y[task.nodes["test"]] == majority).double().mean()
    assert all(scores.keys() == found["majority class"].keys() for scores in found.values())
    assert found[names[2]]["accuracy"] > found["majority class"]["accuracy"]


def test_yardsticks_of_nodes_without_features_see_where_they_are():
    given = graph()
    given.x = None
    found = {name: score()["accuracy"] for name, score in problem(NodeClassification, given).yardsticks().items()}
    assert list(found)[1:] == ["logistic regression on spectral features", "logistic regression on smoothed spectral features"]
    assert found["logistic regression on spectral features"] > 0.8  # three communities


def test_refitted_all_labelled_nodes_are_learned():
    given = graph()
    given.y[[3, 30]] = -1
    for name in ("train_mask", "val_mask", "test_mask"):
        given[name][[3, 30]] = False
    given.test_mask[5] = given.val_mask[5] = given.train_mask[5] = False  # labelled, but in no part of the split
    task = problem(NodeClassification, given, space="Q3,2")
    again = task.refitted()
    assert again.targets("train")[0].tolist() == [node for node in range(42) if node not in (3, 30)]
    assert torch.equal(again.targets("train")[1], given.y[given.y >= 0])
    assert torch.equal(again.nodes["val"], task.nodes["val"])
    assert len(task.nodes["train"]) < 20
    assert not given.train_mask.all()
    assert torch.equal(again.graph.to_dense(), task.graph.to_dense())
