"""Draw the pictures of the manual and of the README from runs, each with one figure function.

    QGCN_DATA=... python experiments/gallery.py --runs runs/gallery [--out docs/images/gallery]

Trains what is not there yet: links on Cora by the config of ``experiments/configs``, and the reconstruction of a ring of trees.
The scores of Facebook are those of ``experiments/results``.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

from qgcn.training import Config, Run, load_run, read_config
from qgcn.viz import figures
from qgcn.viz.report.runs import read_run

CONFIG = Path(__file__).parent / "configs" / "links-cora-qgcn-Q15,1.yaml"
RING = {"task": "reconstruction", "data": "ring-of-trees", "space": "Q1,2", "epochs": 600}
SCORES = Path(__file__).parent / "results" / "reconstruction.jsonl"


def trained(folder, settings):
    if not (folder / "results.json").exists():
        run = load_run(folder) if (folder / "config.yaml").exists() else Run.start(Config.checked(settings), folder)
        run.train()
    return folder


def main() -> None:
    """Train what is missing, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/gallery"))
    parser.add_argument("--out", type=Path, default=Path("docs/images/gallery"))
    given = parser.parse_args()

    def save(figure, name):
        print(figures.save(figure, given.out / name))

    save(figures.submanifolds(), "submanifolds.png")
    cora = read_run(trained(given.runs / "cora", read_config(CONFIG) | {"seeds": 3}))
    embedded = cora.embedded
    classes = next(column for column in embedded.columns if column.name == "class")
    degree = next(column for column in embedded.columns if column.name == "degree")
    sphere, hyperboloid = embedded.layouts["sphere"], embedded.layouts["hyperboloid"]
    save(figures.views(sphere, hyperboloid, classes), "views.png")
    save(figures.sphere(sphere, classes), "sphere.png")
    save(figures.hyperboloid(hyperboloid, classes), "hyperboloid.png")
    save(figures.disk(hyperboloid, degree, embedded.edges), "disk.png")
    save(figures.training_curves(cora.curves, "ROC AUC"), "training.png")

    ring = read_run(trained(given.runs / "ring", RING), umap=False).embedded
    community = next(column for column in ring.columns if column.name == "community")
    save(figures.exact(ring.exact, community), "exact.png")

    scores = defaultdict(list)
    for run in map(json.loads, SCORES.read_text().splitlines()):
        if run["graph"] == "facebook" and run["space"].startswith("Q"):
            scores[int(run["space"].split(",")[1])].append(run["map"])
    save(figures.map_against_time({"Facebook": dict(sorted(scores.items()))}, 10), "map.png")


if __name__ == "__main__":
    main()
