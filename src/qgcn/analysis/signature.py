"""The choice of a space for a graph: measurements, then short trial runs, then the simplest of what is as good as the best."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from qgcn.analysis.choice import Candidates, choose, natural_family, seek
from qgcn.analysis.measurements import Measurements, measure
from qgcn.analysis.trials import Trial, Trials
from qgcn.data.hops import Shape
from qgcn.progress import Progress, silent
from qgcn.tasks import Config, Rung, Task, find_task
from qgcn.training.run import Run

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["Suggestion", "Trial", "auto_space", "settings_somewhere", "suggest_signature"]


@dataclass(frozen=True)
class Suggestion:
    """A space for a graph, the ranking it comes from, and why.

    Attributes:
        space: The space to take.
        best: The space with the best score; another one than ``space`` if a simpler space is as good.
        fewest: The space with the fewest dimensions that was found to do as well, or to reach the score that was asked for;
            ``space`` itself if there is none.
        task: What it was tried for.
        metric: Name of the score.
        ranking: All spaces that were tried with as many dimensions as ``space``, the best first.
        others: Those that were tried with other numbers of dimensions, the fewest dimensions first.
        reached: Score of ``space`` when it was trained in full, to see whether it reaches the score that was asked for.
        sentence: The recommendation, in plain words.
        reasons: What it rests on, one sentence each.
        cost: Epochs of all trials together.
        sweep_cost: Epochs of training each space in full.
        seconds: Time of the trials.
        nodes: Nodes of the graph that was tried: fewer than the graph has, if it is large.
    """

    space: str
    best: str
    fewest: str
    task: str
    metric: str
    ranking: tuple[Trial, ...]
    others: tuple[Trial, ...]
    reached: float | None
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
        told = {name: [asdict(trial) for trial in fields[name]] for name in ("ranking", "others")}
        return fields | told | {"reasons": list(self.reasons)}


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


def settings_somewhere(values: dict[str, Any], dim: int) -> dict[str, Any]:
    """Return settings without a space in one that they go with: the usual one, else one that would be compared.

    Args:
        values: Keys and values, without ``space``.
        dim: Number of dimensions of the spaces that are compared.
    """
    names = find_task(values.get("task")).candidates(dim, few=True)
    for found in (values, *(values | {"space": name} for name in names)):
        try:
            Config.checked(found)
        except ValueError:
            continue
        return found
    return values  # the error is told where settings are checked


def suggest_signature(
    graph: Any,
    dim: int = 16,
    *,
    target: float | None = None,
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
    4. Where all are as good as the best, the fewest dimensions that do as well are sought (:attr:`Suggestion.fewest`).

    With a ``target`` the fewest dimensions are sought whose trials reach that score. The space is then trained in full until it
    reaches it; if it does not, one dimension more is tried, as long as there is time.

    Args:
        graph: A PyG ``Data``, an ``edge_index``, a SciPy sparse matrix, a NetworkX graph, a path, or the name of a data set; or
            a problem, whose data, split and settings are those of the trials.
        dim: Number of free dimensions, see :func:`qgcn.manifolds.spaces_of_dimension`; with a ``target``, the most.
        target: Score that is to be reached, as a share: 0.99.
        task: Name of the task, unless ``graph`` is a problem.
        spaces: Names of the spaces to compare (default: :func:`qgcn.manifolds.spaces_of_dimension` in which the model lives;
            for tasks that read light cones, :func:`qgcn.manifolds.spacetimes_of_dimension`).
        rungs: The rounds (default: the task's).
        options: Further keys of :class:`qgcn.training.Config`, for all trials; a problem has its own.
        trial_nodes: Nodes beyond which trials of a task whose cost grows with the square of their number take place on a
            connected part of the graph, found by a search from a random node (default: the task's).
        seconds: Time limit of the trials: none begins that would end later, but for the first; the ranking then rests on those
            that were made (default: 12 for up to 500 nodes, otherwise as long as three trainings in full). ``math.inf`` for
            none, so that the choice depends on nothing but the arguments.
        seed: First seed of the trials, unless ``graph`` is a problem.
        root: Folder of the data sets.
        measured: The measurements, if they have been made already.
        progress: Progress callback, in epochs of the trials.

    Raises:
        ValueError: The graph cannot be used for the task, a space or option is unknown, or the target is no share.
    """
    given = graph if isinstance(graph, Task) else None
    kind = find_task(task if given is None else given.name)
    if target is not None and not 0 < target <= 1:
        raise ValueError(f"target must be above 0 and at most 1, such as 0.99, got {target:g}")
    if target is not None and spaces is not None:
        raise ValueError("target compares numbers of dimensions, so that spaces cannot be given")
    shape = Shape.of(graph if given is None else given.data, root)
    named = {"task": kind.name, "data": str(shape.data.name or "graph"), "seed": seed} | (options or {})
    config: Config = Config.checked(settings_somewhere(named, dim)) if given is None else given.config
    candidates = Candidates(config, spaces)
    names = candidates.every(dim)
    if not names:
        raise ValueError(f"no space of {dim} dimensions goes with {kind.name} and the model {config.model}: name spaces")
    rungs = kind.rungs if rungs is None else rungs
    if not rungs:
        raise ValueError("rungs must hold at least one round, got none")
    measured = measured or measure(shape, dim, seed=config.seed, progress=progress)
    problem = _problem(given, shape, trial_nodes, config)
    trials = Trials(problem, natural_family(measured), seconds=seconds, progress=progress)
    if target is None:
        found = choose(dim, candidates, rungs, trials, measured)
    else:
        found = seek(target, dim, candidates, rungs, trials, measured, verify=problem.num_nodes == shape.num_nodes)
    remarks = [f"Trials were made on a connected part of {problem.num_nodes:,} of {shape.num_nodes:,} nodes."]
    return Suggestion(
        space=found.chosen.space,
        best=found.ranking[0].space,
        fewest=found.fewest.space,
        task=kind.name,
        metric=problem.metric,
        ranking=tuple(found.ranking),
        others=tuple(found.others),
        reached=found.reached,
        sentence=found.sentence,
        reasons=(*found.reasons, *(remarks if problem.num_nodes < shape.num_nodes else [])),
        cost=trials.cost,
        sweep_cost=2 * Config.checked({"task": kind.name, "data": "graph"}).epochs * len(names),
        seconds=trials.seconds,
        nodes=problem.num_nodes,
        measured=measured,
    )


def _problem(given: Task[Any] | None, shape: Shape, trial_nodes: int | None, config: Config) -> Task[Any]:
    """Return the problem of the trials: that of the whole graph, or of a part of it."""
    kind = find_task(config.task)
    most = None if kind.trial_nodes is None else trial_nodes or kind.trial_nodes
    if most is None or shape.num_nodes <= most:
        return Run(config, data=shape.data).task if given is None else given
    return Run(config, data=_part(shape, most, config.seed)).task


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
