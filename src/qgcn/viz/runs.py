"""Read what a run folder tells, as far as it got."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from qgcn.data import as_data
from qgcn.embedding import load_embedding
from qgcn.files import load_tensors
from qgcn.manifolds import Space
from qgcn.progress import Progress, silent
from qgcn.tasks import TASKS
from qgcn.tasks.classification import NodeClassification
from qgcn.tasks.insights import Column, Quality, auc_by_degree, by_class, by_degree
from qgcn.tasks.links import LinkPrediction
from qgcn.training.config import Config
from qgcn.training.run import Run, config_of
from qgcn.viz.report.columns import read_columns
from qgcn.viz.report.subject import Curve, Score, Subject, class_names, embed
from qgcn.viz.words import Facts, sentences

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from qgcn.tasks.base import Predictor

__all__ = ["read_run"]

TITLES = {
    "f1_micro": "F1 (micro)",
    "f1_macro": "F1 (macro)",
    "roc_auc": "ROC AUC",
    "mrr": "MRR",
    "map": "mAP",
}
ERRORS = ("distortion", "worst_distortion")


def read_run(
    folder: str | Path,
    *,
    seed: int | None = None,
    columns: str | Path | None = None,
    umap: bool = True,
    progress: Progress = silent,
) -> Subject:
    """Read the folder of a run, finished or not.

    Args:
        folder: What ``qgcn train`` wrote.
        seed: Seed whose embedding is shown; the first one that has an embedding if not given.
        columns: Table of more columns to colour nodes by, see :func:`qgcn.viz.report.columns.read_columns`.
        umap: Lay out the points with UMAP, too.
        progress: Progress callback.

    Raises:
        OSError: The folder holds no run, or a file of it cannot be read.
        ValueError: A file of it cannot be understood, or it has no such seed.
    """
    folder = Path(folder)
    config = config_of(folder)
    seeds = range(config.seed, config.seed + config.seeds)
    if seed is not None and seed not in seeds:
        raise ValueError(f"{folder} has seeds {seeds[0]} to {seeds[-1]}, got {seed}")
    results = _read_json(folder / "results.json")
    curves = _curves(folder / "metrics.jsonl")
    notices = []
    progress("reading", note=f"{folder}, {config.data}")
    data, why = _graph(config)
    if data is None:
        notices.append(f"The graph is not at hand ({why}): figures, scores and measurements that need it are missing.")
    found = _embedding(folder, config, data, seeds if seed is None else [seed], notices)
    embedded, shown = None, None
    if found is not None:
        points, space, node_ids, shown = found
        if data is not None and not np.array_equal(node_ids.astype(str), _node_ids(data).astype(str)):
            notices.append(f"{config.data} has other nodes now than when the run was made: the graph is left out.")
            data = None
        extra = [] if columns is None else read_columns(Path(columns), node_ids)
        more, quality = _predictions(folder, config, data, shown, notices) if data is not None else ([], [])
        embedded, lost = embed(points, space, data, node_ids, extra=more + extra, quality=quality, umap=umap, progress=progress)
        notices += lost
    else:
        notices.append("There is no embedding yet: the run wrote none before it stopped.")
    facts = Facts(config, data, results, curves, None if found is None else found[1])
    return Subject(
        name=folder.resolve().name,
        settings=config.model_dump(),
        words=sentences(facts),
        notices=notices,
        metric=TASKS[config.task].metric,
        curve_metric="accuracy" if config.task == "classification" else "",
        held_out=config.task != "reconstruction",
        titles=TITLES,
        errors=ERRORS,
        scores=_scores(results),
        seeds=[] if results is None else results.get("seeds", []),
        curves=curves,
        shown=shown,
        embedded=embedded,
        environment=_read_json(folder / "environment.json") or {},
        graph=data,
    )


def _graph(config: Config) -> "tuple[Data | None, str]":
    try:
        return as_data(config.data, split_seed=config.split_seed, features=config.features, labels=config.labels), ""
    except (OSError, ValueError) as error:
        return None, " ".join(str(error).split())


def _node_ids(data: "Data") -> np.ndarray[Any, Any]:
    return np.asarray(getattr(data, "node_ids", np.arange(data.num_nodes or 0)))


class _Found(NamedTuple):
    points: Tensor
    space: Space
    node_ids: np.ndarray[Any, Any]
    seed: int


def _embedding(
    folder: Path, config: Config, data: "Data | None", seeds: "range | list[int]", notices: list[str]
) -> _Found | None:
    """Return the embedding of the first seed that has one: as written at its end, or that of its last checkpoint."""
    for seed in seeds:
        path = folder / "embeddings" / f"seed-{seed}.npz"
        if path.is_file():
            return _Found(*load_embedding(path), seed)
    if data is None:
        return None
    for seed in seeds:
        weights, epoch = _weights(folder, seed)
        if weights is None:
            continue
        predictor, run = _predictor(config, data, weights)
        if epoch is None:
            notices.append(f"The embedding of seed {seed} is missing: it was computed again from its weights.")
        else:
            notices.append(f"Seed {seed} is not finished: its embedding is that of the checkpoint at epoch {epoch}.")
        with torch.no_grad():
            return _Found(predictor.embed(run.task.x, run.task.graph), predictor.space, _node_ids(data), seed)
    return None


def _weights(folder: Path, seed: int) -> tuple[dict[str, Tensor] | None, int | None]:
    """Return the best parameters of a seed, from its own file or from a checkpoint; and the checkpoint's epoch."""
    path = folder / "weights" / f"seed-{seed}.safetensors"
    if path.is_file():
        return load_tensors(path)[0], None
    for path in sorted((folder / "checkpoints").glob("*.safetensors")):
        tensors, about = load_tensors(path)
        members = about.get("seeds", [])
        if seed in members:
            best = {name.removeprefix("best/"): tensor for name, tensor in tensors.items() if name.startswith("best/")}
            index = members.index(seed)
            one = {name: tensor[index] if len(members) > 1 else tensor for name, tensor in best.items()}
            return one, int(about.get("epoch", 0))
    return None, None


def _predictor(config: Config, data: "Data", weights: dict[str, Tensor]) -> "tuple[Predictor, Run]":
    """Build the model of a run with given parameters, on the CPU."""
    run = Run(config.model_copy(update={"device": "cpu"}), data=data)
    with torch.random.fork_rng(devices=[]):
        predictor = run.task.build_predictor()
    for name, parameter in predictor.named_parameters():
        if name not in weights or weights[name].shape != parameter.shape:
            shape = tuple(weights[name].shape) if name in weights else None
            raise ValueError(f"the weights of the run have {shape} for {name}, expected {tuple(parameter.shape)}")
        parameter.data = weights[name]
    return predictor.eval().requires_grad_(False), run


@torch.no_grad()
def _predictions(
    folder: Path, config: Config, data: "Data", seed: int, notices: list[str]
) -> tuple[list[Column], list[Quality]]:
    """Return what a model says of the test nodes or edges: columns, and scores by groups."""
    if config.task == "reconstruction":
        return [], []
    try:
        weights, _ = _weights(folder, seed)
        if weights is None:
            raise ValueError(f"seed {seed} has no weights")
        predictor, run = _predictor(config, data, weights)
        queries = run.task.queries("test") if isinstance(run.task, LinkPrediction) else ()  # classes are asked of all nodes
        answer: Tensor = predictor("predict", run.task.x, run.task.graph, *queries)
    except (OSError, ValueError) as error:
        notices.append(f"Predictions are missing: {' '.join(str(error).split())}.")
        return [], []
    degree = torch.bincount(data.edge_index[0], minlength=int(data.num_nodes or 0))
    if isinstance(run.task, LinkPrediction):
        groups = auc_by_degree(run.task.queries("test")[0], answer, run.task.links.test.shape[1], degree)
        about = "ROC AUC of test edges, by the degree of their end with fewer edges: 0.5 is guessing."
        return [], [Quality("Test edges told apart, by degree", about, groups)]
    if not isinstance(run.task, NodeClassification):
        return [], []
    guess = answer.argmax(-1)
    right = (guess == data.y).double()
    tested = torch.where(data.test_mask, right, torch.nan)
    names = class_names(data)
    part = torch.full_like(data.y, -1)
    for k, mask in enumerate((data.train_mask, data.val_mask, data.test_mask)):
        part[mask] = k
    columns = [
        Column.of_categories("predicted class", guess.numpy(), names),
        Column.of_categories("right or wrong", torch.where(data.y >= 0, 1 - right.long(), -1).numpy(), ["right", "wrong"]),
        Column.of_categories("split", part.numpy(), ["training", "validation", "test"]),
    ]
    about = "Share of the test nodes whose class is predicted right."
    return columns, [
        Quality("Test nodes right, by class", about, by_class(tested, data.y, names)),
        Quality("Test nodes right, by degree", about, by_degree(tested, degree)),
    ]


def _scores(results: dict[str, Any] | None) -> list[Score]:
    if results is None:
        return []
    return [Score(name, _number(each["mean"]), _number(each["std"])) for name, each in results["summary"].items()]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _read_json(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: expected keys and values, got {type(content).__name__}")
    return content


def _curves(path: Path) -> list[Curve]:
    """Read how training went; the line that a killed run was writing is left out."""
    rows: dict[int, Curve] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            entry = json.loads(line)
            seed, epoch, loss, score = int(entry["seed"]), int(entry["epoch"]), entry["loss"], entry["score"]
        except (ValueError, TypeError, KeyError):
            continue
        curve = rows.setdefault(seed, Curve(seed, [], [], []))
        curve.epoch.append(epoch)
        curve.loss.append(float(loss))
        curve.score.append(float(score))
    return list(rows.values())
