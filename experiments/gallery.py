"""Draw the pictures of the manual and of the README from runs, each with one figure function.

    QGCN_DATA=... python experiments/gallery.py --runs runs/gallery [--out docs/images/gallery]

Trains what is not there yet: links on Cora by the config of ``experiments/configs``, and reconstructions of a ring of trees in
four dimensions for every number of time dimensions.
"""

import argparse
from pathlib import Path

from qgcn.training import Config, Run, read_config
from qgcn.viz import figures
from qgcn.viz.runs import read_run

CONFIG = Path(__file__).parent / "configs" / "links-cora-qgcn-Q15,1.yaml"
RING = {"task": "reconstruction", "data": "ring-of-trees", "epochs": 600, "lr": 0.05, "schedule": "cosine", "seeds": 3}
SIZE = 4


def trained(folder, settings):
    if not (folder / "results.json").exists():
        run = Run.resume(folder) if (folder / "config.yaml").exists() else Run.start(Config.checked(settings), folder)
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

    scores = {}
    for time in range(1, SIZE + 1):
        settings = RING | {"space": f"Q{SIZE - time},{time}"}
        subject = read_run(trained(given.runs / f"ring-{time}", settings), umap=False)
        scores[time] = [seed["test"]["map"] for seed in subject.seeds]
        if time == 2:
            community = next(column for column in subject.embedded.columns if column.name == "community")
            save(figures.exact(subject.embedded.exact, community), "exact.png")
    save(figures.map_against_time({"ring of trees": scores}, SIZE), "map.png")
    print({time: [round(score, 4) for score in values] for time, values in scores.items()})


if __name__ == "__main__":
    main()
