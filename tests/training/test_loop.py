"""The loop: what is chosen, when it stops, what it restores."""

import copy
import dataclasses
import math

import pytest
import torch

from qgcn.data import load
from qgcn.training import Config, Diverged, Run, Trainer

SMALL = {"device": "cpu", "data": "stochastic-block", "space": "Q5,2", "epochs": 6, "eval_every": 1, "lr": 0.02}
NOISE = {"dropout": 0.3, "feature_dropout": 0.2, "edge_dropout": 0.2, "schedule": "cosine", "clip": 0.5, "weight_decay": 0.001}


def trainer(seeds=(0,), task="classification", data=None, **settings):
    config = Config.checked(SMALL | {"task": task} | settings)
    run = Run(config, data=data)
    return Trainer(run.task, list(seeds), run.fabric)


def done(made):
    made.run()
    return made


def equal(one, other):
    return all(torch.equal(one[name], other[name]) for name in one) and one.keys() == other.keys()


# --- what is chosen ------------------------------------------------------------------------------------------------------


def test_labels_of_test_nodes_have_no_part_in_training():
    data, other, third = (load("stochastic-block") for _ in range(3))
    for changed, mask in ((other, other.test_mask), (third, third.val_mask)):
        changed.y[mask] = (changed.y[mask] + 1) % 4
    made = [done(trainer(data=each, epochs=15, **NOISE)) for each in (data, other, third)]
    assert equal(made[0].best_parameters, made[1].best_parameters)
    results = [each.results()[0] for each in made]
    assert results[0]["val"] == results[1]["val"]
    assert results[0]["test"] != results[1]["test"]
    assert not equal(made[0].best_parameters, made[2].best_parameters), "validation labels choose the model"


def test_test_edges_have_no_part_in_training():
    made = [trainer(task="links", epochs=15, **NOISE) for _ in range(2)]
    links = made[1].task.links
    made[1].task.links = dataclasses.replace(links, test=links.test_negative, test_negative=links.test)
    for each in made:
        each.run()
    assert equal(made[0].best_parameters, made[1].best_parameters)
    one, other = (each.results()[0]["test"]["roc_auc"] for each in made)
    assert one == pytest.approx(1 - other)
    assert one != other


def test_best_parameters_are_those_of_the_best_validation():
    scores, seen = [], []
    made = trainer(seeds=(2,), epochs=30, dropout=0.8, lr=0.3, ties="first")

    def report(progress):
        seen.append({name: parameter.detach().clone() for name, parameter in made.parameters.items()})
        scores.append(progress.score[0])

    made.run(report)
    best = scores.index(max(scores))
    assert scores[-1] < scores[best], "the last model is as good as the best: they cannot be told apart"
    assert int(made.best_epoch) == best + 1
    assert equal(made.best_parameters, seen[best])
    assert not any(equal(made.best_parameters, other) for k, other in enumerate(seen) if k != best)
    kept, last = made.results()[0], copy.deepcopy(made)
    last.best_parameters = {name: parameter.detach().clone() for name, parameter in made.parameters.items()}
    assert kept["network"]["val"]["f1_micro"] == pytest.approx(max(scores))
    assert last.results()[0]["network"]["val"]["f1_micro"] == pytest.approx(scores[-1])


def test_of_equal_validations_the_most_likely_is_kept_and_a_resumed_training_knows_it():
    made, seen = trainer(epochs=40, dropout=0.5, lr=0.05), []
    made.run(lambda progress: seen.append((progress.score[0], float(made.validation_scores()[1]))))
    best = max(seen)
    assert sum(score == best[0] for score, _ in seen) > 1, "no tie: nothing is tested"
    assert seen.index(best) == int(made.best_epoch) - 1 > [score for score, _ in seen].index(best[0])
    assert float(made.best_score) == best[0]
    resumed = trainer(epochs=40, dropout=0.5, lr=0.05)
    resumed.restore(*made.state())
    assert torch.equal(resumed.best_tie, made.best_tie)


# --- when it stops -------------------------------------------------------------------------------------------------------


def test_patience_stops_each_seed_when_it_would_stop_alone():
    settings = {"epochs": 60, "patience": 4, "precision": "float64", "lr": 0.05, "dropout": 0.5}
    batch = trainer((3, 4, 5), **settings)
    seen = {seed: [] for seed in batch.seeds}

    def report(progress):
        for seed, active, score in zip(batch.seeds, progress.active, progress.score, strict=True):
            if active:
                seen[seed].append(score)

    batch.run(report)
    assert len({len(scores) for scores in seen.values()}) > 1, "all seeds stop together: nothing is tested"
    for index, seed in enumerate(batch.seeds):
        alone = trainer((seed,), **settings)
        scores = []
        alone.run(lambda progress, scores=scores: scores.append(progress.score[0]))
        assert scores == seen[seed]
        assert len(scores) == int(alone.best_epoch) + 4 == int(batch.best_epoch[index]) + 4
        for name, weight in alone.weights(0).items():
            torch.testing.assert_close(batch.weights(index)[name], weight)


def test_the_first_of_several_processes_decides_what_is_best_and_when_to_stop():
    class Second:
        alone, told = False, iter([0.2, 0.9, 0.1, 0.3, 1.0])

        def of_first(self, own):
            return torch.tensor([[next(self.told)], [0.0]], dtype=own.dtype)

    made = trainer(patience=2)
    made.processes = Second()
    seen = []
    made.run(seen.append)
    assert [each.score for each in seen] == [[0.2], [0.9], [0.1], [0.3]]
    assert (int(made.best_epoch), float(made.best_score)) == (2, 0.9)


def test_a_batch_of_seeds_equals_single_runs():
    settings = NOISE | {"precision": "float64", "task": "links"}
    batch = done(trainer((0, 7), **settings))
    for index, seed in enumerate(batch.seeds):
        alone = done(trainer((seed,), **settings))
        for name, weight in alone.weights(0).items():
            torch.testing.assert_close(batch.weights(index)[name], weight)
        assert batch.results()[index]["test"] == pytest.approx(alone.results()[0]["test"])
        assert batch.results()[index]["seed"] == seed


def test_the_wish_to_stop_is_heard_after_each_epoch():
    made = trainer(eval_every=50, epochs=100)
    made.run(until=lambda: made.epoch >= 3)
    assert made.epoch == 3
    assert not made.finished


@pytest.mark.parametrize("task", ["classification", "links", "reconstruction"])
def test_divergence_is_told_in_one_line(task):
    made = trainer(task=task, lr=1e30, curvature_lr=1e30, epochs=20)
    with pytest.raises(Diverged, match=r"^training diverged: (the loss|a prediction) of seed 0 at epoch \d+ is not finite; "):
        made.run()


def test_a_seed_that_has_stopped_may_diverge_in_its_batch():
    made = trainer((0, 1), epochs=4)
    made.run(until=lambda: made.epoch == 1)
    made.stopped[1] = True
    with torch.no_grad():
        for parameter in made.parameters.values():
            parameter[1] = math.nan
    seen = []
    made.run(lambda progress: seen.append(progress.active))
    assert seen == [[True, False]] * 3
    assert all(bool(weight.isfinite().all()) for weight in made.weights(1).values())


# --- one step ------------------------------------------------------------------------------------------------------------


def test_curvatures_have_a_learning_rate_of_their_own():
    made = trainer(lr=0.02, curvature_lr=0.003, task="links")
    before = {name: parameter.detach().clone() for name, parameter in made.parameters.items()}
    made.run(until=lambda: True)  # the first step of Adam is the learning rate long
    moved = {name: float((parameter.detach() - before[name]).abs().max()) for name, parameter in made.parameters.items()}
    first, last = (moved.pop(f"encoder.layers.{layer}.linear.space.free_beta") for layer in (0, 1))
    assert last == pytest.approx(0.003, rel=0.2)  # its gradient is small, and Adam's epsilon is not
    assert first < 0.003  # without a bias yet, the curvature of the first layer has no effect
    assert {name: pytest.approx(0.02, rel=1e-2) for name in moved} == moved


def test_cosine_schedule_ends_near_zero():
    made = trainer(schedule="cosine", epochs=4, lr=0.02)
    rates = []
    made.run(until=lambda: rates.append(made.optimiser.param_groups[0]["lr"]))
    assert rates == pytest.approx([0.02 * (1 + math.cos(math.pi * epoch / 4)) / 2 for epoch in range(4)])


def test_float64_runs_in_float64():
    made = done(trainer(precision="float64", **NOISE))
    assert {parameter.dtype for parameter in made.parameters.values()} == {torch.float64}
    assert made.embedding(0)[0].dtype == torch.float64
    assert done(trainer(**NOISE)).embedding(0)[0].dtype == torch.float32


@pytest.mark.parametrize("settings", [{"model": "gcn", "space": "E8", "dropout": 0.5}, {"dropout": 0.5}])
def test_training_does_not_disturb_the_generator_of_others(settings):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    done(trainer(**settings))
    assert torch.equal(torch.rand(3), expected)


def test_training_does_not_depend_on_the_generator_of_others():
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        made.append(done(trainer(model="gat", space="E8", dropout=0.5, feature_dropout=0.2)))
    assert equal(made[0].best_parameters, made[1].best_parameters)


def test_the_space_of_the_embedding_can_be_used_with_numpy():
    points, space = done(trainer(epochs=1)).embedding(0)
    assert not any(parameter.requires_grad for parameter in space.parameters())
    assert space.logmap0(points).numpy().shape == (240, 7)  # depends on the learned curvature


# --- what is restored ----------------------------------------------------------------------------------------------------

MODELS = [
    NOISE | {"patience": 5},
    NOISE | {"task": "links", "eval_every": 3},
    {"task": "reconstruction", "layers": 1, "clip": 1.0, "schedule": "cosine"},
    {"task": "links", "projection": True, "perturbation": 0.02},
    {"model": "gcn", "space": "E8", "dropout": 0.5, "feature_dropout": 0.2, "edge_dropout": 0.3, "schedule": "cosine"},
    {"model": "gat", "space": "E8", "dropout": 0.5},
    {"model": "mlp", "space": "E8", "dropout": 0.5},
    NOISE | {"batch_size": 50, "fanout": "3"},
    NOISE | {"task": "links", "batch_size": 200, "fanout": "3", "negative_sampling": "in-batch", "layers": 1},
    {"model": "sage", "space": "E8", "dropout": 0.5, "batch_size": 50, "fanout": "3"},
]


@pytest.mark.parametrize("settings", MODELS, ids=lambda settings: f"{settings.get('model', 'qgcn')}-{settings.get('task', '')}")
@pytest.mark.parametrize("seeds", [(2,), (2, 5)])
def test_a_restored_state_goes_on_as_if_nothing_had_been(settings, seeds):
    if len(seeds) > 1 and (
        "model" in settings or settings.get("task") == "reconstruction" or {"perturbation", "batch_size"} & settings.keys()
    ):
        seeds = seeds[1:]
    whole = done(trainer(seeds, **settings))
    first = trainer(seeds, **settings)
    first.run(until=lambda: first.epoch == 4)
    tensors, about = first.state()
    saved = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    fresh, used = trainer(seeds, **settings), done(trainer(seeds, **settings))  # the learning rate of the used one is lower
    for other in (fresh, used):
        other.restore(saved, about)
        assert other.epoch == 4
        other.run()
        assert equal(other.state()[0], whole.state()[0])
        assert other.results() == whole.results()


@pytest.mark.parametrize(
    "settings", MODELS[-3:], ids=lambda settings: f"{settings.get('model', 'qgcn')}-{settings.get('task', '')}"
)
def test_a_state_within_an_epoch_goes_on_as_if_nothing_had_been(settings):
    def heard(made, **more):
        found = []
        made.run(found.append, **more)
        return found

    whole = trainer(**settings)
    expected = heard(whole)
    first = trainer(**settings)
    steps = len(first.task.loader)
    assert steps > 2
    before = heard(first, until=lambda: first.epoch == 2 and first.step == steps - 1)
    tensors, about = first.state()
    assert about["step"] == steps - 1
    saved = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    fresh, used = trainer(**settings), done(trainer(**settings))
    for other in (fresh, used):
        other.restore(saved, about)
        assert (other.epoch, other.step) == (2, steps - 1)
        assert before + heard(other) == expected
        assert equal(other.state()[0], whole.state()[0])
    with pytest.raises(
        ValueError, match=rf"step of the checkpoint must lie in \[0, {steps}\), and before the last epoch, got {steps}"
    ):
        trainer(**settings).restore(saved, about | {"step": steps})


def test_a_state_of_another_model_is_refused():
    made = done(trainer())
    tensors, about = made.state()
    with pytest.raises(ValueError, match=r"has float32 in \(.*\) for .*, expected float32 in \("):
        trainer(space="Q5,3").restore(tensors, about)
    with pytest.raises(ValueError, match=r"has no parameter/"):
        trainer(layers=3).restore(tensors, about)
    with pytest.raises(ValueError, match=r"of seeds \[0\], expected \[1\]"):
        trainer((1,)).restore(tensors, about)
    tensors["parameter/encoder.smoothing"] = torch.zeros(())
    with pytest.raises(ValueError, match=r"has parameter/encoder.smoothing, which this model does not have"):
        trainer().restore(tensors, about)
    del tensors["parameter/encoder.smoothing"]
    del tensors["stopped"]
    with pytest.raises(ValueError, match="has no stopped"):
        trainer().restore(tensors, about)
