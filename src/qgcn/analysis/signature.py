"""The choice of a space for a graph: measurements, then short trial runs, then the simplest of what is as good as the best."""

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from qgcn.analysis.explanation import explain
from qgcn.analysis.measurements import Measurements, measure
from qgcn.data.hops import Shape
from qgcn.manifolds import Family, candidate_spaces, parse_space
from qgcn.models import lives_in
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Rung, Task, find_task
from qgcn.training.loop import Diverged, Trainer
from qgcn.training.run import Run

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Suggestion", "Trial", "auto_space", "suggest_signature"]

TOLERANCE, NAMED = 0.005, 0.01
"""A simpler space whose score is so close to the best one's is as good; the second figure is for the kind that the measurements
name beyond doubt, which is evidence, too."""
SOLVED = 0.9995
"""A score that leaves nothing to be told apart: if a space reaches it, no further round is made."""
TREE, CYCLIC, BRANCHING = 0.02, 0.05, -0.1
"""Mean relative delta up to which a graph is a tree, and from which it is far from one; mean curvature of what branches."""

_FIXED = ("epochs", "seeds", "eval_every", "patience")
"""Settings that trials decide themselves."""


@dataclass(frozen=True)
class Trial:
    """Result of a space in the trials.

    Attributes:
        space: Its name.
        score: Mean score over seeds in the last round that it took part in: mAP, or the task's score on validation.
        deviation: Its uncertainty, the standard deviation over seeds; of one seed, that of the spaces that had several.
        rounds: Number of rounds that it took part in.
        epochs: Epochs of the last of them.
        seeds: Seeds of the last of them.
        first: Score of the first round, which all spaces took part in.
    """

    space: str
    score: float
    deviation: float
    rounds: int
    epochs: int
    seeds: int
    first: float


@dataclass(frozen=True)
class Suggestion:
    """A space for a graph, the ranking it comes from, and why.

    Attributes:
        space: The space to take.
        best: The space with the best score; another one than ``space`` if a simpler space is as good.
        task: What it was tried for.
        metric: Name of the score.
        ranking: All spaces that were tried, the best first.
        sentence: The recommendation, in plain words.
        reasons: What it rests on, one sentence each.
        cost: Epochs of all trials together.
        sweep_cost: Epochs of training each space in full.
        seconds: Time of the trials.
        nodes: Nodes of the graph that was tried: fewer than the graph has, if it is large.
    """

    space: str
    best: str
    task: str
    metric: str
    ranking: tuple[Trial, ...]
    sentence: str
    reasons: tuple[str, ...]
    cost: int
    sweep_cost: int
    seconds: float
    nodes: int
    measured: Measurements = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the measurements, as JSON can hold it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "measured"}
        return fields | {"ranking": [asdict(trial) for trial in self.ranking], "reasons": list(self.reasons)}


def auto_space(name: str) -> int | None:
    """Return the dimension of ``auto`` (16) or ``auto:16``; ``None`` for another name.

    Raises:
        ValueError: What follows ``auto:`` is no dimension.
    """
    head, colon, tail = name.strip().lower().partition(":")
    if head != "auto":
        return None
    if not colon:
        return 16
    if not tail.isdecimal() or not 2 <= int(tail) <= 1024:
        raise ValueError(f"space must be auto:DIM with a dimension from 2 to 1024, got {name!r}")
    return int(tail)


def suggest_signature(
    graph: Any,
    dim: int = 16,
    *,
    task: str = "reconstruction",
    spaces: Sequence[str] | None = None,
    rungs: Sequence[Rung] | None = None,
    options: dict[str, Any] | None = None,
    trial_nodes: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    root: str | Path | None = None,
    measured: Measurements | None = None,
    progress: Progress = silent,
) -> Suggestion:
    """Choose a space for a graph.

    1. Hyperbolicity, curvature and spectrum are measured; they say which Riemannian space would be the natural one.
    2. Every space is trained for a few epochs, the best third for more, the best sixth for more still and with two seeds
       (successive halving); scores are mAP, or the task's own on validation, never on test. The best space of the kind that the
       measurements name stays in the race.
    3. The space with the best score is taken, unless a simpler one is as good: within half a point of the best (a point, if it
       is natural beyond doubt) or the uncertainty of their difference.
       A Riemannian space is simpler than a product, and a product simpler than a pseudo-hyperboloid; among Riemannian spaces
       the one that the measurements name comes first.

    Args:
        graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, or the name of a data set; or
            a problem, whose data, split and settings are those of the trials.
        dim: Number of dimensions, see :func:`qgcn.manifolds.candidate_spaces`.
        task: Name of the task, unless ``graph`` is a problem.
        spaces: Names of the spaces to compare (default: :func:`qgcn.manifolds.candidate_spaces` in which the model lives).
        rungs: The rounds (default: the task's).
        options: Further keys of :class:`qgcn.training.Config`, for all trials; a problem has its own.
        trial_nodes: Nodes beyond which trials of a task whose cost grows with the square of their number take place on a
            connected part of the graph, found by a search from a random node (default: the task's).
        seconds: Time after which no new trial begins; the ranking then rests on those that were made.
        seed: First seed of the trials, unless ``graph`` is a problem.
        root: Folder of the data sets.
        measured: The measurements, if they have been made already.
        progress: Progress callback, in epochs of the trials.

    Raises:
        ValueError: The graph cannot be used for the task, or a space or option is unknown.
    """
    given = graph if isinstance(graph, Task) else None
    kind = find_task(task if given is None else given.name)
    shape = Shape.of(graph if given is None else given.data, root)
    base = _base(given, options or {}, shape, kind.name, seed)
    names = _names(dim, spaces, base)
    rungs = kind.rungs if rungs is None else rungs
    if not rungs:
        raise ValueError("rungs must hold at least one round, got none")
    measured = measured or measure(shape, dim, seed=base["seed"], progress=progress)
    began = time.monotonic()
    problem = _problem(given, shape, trial_nodes, base | {"space": names[0]})
    trials, cost = _halve(names, rungs, base, problem, _natural(measured), began, seconds, progress)
    ranking = sorted(trials.values(), key=lambda trial: (-trial.rounds, -trial.score))
    best, chosen = ranking[0], _simplest(ranking, measured)
    sentence, reasons = explain(chosen, best, measured, problem.metric)
    return Suggestion(
        space=chosen.space,
        best=best.space,
        task=kind.name,
        metric=problem.metric,
        ranking=tuple(ranking),
        sentence=sentence,
        reasons=(*reasons, *_remarks(ranking, chosen, problem.num_nodes, shape.num_nodes)),
        cost=cost,
        sweep_cost=2 * _full_epochs(kind) * len(names),
        seconds=time.monotonic() - began,
        nodes=problem.num_nodes,
        measured=measured,
    )


def _base(problem: Task[Any] | None, options: dict[str, Any], shape: Shape, task: str, seed: int) -> dict[str, Any]:
    """Return the settings that all trials share."""
    if problem is None:
        return {"task": task, "data": str(shape.data.name or "graph"), "seed": seed} | options
    config = problem.config
    own = {"task": task, "data": config.data, "model": config.model, "seed": config.seed}
    return own | {name: value for name, value in config.changed().items() if name not in _FIXED}


def _names(dim: int, spaces: Sequence[str] | None, base: dict[str, Any]) -> list[str]:
    """Return the names of the spaces to be compared."""
    if spaces is not None and not spaces:
        raise ValueError("spaces must name at least one space, got none")
    model = Config.checked({name: value for name, value in base.items() if name != "space"}).model
    found = [name for name in candidate_spaces(dim) if lives_in(model, name)] if spaces is None else spaces
    return [str(parse_space(name)) for name in found]


def _problem(given: Task[Any] | None, shape: Shape, trial_nodes: int | None, values: dict[str, Any]) -> Task[Any]:
    """Return the problem of the trials: that of the whole graph, or of a part of it."""
    kind = find_task(values["task"])
    most = None if kind.trial_nodes is None else trial_nodes or kind.trial_nodes
    config = Config.checked(values | {"epochs": 1})
    if most is None or shape.num_nodes <= most:
        return Run(config, data=shape.data).task if given is None else given.reconfigured(config)
    return Run(config, data=_part(shape, most, config.seed)).task


def _remarks(ranking: list[Trial], chosen: Trial, nodes: int, all_nodes: int) -> list[str]:
    """Return what limits the choice."""
    found = []
    if len(ranking) > 2 and all(trial.score >= chosen.score - TOLERANCE for trial in ranking):
        found.append(f"All {len(ranking)} spaces tried hold this graph: trials do not tell them apart; fewer dimensions would.")
    if nodes < all_nodes:
        found.append(f"Trials were made on a connected part of {nodes:,} of {all_nodes:,} nodes.")
    return found


def _full_epochs(task: type[Task[Any]]) -> int:
    """Return the epochs of a training in full: the default of the task."""
    return int(task.config_type.defaults.get("epochs", Config.model_fields["epochs"].default))


def _part(shape: Shape, most: int, seed: int) -> "Data":
    """Return the graph, or the nodes that a search from a random node of its largest component meets first."""
    from torch_geometric.utils import subgraph

    data = shape.data
    if shape.num_nodes <= most:
        return data
    from scipy.sparse.csgraph import breadth_first_order

    component = shape.components[0]
    start = int(np.random.default_rng(seed).integers(component.size))
    found = breadth_first_order(component.matrix(), start, directed=False, return_predecessors=False)[:most]
    nodes = torch.from_numpy(np.sort(component.nodes[found]))
    edges, _ = subgraph(nodes, data.edge_index, relabel_nodes=True, num_nodes=shape.num_nodes)
    part = type(data)(edge_index=edges, num_nodes=len(nodes))
    part.name = data.name
    return part


def _halve(
    names: list[str],
    rungs: Sequence[Rung],
    base: dict[str, Any],
    problem: Task[Any],
    natural: Family,
    began: float,
    seconds: float | None,
    progress: Progress,
) -> tuple[dict[str, Trial], int]:
    """Train all spaces, then the better ones for longer; return how each did, and the cost in epochs."""
    total = sum(rung.places(len(names)) * rung.epochs * rung.seeds for rung in rungs)
    trials: dict[str, Trial] = {}
    cost = 0
    alive = names
    for number, rung in enumerate(rungs, 1):
        alive = _kept(alive, trials, rung.places(len(names)), natural) if trials else names[: rung.places(len(names))]
        fresh: dict[str, Trial] = {}
        for name in alive:
            if trials and _is_late(began, seconds):
                break
            progress("trials", cost, total, name)
            fresh[name] = _trial(name, number, rung, base, problem, trials.get(name))
            cost += rung.epochs * rung.seeds
        if number > 1 and len(fresh) < len(alive):
            break  # time is over: a round that not all took part in does not count
        trials |= fresh
        if max(trial.score for trial in fresh.values()) >= SOLVED:
            break
    progress("trials", total, total)
    return _filled(trials), cost


def _is_late(began: float, seconds: float | None) -> bool:
    return seconds is not None and time.monotonic() - began > seconds


def _trial(name: str, number: int, rung: Rung, base: dict[str, Any], problem: Task[Any], before: Trial | None) -> Trial:
    """Train a space in a round; the score of its first trial is kept."""
    scores = _train(name, rung, base, problem)
    first = scores[0] if before is None else before.first
    deviation = statistics.stdev(scores) if len(scores) > 1 else math.nan
    return Trial(name, statistics.fmean(scores), deviation, number, rung.epochs, rung.seeds, first)


def _filled(trials: dict[str, Trial]) -> dict[str, Trial]:
    """Give trials of one seed the usual deviation of those that had several."""
    known = [trial.deviation for trial in trials.values() if not math.isnan(trial.deviation)]
    usual = statistics.fmean(known) if known else 0.0
    return {name: replace(t, deviation=usual) if math.isnan(t.deviation) else t for name, t in trials.items()}


def _kept(alive: list[str], trials: dict[str, Trial], places: int, natural: Family) -> list[str]:
    """Return the best spaces; the best of the kind that the measurements name is among them."""
    order = sorted(alive, key=lambda name: -trials[name].score)
    kept, named = order[:places], [name for name in order if parse_space(name).family == natural]
    if named and places > 1 and named[0] not in kept:
        kept[-1] = named[0]
    return kept


def _train(name: str, rung: Rung, base: dict[str, Any], problem: Task[Any]) -> list[float]:
    """Return the best validation score of each seed; 0 if training diverged."""
    config = Config.checked(base | {"space": name, "epochs": rung.epochs, "seeds": rung.seeds, "eval_every": _rhythm(rung)})
    run = Run(config, task=problem.reconfigured(config))
    scores = []
    for seeds in run.groups():
        trainer = Trainer(run.task, seeds, run.fabric)
        try:
            trainer.run()
            scores += trainer.best_score.tolist()
        except Diverged:
            scores += [0.0] * len(seeds)
    return scores


def _rhythm(rung: Rung) -> int:
    return max(1, rung.epochs // 4)


# --- the choice, and why ---------------------------------------------------------------------------------------------


def _natural(measured: Measurements) -> Family:
    """Return the nearer Riemannian geometry: spherical if a graph is not tree-like and does not branch, else hyperbolic."""
    branches = measured.curvature is not None and measured.curvature.mean <= BRANCHING
    return "spherical" if measured.hyperbolicity.mean_relative >= CYCLIC and not branches else "hyperbolic"


def _is_plain(measured: Measurements) -> bool:
    """Tell whether that is beyond doubt: nothing but a tree, or no tree at all."""
    return measured.hyperbolicity.mean_relative <= TREE or _natural(measured) == "spherical"


def _simplest(ranking: list[Trial], measured: Measurements) -> Trial:
    """Return the simplest space that is as good as the best of those that went furthest."""
    best, natural = ranking[0], _natural(measured)

    def is_good(trial: Trial) -> bool:
        named = _is_plain(measured) and parse_space(trial.space).family == natural
        slack = max(NAMED if named else TOLERANCE, math.hypot(best.deviation, trial.deviation))
        return trial.rounds == best.rounds and trial.score >= best.score - slack

    order: dict[Family, int] = {natural: 0, "product": 2, "indefinite": 3, "other": 3}
    good = [trial for trial in ranking if trial is best or is_good(trial)]
    return min(good, key=lambda trial: (order.get(parse_space(trial.space).family, 1), -trial.score))
