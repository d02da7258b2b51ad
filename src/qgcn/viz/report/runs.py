"""A run as the subject of a report, finished or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qgcn.answer import Answer
from qgcn.embedding import Embedding, node_ids_of
from qgcn.progress import Progress, silent
from qgcn.tasks.insights import Column, Listing, Quality
from qgcn.training.pairs import asked_nodes
from qgcn.training.run import Run, load_run
from qgcn.viz.report.columns import read_columns
from qgcn.viz.report.listings import listings_of
from qgcn.viz.report.subject import Score, Subject, embed
from qgcn.viz.report.words import sentences

if TYPE_CHECKING:
    from qgcn.training.folder import RunFolder

__all__ = ["read_run"]


def read_run(
    folder: str | Path,
    *,
    seed: int | None = None,
    columns: str | Path | None = None,
    umap: bool = True,
    explain: Sequence[str] = (),
    progress: Progress = silent,
) -> Subject:
    """Read the folder of a run, finished or not.

    Args:
        folder: Folder written by ``qgcn train``.
        seed: Seed whose embedding is shown; the first one that has an embedding if not given.
        columns: Table of more columns to colour nodes by, see :func:`qgcn.viz.report.columns.read_columns`.
        umap: Also lay out the points with UMAP; a notice says so if umap-learn is not installed.
        explain: Names of nodes for which the edges that matter most are shown, by the model of the seed that is shown; a
            notice says so if that model cannot be explained.
        progress: Progress callback.

    Raises:
        OSError: The folder holds no run, or a file of it cannot be read.
        ValueError: A file of it cannot be understood, or it has no such seed or node.
    """
    progress("reading", note=str(folder))
    run = load_run(folder, device="cpu")
    files: RunFolder = run.folder  # type: ignore[assignment]
    if seed is not None and seed not in run.seeds:
        raise ValueError(f"{folder} has seeds {run.seeds[0]} to {run.seeds[-1]}, got {seed}")
    places = asked_nodes(list(explain), run.names).tolist() if explain else []
    asked = run.node_ids[places].tolist() if places else []
    results, curves, notices = files.results(), files.curves(), list[str]()
    found, shown = _embedding(run, run.seeds if seed is None else [seed], notices)
    embedded, listings, explained = None, list[Listing](), dict[str, Answer]()
    if found is not None and shown is not None:
        extra = [] if columns is None else read_columns(Path(columns), found.node_ids)
        more, quality = _insights(run, shown, notices)
        embedded, lost = embed(
            found.points,
            found.space,
            run.data,
            found.node_ids,
            extra=more + extra,
            quality=quality,
            umap=umap,
            directed=run.task.directed,
            around=places[0] if places else None,
            progress=progress,
        )
        notices += lost
        listings = _listings(run, shown, notices, progress)
        explained = _explained(run, asked, shown, notices, progress)
    task = run.task
    return Subject(
        name=files.path.resolve().name,
        settings=run.config.model_dump(),
        words=sentences(run, results, curves, None if found is None else found.space),
        notices=notices,
        metric=task.metric,
        curve_metric=task.curve_title,
        held_out=task.held_out,
        titles=task.titles,
        errors=tuple(sorted(task.plain_scores)),
        scores=_scores(results),
        yardsticks=_yardsticks(run),
        seeds=[] if results is None else results["seeds"],
        curves=curves,
        shown=shown,
        embedded=embedded,
        listings=listings,
        explained=explained,
        environment=files.environment(),
        graph=run.data,
    )


def _embedding(run: Run, seeds: list[int], notices: list[str]) -> tuple[Embedding | None, int | None]:
    """Return the embedding of the first seed that has one: as written at its end, or that of its last checkpoint."""
    for seed in seeds:
        if run.folder is not None and (found := run.folder.embedding(seed)) is not None:
            own = node_ids_of(run.data)
            if not np.array_equal(found.node_ids.astype(str), own.astype(str)):
                raise ValueError(f"the embedding of seed {seed} in {run.folder} is of other nodes than the run's graph has")
            return found, seed
    for seed in seeds:
        weights, epoch = run.weights(seed)
        if weights is None:
            continue
        if epoch is None:
            notices.append(f"The embedding of seed {seed} is missing: it was computed again from its weights.")
        else:
            notices.append(f"Seed {seed} is not finished: its embedding is that of the checkpoint at epoch {epoch}.")
        return run.embedding(seed), seed
    notices.append("There is no embedding yet: the run wrote none before it stopped.")
    return None, None


def _insights(run: Run, seed: int, notices: list[str]) -> tuple[list[Column], list[Quality]]:
    """Return the insights of the task into its nodes, from the model of a seed."""
    import torch

    try:
        with torch.no_grad():
            return run.task.insights(run.predictor(seed))
    except (OSError, ValueError) as error:
        notices.append(f"Predictions are missing: {' '.join(str(error).split())}.")
        return [], []


def _listings(run: Run, seed: int, notices: list[str], progress: Progress) -> list[Listing]:
    """Return what the models find worth looking at, if the run is finished."""
    try:
        return listings_of(run, seed, notices=notices, progress=progress)
    except (OSError, ValueError) as error:
        notices.append(f"Nothing is listed to look through: {' '.join(str(error).split())}.")
        return []


def _explained(run: Run, nodes: list[Any], seed: int, notices: list[str], progress: Progress) -> dict[str, Answer]:
    """Return the edges that matter most for some nodes, if the model of a seed can be explained."""
    try:
        return {str(node): run.explain(node, seed=seed, progress=progress) for node in nodes}
    except (OSError, ValueError) as error:
        notices.append(f"Edges that matter most are missing: {' '.join(str(error).split())}.")
        return {}


def _yardsticks(run: Run) -> dict[str, dict[str, float]]:
    """Return the scores to compare the model with: of its network alone, if it is more than that, and of cheap methods."""
    alone = {name: mean for name, (mean, _) in run.network_summary.items()}
    return ({"network alone": alone} if alone else {}) | run.yardsticks


def _scores(results: dict[str, Any] | None) -> list[Score]:
    return [] if results is None else [Score(name, each["mean"], each["std"]) for name, each in results["summary"].items()]
