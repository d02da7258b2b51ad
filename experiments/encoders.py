"""Encoders side by side: links and classes by convolutions, propagation, deep networks, attention and transformers.

    QGCN_DATA=... python experiments/encoders.py --graphs cora --jobs 2
    python experiments/encoders.py --table

One line of ``results/encoders.jsonl`` for each task, graph, space, encoder, options and seed. Networks alone, leak-free
split of edges, the graph's own split of nodes. What is there is not computed again. Settings not named are the task's defaults;
the table chooses among the options of an encoder by validation.
"""

import argparse
import json
import multiprocessing
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results" / "encoders.jsonl"
KEYS = ("task", "graph", "model", "space", "options")
SPACES = ("E16", "Q15,1", "Q14,2")
ENCODERS: dict[str, tuple[dict[str, Any], ...]] = {
    "qgcn": ({},),
    "propagation": ({},),
    "deep": ({"layers": 4}, {"layers": 16}, {"layers": 16, "hidden": "E64"}),
    "qgat": ({}, {"heads": 4}),
    "transformer": ({}, {"energy": "chord"}, {"head_spaces": "Q3,1 Q2,2"}),
}
METRICS = {"links": "roc_auc", "classification": "f1_micro"}
Case = tuple[str, str, str, str, str]


def measure(job: tuple[Case, int, int]) -> list[dict[str, Any]]:
    """Train one case for all its seeds from a first one; return a line for each."""
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    case, first, seeds = job
    named = dict(zip(KEYS, case, strict=True))
    settings = {"task": named["task"], "data": named["graph"], "model": named["model"], "space": named["space"]}
    settings |= json.loads(named["options"]) | {"seed": first, "seeds": seeds, "yardsticks": False, "blend": False}
    began = time.monotonic()
    run = Run(Config.checked(settings))
    try:
        run.train()
    except ValueError as error:  # diverged
        return [named | {"seed": first, "error": str(error)}]
    about = {"seconds": round((time.monotonic() - began) / seeds, 2), "version": __version__, "torch": torch.__version__}
    metric = METRICS[named["task"]]
    return [named | {"seed": each["seed"], "val": each["val"][metric], "test": each["test"], **about} for each in run.results]


def table(lines: list[dict[str, Any]]) -> None:
    """Print test scores, one row for each task, graph and encoder, one column for each space; options by validation."""
    cells: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if "error" not in line:
            cells[tuple(line[key] for key in KEYS)].append(line)
    best: dict[tuple[str, str, str], dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for (task, graph, model, space, _), found in cells.items():
        held = best[task, graph, model].get(space)
        if held is None or mean(line["val"] for line in found) > mean(line["val"] for line in held):
            best[task, graph, model][space] = found
    spaces = [space for space in SPACES if any(space in row for row in best.values())]
    print(f"| task | graph | encoder | {' | '.join(spaces)} |\n| --- | --- | --- |{' ---: |' * len(spaces)}")
    for (task, graph, model), row in sorted(best.items()):
        print(f"| {task} | {graph} | {model} | {' | '.join(_cell(task, row.get(space, [])) for space in spaces)} |")


def _cell(task: str, found: list[dict[str, Any]]) -> str:
    scores = [100 * line["test"][METRICS[task]] for line in found]
    if not scores:
        return ""
    options = json.loads(found[0]["options"])
    chosen = "".join(f"; {name} {value}" for name, value in options.items())
    return f"{mean(scores):.1f}" + (f" ± {stdev(scores):.1f}" if len(scores) > 1 else "") + chosen


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=[])
    parser.add_argument("--tasks", nargs="+", default=list(METRICS))
    parser.add_argument("--models", nargs="+", default=list(ENCODERS))
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--plain", action="store_true", help="the first options of each encoder alone")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what the file holds and stop")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    done: dict[tuple[str, ...], int] = defaultdict(int)
    for line in lines:
        done[tuple(line[key] for key in KEYS)] += 1
    cases: list[Case] = [
        (task, graph, model, space, json.dumps(options))
        for model, graph, task, space in product(asked.models, asked.graphs, asked.tasks, asked.spaces)
        for options in ENCODERS[model][: 1 if asked.plain else None]
    ]
    wanted = [] if asked.table else cases
    jobs = [(case, done[case], asked.seeds - done[case]) for case in wanted if done[case] < asked.seeds]
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
