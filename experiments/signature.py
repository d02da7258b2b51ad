"""The chosen space against an exhaustive sweep: the four reconstruction graphs, the four others, six generated ones.

QGCN_DATA=... python experiments/signature.py choose --graph power --dim 10      # what suggest_signature takes
QGCN_DATA=... python experiments/signature.py sweep --graph power --dim 10       # every space, in full, two seeds
python experiments/signature.py table                                            # both, side by side, as Markdown
python experiments/signature.py table --folder experiments/signature/by-coordinates

Results are one JSON file a graph and part under ``experiments/signature``; what is there is not computed again. Dimensions are
free ones; in the files under ``by-coordinates`` they are coordinates of ``Q``, which has one free dimension less.
"""

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

from qgcn.analysis import suggest_signature
from qgcn.data import load
from qgcn.files import write_json
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import find_task
from qgcn.training import Config, Diverged, Run

FOLDER = Path(__file__).parent / "signature"
GRAPHS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "web-edu": ("reconstruction", "web-edu", {}),
    "power": ("reconstruction", "power", {}),
    "bio-wormnet": ("reconstruction", "bio-wormnet", {}),
    "facebook": ("reconstruction", "facebook", {}),
    "airport": ("links", "airport", {}),
    "pubmed": ("links", "pubmed", {}),
    "citeseer": ("links", "citeseer", {}),
    "cora": ("links", "cora", {}),
    "tree": ("reconstruction", "tree", {"branching": 4, "depth": 4}),
    "sphere": ("reconstruction", "sphere", {"nodes": 350, "radius": 0.3, "seed": 7}),
    "torus": ("reconstruction", "torus", {"nodes": 350, "radius": 0.1, "seed": 7}),
    "ring-of-trees": ("reconstruction", "ring-of-trees", {"ring": 20, "branching": 3, "depth": 2}),
    "sphere-with-trees": ("reconstruction", "sphere-with-trees", {"points": 40, "radius": 0.7, "seed": 7}),
    "tree-with-cycles": ("reconstruction", "tree-with-cycles", {"branching": 3, "depth": 5, "extra": 30, "seed": 7}),
    # drawn after the rule had its present form
    "fresh tree": ("reconstruction", "tree", {"branching": 2, "depth": 7}),
    "fresh sphere": ("reconstruction", "sphere", {"nodes": 300, "radius": 0.35, "seed": 11}),
    "fresh torus-with-trees": ("reconstruction", "torus-with-trees", {"rows": 5, "columns": 5, "depth": 2}),
    "fresh tree-with-cycles": ("reconstruction", "tree-with-cycles", {"branching": 2, "depth": 7, "extra": 20, "seed": 11}),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "airport": {"degree_features": True, "one_hot": True, "aggregation": "mean", "feature_dropout": 0.5},
}
"""Further keys of the config, for trials and sweep alike: four features a node are too few for Airport."""


def _stem(name: str) -> str:
    return name.replace(" ", "-")


def choose(name: str, dim: int) -> None:
    task, key, options = GRAPHS[name]
    found = suggest_signature(load(key, **options), dim, task=task, options=SETTINGS.get(name), seconds=math.inf)
    write_json(FOLDER / f"{_stem(name)}-{dim}-choose.json", found.as_dict())
    print(f"{name}: {found.space}, {found.seconds:.0f} s, {found.cost} of {found.sweep_cost} epochs. {found.sentence}")


def sweep(name: str, dim: int) -> None:
    """Train every space in full; after each space what is known is written."""
    task, key, options = GRAPHS[name]
    data = load(key, **options)
    path = FOLDER / f"{_stem(name)}-{dim}-sweep.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    for space in spaces_of_dimension(dim, twins=not find_task(task).learns_nodes):
        if space in known:
            continue
        values = {"task": task, "data": key, "space": space, "seeds": 2} | SETTINGS.get(name, {})
        began = time.perf_counter()
        run = Run(Config.checked(values), data=data)
        try:
            run.train()
            scores = [result["test"][run.task.metric] for result in run.results]
        except Diverged:
            scores = [0.0]
        known[space] = {"scores": scores, "seconds": time.perf_counter() - began}
        write_json(path, known)
        print(f"{name} {space}: {statistics.fmean(scores):.4f}, {known[space]['seconds']:.0f} s", flush=True)


def table(folder: Path) -> None:
    """Print what was chosen beside the sweep, for all graphs and dimensions that have both."""
    print("| graph | task | dim | chosen | its score in the sweep | best of the sweep | points lost | epochs, of a sweep's |")
    print("| --- | --- | ---: | --- | ---: | --- | ---: | ---: |")
    for name, (task, _, _) in GRAPHS.items():
        for chosen_path in sorted(folder.glob(f"{_stem(name)}-[0-9]*-choose.json")):
            dim = chosen_path.stem.split("-")[-2]
            swept_path = folder / f"{_stem(name)}-{dim}-sweep.json"
            if not swept_path.exists():
                continue
            chosen, swept = (json.loads(path.read_text()) for path in (chosen_path, swept_path))
            means = {space: 100 * statistics.fmean(entry["scores"]) for space, entry in swept.items()}
            best, mine = max(means, key=lambda space: means[space]), means[chosen["space"]]
            share = f"{chosen['cost'] / chosen['sweep_cost']:.0%}"
            cells = (name, task, dim, chosen["space"], f"{mine:.2f}", f"{best} {means[best]:.2f}", f"{means[best] - mine:.2f}")
            print(f"| {' | '.join((*cells, share))} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("choose", "sweep", "table"))
    parser.add_argument("--graph", choices=GRAPHS, action="append", help="one or more; all if not given")
    parser.add_argument("--dim", type=int, default=10, help="number of free dimensions")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the table's results are")
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    if asked.part == "table":
        table(asked.folder)
    for graph in [] if asked.part == "table" else asked.graph or GRAPHS:
        if asked.part == "choose" and not (FOLDER / f"{_stem(graph)}-{asked.dim}-choose.json").exists():
            choose(graph, asked.dim)
        elif asked.part == "sweep":
            sweep(graph, asked.dim)
