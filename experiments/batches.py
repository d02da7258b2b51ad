"""Mini-batches against full batch on PubMed: the same scores within noise.

Each line of the results is one run: task, size of its batches, fan-out, seed, epochs, test scores of the network alone. The
epoch that counts is chosen by validation, as ever.

    python experiments/batches.py     # half an hour on two cores; resumable

The table of ``docs/scale.md`` is rendered by ``experiments/tables.py``.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

from qgcn.reproduction.rendering import markdown, shown
from qgcn.training import Config, Run

TASKS = {
    "classification": {"task": "classification", "data": "pubmed", "epochs": 200, "patience": 50},
    "links": {"task": "links", "data": "pubmed", "epochs": 300, "patience": 60},
}
KINDS = {
    "classification": ({}, {"batch_size": 20, "fanout": "10"}, {"batch_size": 20, "fanout": "all"}),
    "links": (
        {},
        {"batch_size": 4096, "fanout": "10", "epochs": 80, "patience": 30},
        {"batch_size": 4096, "fanout": "10", "epochs": 80, "patience": 30, "negative_sampling": "in-batch"},
        {"batch_size": 4096, "fanout": "10", "epochs": 80, "patience": 30, "negative_sampling": "degree"},
    ),
}
TITLES = {"accuracy": "accuracy", "roc_auc": "ROC AUC"}
SHARED = {"device": "cpu", "blend": False, "yardsticks": False, "space": "Q15,1"}


def table(lines: list[dict[str, Any]]) -> str:
    """Return the table: a row for each kind of batches, mean and deviation over the seeds."""
    rows = []
    for name, score in (("classification", "accuracy"), ("links", "roc_auc")):
        for kind in KINDS[name]:
            wanted = SHARED | TASKS[name] | kind
            found = [each for each in lines if {k: v for k, v in each["settings"].items() if k != "seed"} == wanted]
            size = f"{kind['batch_size']:,}" if "batch_size" in kind else "all"
            negatives = str(kind.get("negative_sampling", "uniform")) if name == "links" else ""
            about = [name, size, str(kind.get("fanout", "all")), negatives, TITLES[score]]
            values = [100 * each["test"][score] for each in found]
            rows.append([*about, shown(values, len(values), 1), str(len(found))])
    return markdown(["task", "batch", "fan-out", "negatives", "score", "test", "seeds"], rows, left=5)


def main() -> None:
    """Run what has no line yet, and append it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("experiments/results/batches.jsonl"))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    done = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    known = {json.dumps(each["settings"], sort_keys=True) for each in done}
    for seed in range(given.seeds):
        for name, task in TASKS.items():
            for kind in KINDS[name]:
                settings = SHARED | task | kind | {"seed": seed}
                if json.dumps(settings, sort_keys=True) in known:
                    continue
                began = time.perf_counter()
                run = Run(Config.checked(settings))
                run.train()
                (result,) = run.results
                line = {
                    "settings": settings,
                    "test": {score: round(value, 6) for score, value in result["test"].items()},
                    "best_epoch": result["best_epoch"],
                    "seconds": round(time.perf_counter() - began, 1),
                }
                with given.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                print(name, kind or "full batch", f"seed {seed}", line["test"], f"{line['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
