"""Mini-batches against full batch on PubMed: the same scores within noise.

Each line of the results is one run: task, size of its batches, fan-out, seed, epochs, test scores of the network alone. The
epoch that counts is chosen by validation, as ever.

    python experiments/batches.py --out experiments/results/batches.jsonl     # an hour on two cores; resumable
"""

import argparse
import json
import time
from pathlib import Path

from qgcn.training import Config, Run

TASKS = {
    "classification": {"task": "classification", "data": "pubmed", "epochs": 200, "patience": 50},
    "links": {"task": "links", "data": "pubmed", "epochs": 300, "patience": 60},
}
KINDS = {
    "classification": ({}, {"batch_size": 20, "fanout": "10"}, {"batch_size": 20, "fanout": "all"}),
    "links": (
        {},
        {"batch_size": 4096, "fanout": "10", "epochs": 40, "patience": 15},
        {"batch_size": 4096, "fanout": "10", "epochs": 40, "patience": 15, "negative_sampling": "in-batch"},
        {"batch_size": 4096, "fanout": "10", "epochs": 40, "patience": 15, "negative_sampling": "degree"},
    ),
}
SHARED = {"device": "cpu", "blend": False, "yardsticks": False, "space": "Q15,1"}


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
