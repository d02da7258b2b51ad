"""A run folder from a stranger, who seals what they craft: it is read or refused in one line, within a limit of memory."""

import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from qgcn.content import ARRAYS, STORED
from qgcn.seals import BLANK, seal, seal_archive
from qgcn.tasks import Config
from qgcn.training.run import Run

GIB = 1 << 30
OPEN = """
import json, sys
import qgcn, torch_geometric.data, networkx, scipy.sparse
from qgcn.viz.report.runs import read_run

def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024

for folder in sys.argv[1:]:
    before = status("VmRSS:")
    open("/proc/self/clear_refs", "w").write("5")
    try:
        run = qgcn.load_run(folder)
        run.embedding(), run.predictor(0), run.predictions(), read_run(folder, umap=False)
        answer = "read"
    except (ValueError, OSError) as error:
        answer = str(error)
    print(json.dumps([answer, max(0, status("VmHWM:") - before)]), flush=True)
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("stranger")
    (place / "ring.csv").write_text("".join(f"{k},{(k + 1) % 12}\n" for k in range(12)))
    (place / "labels.csv").write_text("".join(f"{k},{k % 2}\n" for k in range(12)))
    settings = {"task": "classification", "data": str(place / "ring.csv"), "labels": str(place / "labels.csv"), "space": "Q2,1"}
    settings |= {"epochs": 2, "val": 0.3, "test": 0.3, "yardsticks": False, "degree_features": True}
    Run.start(Config.checked(settings), place / "run").train()
    return place / "run"


def arrays(path, **changes):
    """Change arrays of an archive, and seal it."""
    with np.load(io.BytesIO(path.read_bytes())) as held:
        found = dict(held) | changes
    kept = {name: array for name, array in found.items() if array is not None}
    path.write_bytes(seal_archive(partial(np.savez_compressed, **kept)))


def graph(**changes):
    return lambda run: arrays(run / "graph.npz", **changes)


def embedding(**changes):
    return lambda run: arrays(run / "embeddings" / "seed-0.npz", **changes)


def tensors(name, change):
    def craft(run):
        path = run / name
        found = {key: value for key, value in change(load(path.read_bytes())).items() if value is not None}
        about = json.loads(
            json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])["__metadata__"]["about"]
        )
        path.write_bytes(seal(save(found, metadata={"about": json.dumps(about | {"seal": BLANK})})))

    return craft


def settings(*changes):
    def craft(run):
        path = run / "config.yaml"
        text = path.read_text().split("\n", 1)[1]
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_bytes(seal(f"# {BLANK}\n{text}".encode()))

    return unfinished(craft)


def unfinished(craft):
    """Remove the results, too: they know the graph and the settings, and would give the rest away before it is looked at."""

    def both(run):
        craft(run)
        (run / "results.json").unlink(missing_ok=True)

    return both


def results(text):
    return lambda run: (run / "results.json").write_bytes(seal(text.replace("SEAL", f'"seal": "{BLANK}"').encode()))


ONES = np.ones(12, dtype=np.int64)
CRAFTED = {
    "512 MiB in 512 KiB of a graph": (graph(remarks=np.zeros(2**29, dtype=np.uint8)), "unpacks to more than"),
    "nodes without end": (graph(num_nodes=np.array(2**62)), r"num_nodes must lie in \[0, "),
    "a billion nodes": (graph(num_nodes=np.array(10**9)), r"num_nodes must lie in \[0, "),
    "features of 12 x 10^12": (
        graph(x_shape=np.array([12, 10**12]), x_count=ONES, x_column=ONES, x_value=np.ones(12, dtype=np.float32)),
        "would take .* expected",
    ),
    "names of 10^9 characters": (
        graph(node_ids=np.full(12, 97, dtype=np.uint8), node_ids_length=ONES.astype(np.uint8), node_ids_width=np.array(10**9)),
        "would take .* expected",
    ),
    "names whose lengths overflow": (
        graph(
            node_ids=np.full(12, 97, dtype=np.uint8),
            node_ids_length=np.array([2**63 - 1, 2**63 - 1, 14, *[0] * 9]),
            node_ids_width=np.array(12),
        ),
        "node_ids_length is too large",
    ),
    "another class": (graph(y=ONES * 2, classes=None, classes_length=None), "another graph"),
    "a class of 10^15": (
        unfinished(graph(y=ONES * 10**15, classes=None, classes_length=None)),
        rf"the model of seed 0 has float32 in \(.*\) for head\..*, expected float32 in \(.*{10**15 + 1}",
    ),
    "512 MiB in 512 KiB of an embedding": (embedding(points=np.zeros((2**26, 3), dtype=np.float32)), "unpacks to more than"),
    "an embedding of another space": (embedding(space=np.asarray("H999999")), "must have shape"),
    "pickled names": (embedding(node_ids=np.array([{}] * 12)), "pickled Python objects"),
    "a model of a million dimensions": (
        settings(("space: Q2,1", "space: Q2,999999"), ("layers: 2", "layers: 3")),  # a weight of 10^6 x 10^6
        r"the model of seed 0 has no encoder\.layers\.1\.linear\.weight",
    ),
    "weights of another shape": (
        tensors("weights/seed-0.safetensors", lambda held: {name: torch.zeros(7, 7) for name in held}),
        "the model of seed 0 has",
    ),
    "masks of another length": (
        tensors("split.safetensors", lambda held: held | {"val_mask": torch.ones(13, dtype=torch.bool)}),
        r"the split has bool in \(13,\) for val_mask, expected bool in \(12\)",
    ),
    "masks that are indices": (
        tensors("split.safetensors", lambda held: held | {"train_mask": torch.arange(12)}),
        r"the split has int64 in \(12,\) for train_mask",
    ),
    "a mask left out": (
        tensors("split.safetensors", lambda held: held | {"test_mask": None}),
        "the split has no test_mask",
    ),
    "results of nothing": (results("{SEAL}"), "results.json is damaged"),
    "results without an end": (results('{SEAL, "a": ' + "[" * 10**6), "results.json is damaged"),
    "YAML of anchors": (
        settings(("task:", "a: &a [x, x]\nb: &b [*a, *a]\ntask:")),
        "an alias such as",
    ),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc")
def test_what_a_stranger_crafts_is_refused_within_a_limit_of_memory(run_folder, tmp_path):
    for number, (craft, _) in enumerate(CRAFTED.values()):
        shutil.copytree(run_folder, tmp_path / f"{number}")
        craft(tmp_path / f"{number}")
    (own, own_peak), *found = opened([run_folder, *(tmp_path / f"{number}" for number in range(len(CRAFTED)))])
    assert own == "read"
    assert own_peak < GIB
    for (name, (_, message)), (answer, peak) in zip(CRAFTED.items(), found, strict=True):
        assert re.search(message, answer), (name, answer)
        assert "\n" not in answer
        assert peak <= GIB, (name, peak)


def opened(folders):
    """Open folders in a process that may take 8 GiB of addresses, PyTorch included; return answers and peaks."""

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (8 * GIB, 8 * GIB))

    call = [sys.executable, "-c", OPEN, *map(str, folders)]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}  # a driver reserves more addresses than that
    done = subprocess.run(call, capture_output=True, text=True, check=False, preexec_fn=limit, env=environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_limits_are_multiples_of_the_file():
    assert STORED.of(0) <= ARRAYS.of(0) <= GIB
