"""Does geometry help? The same network and decoder in every kind of space, with equally many free dimensions.

    QGCN_DATA=... python experiments/dimensions.py --problems cora-links cora-classes --jobs 2
    python experiments/dimensions.py --table

One line of ``results/dimensions.jsonl`` for each problem, space and seed; defaults of the task, networks alone. What is there
is not computed again. The table gives the mean over seeds and, beside it, the paired difference to Euclidean space.
"""

import argparse
import json
import math
import multiprocessing
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results" / "dimensions.jsonl"
SEEDS = 10
DIMENSIONS = (2, 4, 8, 16)
GRAPHS = ("cora", "spreading-tree", "airport", "citeseer", "pubmed")
TASKS = {"links": {"task": "links"}, "classes": {"task": "classification", "head": "linear"}}
"""Settings beside defaults: classes are read off points, which the default head, a convolution, never forms in two layers."""
METRICS = {"links": "roc_auc", "classes": "f1_micro"}
PROBLEMS = tuple(f"{graph}-{kind}" for kind in TASKS for graph in GRAPHS)
T_975 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 9: 2.26}
"""97.5 % quantiles of Student's distribution, by degrees of freedom."""


def spaces(free: int) -> dict[str, str]:
    """Return the space of each kind with so many free dimensions."""
    half = free // 2
    found = {"E": f"E{free}", "H": f"H{free}", "S": f"S{free}", "H x S": f"H{half}xS{half}", "Q, 2 times": f"Q{free - 1},2"}
    if free > 2:
        found["Q, half times"] = f"Q{half + 1},{half}"
    return found


def measure(job: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Train a problem in a space with all seeds; return a line for each."""
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    problem, space, device = job
    graph, _, kind = problem.rpartition("-")
    settings = TASKS[kind] | {"data": graph, "space": space, "seeds": SEEDS, "device": device, "blend": False}
    settings |= {"degree_features": True} if problem == "airport-classes" else {}
    began = time.monotonic()
    try:
        run = Run(Config.checked(settings | {"yardsticks": False}))
        run.train()
    except ValueError as error:  # diverged
        return [{"problem": problem, "space": space, "seed": 0, "error": str(error)}]
    about = {"seconds": round((time.monotonic() - began) / SEEDS, 2), "version": __version__, "torch": torch.__version__}
    named = {"problem": problem, "space": space}
    return [named | {"seed": each["seed"], "val": each["val"], "test": each["test"]} | about for each in run.results]


def table(lines: list[dict[str, Any]]) -> None:
    """Print the scores of every space, and how far they are from those of Euclidean space with the same seeds."""
    cells: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for line in lines:
        if "error" not in line:
            metric = METRICS[line["problem"].rpartition("-")[2]]
            cells[line["problem"], line["space"]][line["seed"]] = 100 * line["test"][metric]
    kinds = list(spaces(16))
    print(f"| problem | free dimensions | {' | '.join(kinds)} |\n| --- | ---: |{' ---: |' * len(kinds)}")
    for problem in dict.fromkeys(problem for problem, _ in cells):
        for free in DIMENSIONS:
            named = spaces(free)
            flat = cells[problem, named["E"]]
            shown = [_cell(cells[problem, named[kind]], flat, kind) if kind in named else "" for kind in kinds]
            if any(shown):
                print(f"| {problem} | {free} | {' | '.join(shown)} |")


def _cell(scores: dict[int, float], flat: dict[int, float], kind: str) -> str:
    if not scores:
        return ""
    told = f"{mean(scores.values()):.1f}"
    paired = [scores[seed] - flat[seed] for seed in scores if seed in flat]
    if kind == "E" or len(paired) < 2:
        return told
    reach = T_975.get(len(paired) - 1, 1.96) * stdev(paired) / math.sqrt(len(paired))
    return f"{told} ({mean(paired):+.1f} ± {reach:.1f})"


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=PROBLEMS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what the file holds and stop")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    done = {(line["problem"], line["space"]) for line in lines}
    wanted = [(problem, space) for problem in asked.problems for free in DIMENSIONS for space in spaces(free).values()]
    jobs = [(*case, asked.device) for case in dict.fromkeys(wanted) if case not in done and not asked.table]
    began = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for found in pool.imap_unordered(measure, jobs):
            lines += found
            with asked.out.open("a") as file:
                file.write("".join(json.dumps(line) + "\n" for line in found))
            if time.monotonic() - began > asked.limit:
                pool.terminate()
                break
    table(lines)


if __name__ == "__main__":
    main()
