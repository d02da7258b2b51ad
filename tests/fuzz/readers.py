"""Every reader of files: which corpus it is fed with, how its inputs are changed, and how it is called."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fuzz import mutations
from fuzz.corpus import CORPUS, EDGES, NAMES
from qgcn.data import NodeNames, load_graph, read_graph, read_link_split, read_node_split
from qgcn.data.pickles import read_pickle
from qgcn.manifolds import parse_space
from qgcn.tasks import Config, read_config
from qgcn.training.folder import RunFolder
from qgcn.training.pairs import read_pairs
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
_add("pickles", mutations.raw, lambda path: read_pickle(path.read_bytes(), path.name), 4)


def train_run(folder: Path) -> dict[str, Reader]:
    """Train a small run, and return the readers of its files."""
    from qgcn.training.run import Run

    settings = {
        "task": "classification",
        "data": "ring",
        "space": "Q2,1",
        "epochs": 2,
        "seeds": 1,
        "yardsticks": False,
        "one_hot": True,
    }
    with tempfile.TemporaryDirectory() as place:
        graph, labels = Path(place) / "ring.csv", Path(place) / "labels.csv"
        graph.write_text("".join(f"{k},{(k + 1) % 12}\n" for k in range(12)))
        labels.write_text("".join(f"{k},{k % 2}\n" for k in range(12)))
        run = Run.start(Config.checked(settings | {"data": str(graph), "labels": str(labels)}), folder)
        run.train()
    of_run: dict[str, tuple[Callable[[bytes, random.Random], bytes], Callable[[RunFolder], object]]] = {
        "config.yaml": (mutations.yaml, lambda run: run.config()),
        "graph.npz": (mutations.arrays, lambda run: load_graph(run.path / "graph.npz")),
        "split.safetensors": (mutations.tensors, lambda run: run.split()),
        "environment.json": (mutations.tree_text, lambda run: run.environment()),
        "metrics.jsonl": (mutations.tree_text, lambda run: run.curves()),
        "results.json": (mutations.tree_text, lambda run: run.results()),
        "embeddings/seed-0.npz": (mutations.arrays, lambda run: run.embedding(0)),
        "weights/seed-0.safetensors": (mutations.tensors, lambda run: run.weights(0)),
    }
    made = {}
    for name, (mutate, read) in of_run.items():
        if (folder / name).is_file():
            made[f"run/{name}"] = Reader([folder / name], mutate, lambda path, read=read: read(RunFolder(path)), 3, name)
    return made
