"""Measuring: what a worker does for some seeds of a cell."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from qgcn.locks import FileLock, Locked
from qgcn.reproduction.cells import Cell, digest
from qgcn.reproduction.paper import TIMED, Method
from qgcn.reproduction.settings import network_of_reconstruction, plain_network
from qgcn.reproduction.store import Line
from qgcn.sweeping.evaluation import Evaluator
from qgcn.tasks import Config, Task, find_task
from qgcn.training.loop import Diverged, Trainer
from qgcn.training.machine import determinism, environment_of, fabric_of, freed_memory_kept
from qgcn.training.problem import build_problem
from qgcn.training.run import Run
from qgcn.training.threads import few_threads

__all__ = ["measure"]

KEPT = 3
"""Problems that a worker keeps."""
_PROBLEMS: dict[str, Task[Any]] = {}
_EVALUATORS: dict[tuple[str, str], Evaluator] = {}
"""Evaluator of the last graph and settings that a worker has tried: it keeps their problems."""
PAUSE = 0.5
"""Seconds between two looks at a run that another process is training."""


def measure(cell: Cell, seeds: Sequence[int], device: str, scratch: Path) -> list[Line]:
    """Measure some seeds of a cell.

    Args:
        cell: The cell.
        seeds: The seeds, one after the other; they are trained as one batch where they can be.
        device: Device to train on.
        scratch: Folder of runs that others start from.

    Returns:
        What was measured of each seed, with ``seconds``, its share of them, ``machine`` and ``version``; ``error`` if training
        diverged.

    Raises:
        OSError: Data cannot be read.
        ValueError: Settings and data do not fit.
    """
    from qgcn import __version__

    began = time.perf_counter()
    if cell.kind == "train":
        found = _train(cell, seeds, device, scratch)
    else:
        alone = {"trial": _try, "timing": _time, "graph": _look_at}[cell.kind]
        found = [alone(cell, seed, device, scratch) for seed in seeds]
    seconds = round((time.perf_counter() - began) / len(seeds), 2)
    return [line | {"seconds": seconds, "machine": _machine(device), "version": __version__} for line in found]


def _machine(device: str) -> dict[str, Any]:
    config = Config.checked({"task": "reconstruction", "data": "tree", "device": device})
    about = environment_of(fabric_of(config))
    return {name: about[name] for name in ("device", "threads", "python")} | {"torch": about["packages"]["torch"]}


def _train(cell: Cell, seeds: Sequence[int], device: str, scratch: Path) -> list[Line]:
    """Train models, each of the epoch that validation chooses, and score them on test.

    Whether their points are finite does not matter. A batch in which a seed diverges is trained again seed by seed.
    """
    first, rest = seeds[:1], seeds[1:]
    if rest and not cell.batchable:
        return [*_train(cell, first, device, scratch), *_train(cell, rest, device, scratch)]
    try:
        config = cell.config(seeds[0], device, _started(cell, seeds[0], device, scratch), len(seeds))
        run = Run(config, task=_problem(config))
        return [_line_of(run.task, found) for group in run.groups() for found in _trained(run, group)]
    except Diverged as error:
        if not rest:
            return [{"error": str(error)}]
        return [line for seed in seeds for line in _train(cell, [seed], device, scratch)]


def _trained(run: Run, seeds: list[int]) -> list[dict[str, Any]]:
    """Train a group of seeds and return their results."""
    trainer = Trainer(run.task, seeds, run.fabric)
    with determinism(run.config), freed_memory_kept(), few_threads(len(seeds) * run.task.num_nodes):
        trainer.run()
        return trainer.results()


def _line_of(task: Task[Any], found: dict[str, Any]) -> Line:
    chosen = {"val": _rounded({task.metric: found["val"][task.metric]})} if "val" in found else {}
    return chosen | {"metric": task.metric, "test": _rounded(found["test"]), "epoch": found["best_epoch"]}


def _try(cell: Cell, seed: int, device: str, scratch: Path) -> Line:
    """Train a model on the problem without the answers of the test, and score it on validation."""
    try:
        config = cell.config(seed, device, _started(cell, seed, device, scratch))
    except Diverged as error:
        return {"error": str(error)}
    outcome = _evaluator(cell).evaluate(config, lambda _step, _score: False)
    if outcome.state == "failed":
        raise RuntimeError(f"{cell.method} on {cell.data}: {outcome.message}")
    if outcome.state == "diverged":
        return {"error": outcome.message}
    metric = find_task(config.task).metric_of(config)
    return {"val": _rounded({metric: outcome.scores[0]}), "metric": metric, "epoch": outcome.epochs}


def _evaluator(cell: Cell) -> Evaluator:
    """Return the evaluator of trials on the same graph; a new one where each trial starts from a run of its own."""
    key = (cell.data, cell.task)
    if cell.start or key not in _EVALUATORS:
        _EVALUATORS.clear()
        _EVALUATORS[key] = Evaluator()
    return _EVALUATORS[key]


def _problem(config: Config) -> Task[Any]:
    """Return the problem of some settings; the last ones are kept, as the next cell may be of the same graph."""
    key = repr({name: getattr(config, name) for name in ("device", *config.of_problem())})
    if key not in _PROBLEMS:
        while len(_PROBLEMS) >= KEPT:
            del _PROBLEMS[next(iter(_PROBLEMS))]
        _PROBLEMS[key] = build_problem(config, None, None)
    return _PROBLEMS[key].reconfigured(config)


def _started(cell: Cell, seed: int, device: str, scratch: Path) -> str | None:
    """Return the folder of the run that a cell starts from, trained now unless it is there; ``None`` if it starts from none."""
    from qgcn import __version__

    if not cell.start:
        return None
    config = cell.start_config(seed, device)
    folder = scratch / digest(config.model_dump(exclude={"device"}) | {"version": __version__})
    scratch.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            with FileLock(scratch / f".{folder.name}.lock").held():
                if not (folder / "results.json").is_file():
                    shutil.rmtree(folder, ignore_errors=True)
                    Run.start(config, folder).train()
                return str(folder)
        except Locked:
            time.sleep(PAUSE)


def _rounded(scores: dict[str, float]) -> dict[str, Any]:
    """Return scores with six digits, and without those that JSON cannot hold."""
    return {name: round(value, 6) for name, value in scores.items() if abs(value) < float("inf")}


# --- seconds of an epoch -----------------------------------------------------------------------------------------------


def _time(cell: Cell, seed: int, device: str, _scratch: Path) -> Line:
    """Time epochs of all methods in turn, several rounds, so that whatever slows the machine slows all of them."""
    rounds, epochs = cell.values["rounds"], cell.values["epochs"]
    named = [method for method in TIMED if method.name in cell.values["methods"]]
    trainers = {method.name: _trainer(method, cell, seed, device) for method in named}
    for trainer in trainers.values():
        _advance(trainer, trainer.warm_epochs + 2)
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    for _ in range(rounds):
        for name, trainer in trainers.items():
            began = time.perf_counter()
            _advance(trainer, epochs)
            seconds[name].append((time.perf_counter() - began) / epochs)
    return {"epoch_seconds": {name: [float(f"{each:.4g}") for each in values] for name, values in seconds.items()}}


def _trainer(method: Method, cell: Cell, seed: int, device: str) -> Trainer:
    """Return a network that is never validated; without noise, as only such steps are recorded on a GPU."""
    make = plain_network if cell.values["network"] == "plain network" else network_of_reconstruction
    values = make(method, cell.data, "paper") | {"epochs": 1_000_000, "eval_every": 1_000_000}
    values |= {"perturbation": 0.0, "seed": seed, "device": device}
    config = Config.checked(values)
    return Trainer(build_problem(config, None, None), [seed], fabric_of(config))


def _advance(trainer: Trainer, epochs: int) -> None:
    """Train for so many epochs, and wait until the device is done."""
    until = trainer.epoch + epochs
    trainer.run(until=lambda: trainer.epoch >= until)
    if trainer.fabric.device.type == "cuda":
        torch.cuda.synchronize()


# --- graphs ------------------------------------------------------------------------------------------------------------


def _look_at(cell: Cell, seed: int, _device: str, _scratch: Path) -> Line:
    """Measure a graph: sizes, delta of quadruples, sectional curvature."""
    from qgcn.analysis import gromov_hyperbolicity, sectional_curvature
    from qgcn.data import as_data
    from qgcn.data.hops import Shape

    data = as_data(cell.data)
    shape = Shape.of(data)
    samples, seconds = cell.values["samples"], cell.values["seconds"]
    delta = gromov_hyperbolicity(shape, samples=samples, exact=True, seconds=seconds, seed=seed)
    bend = sectional_curvature(shape, seed=seed)
    x, y = data.get("x"), data.get("y")
    sizes = {"nodes": shape.num_nodes, "edges": shape.num_edges, "features": 0 if x is None else int(x.shape[1])}
    sizes |= {"classes": 0 if y is None else int(y.max()) + 1, "diameter": delta.diameter}
    curvature = {"mean": bend.mean, "interval": list(bend.interval), "node_mean": bend.node_mean}
    curvature |= {"positive": bend.positive, "negative": bend.negative}
    counts = {"histogram": [round(float(each), 6) for each in bend.histogram], "bins": [float(each) for each in bend.bins]}
    tree = {"mean": delta.mean, "largest": delta.largest, "shares": {str(at): share for at, share in delta.shares.items()}}
    tree |= {"worst": delta.worst, "worst_at_most": delta.worst_at_most}
    return {"sizes": sizes, "curvature": curvature | counts, "delta": tree}
