"""Every reader of files: which corpus it is fed with, how its inputs are changed, and how it is called."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch

from fuzz import mutations
from fuzz.corpus import CORPUS, EDGES, NAMES
from qgcn.data import NodeNames, read_graph, read_link_split, read_node_split
from qgcn.data.pickles import read_pickle
from qgcn.manifolds import parse_space
from qgcn.reproduction import Store
from qgcn.tasks import Config, read_config
from qgcn.training.folder import RunFolder
from qgcn.training.pairs import read_pairs
from qgcn.training.run import Run, load_run
from qgcn.viz.report.columns import read_columns

PAIRS = [(NAMES[a], NAMES[b]) for a, b in EDGES]
NUMBERED = np.array(EDGES).T
INDEX = torch.from_numpy(NUMBERED)
IDS = np.array(NAMES)


class Reader(NamedTuple):
    """A reader: its corpus, a mutation, and a call with the path of an input."""

    corpus: list[Path]
    mutate: Callable[[bytes, random.Random], bytes]
    read: Callable[[Path], object]
    share: int = 4
    place: str = ""
    """Where the input lies, below the folder of the run."""


def _graph(path: Path) -> object:
    return read_graph(path)


def _edges(path: Path) -> object:
    wanted = {".tsv": {"source": "from", "target": 2}, ".csv": {}}.get(path.suffix, {})
    return read_graph(path, **wanted)


READERS: dict[str, Reader] = {}


def _add(name: str, mutate: Callable[[bytes, random.Random], bytes], read: Callable[[Path], object], share: int = 4) -> None:
    READERS[name] = Reader(sorted((CORPUS / name).iterdir()), mutate, read, share)


_add("edges", mutations.text, _edges, 10)
_add("edges-gz", mutations.zipped, _graph)
_add("features", mutations.text, lambda path: read_graph(PAIRS, features=path), 8)
_add("labels", mutations.text, lambda path: read_graph(PAIRS, labels=path), 6)
_add("arrays", mutations.arrays, _graph, 8)
_add("sparse", mutations.arrays, _graph, 6)
_add("array-features", mutations.arrays, lambda path: read_graph(NUMBERED, features=path), 6)
_add("array-labels", mutations.arrays, lambda path: read_graph(NUMBERED, labels=path), 6)
_add("parquet-edges", mutations.parquet, _graph, 6)
_add("parquet-features", mutations.parquet, lambda path: read_graph(PAIRS, features=path), 4)
_add("graphml", mutations.xml, _graph, 6)
_add("node-split", mutations.text, lambda path: read_node_split(path, IDS, torch.tensor([0, 1, 0, 1, 0, 1])))
_add("link-split", mutations.text, lambda path: read_link_split(path, INDEX, IDS, protocol="strict"))
_add("pairs", mutations.text, lambda path: read_pairs(path, NodeNames(IDS)))
_add("columns", mutations.text, lambda path: read_columns(path, IDS))
_add("settings", mutations.yaml, lambda path: Config.checked(read_config(path), str(path)), 8)
_add("spaces", mutations.space, lambda path: parse_space(path.read_text(encoding="utf-8")), 4)
_add("results", mutations.text, lambda path: Store(path.parent, (path.stem,)), 4)
_add("pickles", mutations.raw, lambda path: read_pickle(path.read_bytes(), path.name), 4)


def train_run(folder: Path) -> dict[str, Reader]:
    """Train a small run, and return the readers of its files."""
    settings = {
        "task": "classification",
        "data": "ring",
        "space": "Q2,1",
        "epochs": 2,
        "seeds": 1,
        "val": 0.3,
        "test": 0.3,
        "yardsticks": False,
        "one_hot": True,
    }
    with tempfile.TemporaryDirectory() as place:
        graph, labels = Path(place) / "ring.csv", Path(place) / "labels.csv"
        graph.write_text("".join(f"{k},{(k + 1) % 12}\n" for k in range(12)))
        labels.write_text("".join(f"{k},{k % 2}\n" for k in range(12)))
        run = Run.start(Config.checked(settings | {"data": str(graph), "labels": str(labels)}), folder)
        run.train()
    changes = {
        "config.yaml": mutations.yaml,
        "graph.npz": mutations.arrays,
        "split.safetensors": mutations.tensors,
        "environment.json": mutations.tree_text,
        "metrics.jsonl": mutations.log,
        "results.json": mutations.tree_text,
        "embeddings/seed-0.npz": mutations.arrays,
        "weights/seed-0.safetensors": mutations.tensors,
    }
    return {f"run/{name}": Reader([folder / name], mutate, open_run, 3, name) for name, mutate in changes.items()}


def open_run(folder: Path) -> None:
    """Read everything of a run, ask it, and describe it as a report does.

    Whoever crafts a folder lets its files fit each other: that they do not is not what refuses one here.
    """
    from qgcn.training.metrics_log import read_curves
    from qgcn.viz.report.runs import read_run

    RunFolder(folder).environment()
    read_curves(folder / "metrics.jsonl")
    with mock.patch("qgcn.training.run.check_origin"), mock.patch.object(RunFolder, "curves", return_value=[]):
        run = load_run(folder, device="cpu")
        run.embedding()
        run.predictions()
        run.table()
        run.neighbors(run.node_ids[0], 2)
        read_run(folder, umap=False)
