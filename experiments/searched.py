"""Models with equal rights: one search for each on validation, then several seeds of what it chose on the test.

    QGCN_DATA=... python experiments/searched.py search --problems cora-links cora-classes --jobs 2 --trials 10 --folder sweeps
    QGCN_DATA=... python experiments/searched.py keep --folder sweeps
    QGCN_DATA=... python experiments/searched.py score --jobs 2
    python experiments/searched.py table

``search`` makes the same number of trials for every model and space of a problem, see ``qgcn sweep``; one process a problem.
``keep`` adds the trials of the folder to ``results/searched-trials.jsonl.gz``. ``score`` trains what these chose with ten
seeds, or as many as asked for; one line of ``results/searched.jsonl`` for each. What is there is not computed again.
"""

import argparse
import gzip
import json
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results" / "searched.jsonl"
TRIALS = RESULTS.with_name("searched-trials.jsonl.gz")
SEEDS = 10
GRAPHS = ("cora", "citeseer", "pubmed", "airport")
LINKS = {"task": "links", "decoder": "network", "weight_decay": 0.0, "epochs": 300, "patience": 60, "eval_every": 10}
HITS = LINKS | {"val": 0.1, "test": 0.2, "select": "hits@50", "decoder": "neighbours"}
"""Judged by Hits@100: validation has half the pairs of the test."""
CLASSES = {"task": "classification", "epochs": 1000}
PATIENT = {"epochs": 3000, "patience": 500, "edge_dropout": 0.0}
"""Of Airport, whose networks still learned after 1,000 epochs and had better validation with all edges, GCN alike."""
PROBLEMS: dict[str, dict[str, Any]] = (
    {f"{graph}-links": LINKS | {"data": graph, "row_normalize": graph != "airport"} for graph in GRAPHS}
    | {f"{graph}-hits": HITS | {"data": graph, "row_normalize": True} for graph in GRAPHS[:3]}
    | {f"{graph}-classes": CLASSES | {"data": graph} for graph in GRAPHS[:3]}
    | {"airport-classes": CLASSES | {"data": "airport", "row_normalize": False, "degree_features": True, **PATIENT}}
)
"""Settings that are not searched, by the name of the problem."""
SEARCHED = {
    "links": ("lr", "dropout", "feature_dropout", "edge_dropout", "aggregation", "layers", "steps"),
    "classification": (
        *("lr", "dropout", "feature_dropout", "edge_dropout", "weight_decay", "aggregation", "layers", "steps"),
        *("row_normalize", "head"),
    ),
}
"""Settings that are searched, as far as a model has them."""
OURS = {
    "links": ("propagation:Q{half},{half}", "propagation:E{whole}", "qgcn:E{whole}"),
    "classification": (
        "propagation:Q{half},{half}",
        "propagation:E{whole}",
        "deep:Q{half},{half}",
        "deep:E{whole}",
        "qgcn:Q{half},{half}",
        "qgcn:E{whole}",
        "qgcn:Q8,8",
        "qgcn:E16",
    ),
}
PEERS = ("gcn", "gat", "sage", "sgc")
KEYS = ("problem", "model", "space")


def candidates(problem: str) -> list[Any]:
    """Return the models and spaces of a problem: all as wide, hidden layers as wide as the embedding."""
    from qgcn.sweeping import parse_candidate

    fixed = PROBLEMS[problem] | {"yardsticks": False, "seeds": 2}
    task, whole = fixed["task"], 64 if fixed["task"] == "classification" else 128 if fixed["data"] == "pubmed" else 256
    named = [name.format(half=whole // 2, whole=whole) for name in OURS[task]] + [f"{peer}:E{whole}" for peer in PEERS]
    return [replace(parse_candidate(name, fixed), only=SEARCHED[task]) for name in named]


def search(problem: str, folder: Path, models: Collection[str], trials: int, jobs: int, device: str) -> None:
    """Make the trials of a problem that are missing, of some models, until asked to stop."""
    from qgcn.sweeping import Sweep

    made = [replace(each, fixed=each.fixed | {"device": device}) for each in candidates(problem) if each.model in models]
    with suppress(KeyboardInterrupt):
        Sweep(made, folder / problem, trials=trials, jobs=jobs).run()


def chosen() -> list[dict[str, Any]]:
    """Return the settings of the best of the trials that were kept of every model, space and problem, by validation."""
    best: dict[tuple[str, ...], dict[str, Any]] = {}
    for trial in trials_kept():
        key = tuple(trial[name] for name in KEYS)
        if trial["state"] == "complete" and (key not in best or trial["validation"] > best[key]["validation"]):
            best[key] = trial
    return [dict(zip(KEYS, key, strict=True)) | {"settings": _settings(trial)} for key, trial in best.items()]


def _settings(trial: dict[str, Any]) -> dict[str, Any]:
    named = {"model": trial["model"], "space": trial["space"]}
    return PROBLEMS[trial["problem"]] | named | {"yardsticks": False} | trial["settings"]


def trials_kept() -> list[dict[str, Any]]:
    """Return all trials that were kept, in the order of problems."""
    if not TRIALS.is_file():
        return []
    found = [json.loads(line) for line in gzip.decompress(TRIALS.read_bytes()).decode().splitlines()]
    return sorted(found, key=lambda trial: list(PROBLEMS).index(trial["problem"]))


def keep(folder: Path) -> None:
    """Add the trials of a folder of sweeps to those that were kept; where there are new ones of a model, its older ones go."""
    new = [{"problem": problem} | trial for problem in PROBLEMS for trial in _lines(folder / problem / "trials.jsonl")]
    replaced = {tuple(trial[key] for key in KEYS) for trial in new}
    rows = [trial for trial in trials_kept() if tuple(trial[key] for key in KEYS) not in replaced] + new
    rows.sort(key=lambda trial: list(PROBLEMS).index(trial["problem"]))
    TRIALS.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode(), mtime=0))


def score(job: tuple[dict[str, Any], str, int]) -> list[dict[str, Any]]:
    """Train what was chosen with all seeds; return a line for each."""
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    case, device, seeds = job
    began = time.monotonic()
    try:
        run = Run(Config.checked(case["settings"] | {"seed": 0, "seeds": seeds, "device": device, "yardsticks": False}))
        run.train()
    except ValueError as error:  # diverged
        return [case | {"seed": 0, "error": str(error)}]
    about = {"seconds": round((time.monotonic() - began) / seeds, 2), "version": __version__, "torch": torch.__version__}
    kept = ("seed", "best_epoch", "val", "test", "network")
    return [case | {key: each[key] for key in kept if key in each} | about for each in run.results]


def table(lines: list[dict[str, Any]], classes: bool = False) -> None:
    """Print test scores, one row for each model and kind of space, one column for each problem; of classes, or of links.

    For classes there are the scores of the network alone, too: blending decides more than the network.
    """
    cells: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if "error" not in line and line["problem"].endswith("-classes") == classes:
            kind, metric = _kind(line["space"]), _metric(line["problem"])
            row, alone = cells[line["model"], kind], line.get("network", line)
            row[line["problem"]].append(100 * line["test"][metric])
            row[f"{line['problem']}, alone"].append(100 * alone["test"][metric])
    shown = [problem for problem in PROBLEMS if any(problem in row for row in cells.values())]
    columns = [name for problem in shown for name in (problem, f"{problem}, alone")] if classes else shown
    print(f"| model | space | {' | '.join(columns)} |\n| --- | --- |{' ---: |' * len(columns)}")
    rows = sorted(cells.items(), key=lambda row: (row[0][0] in PEERS, row[0][0] != "propagation", row[0]))
    for (model, kind), row in rows:
        print(f"| {model} | {kind} | {' | '.join(_shown(row[each]) for each in columns)} |")


def _kind(space: str) -> str:
    """Return how a table calls a space: all are as wide as is usual for a problem, but for two."""
    return space if space in ("Q8,8", "E16") else "Q, half times" if space.startswith("Q") else "E"


def _shown(scores: list[float]) -> str:
    if not scores:
        return ""
    told = f"{mean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")
    return told if len(scores) == SEEDS else f"{told} ({len(scores)})"


def _metric(problem: str) -> str:
    return {"links": "roc_auc", "hits": "hits@100", "classes": "f1_micro"}[problem.rpartition("-")[2]]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def main() -> None:
    """Search, score, or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("search", "score", "keep", "table"))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--folder", type=Path, default=Path("sweeps"))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2, help="processes, of each problem for a search")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", nargs="+", help="these models alone (default: all)")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of a score")
    parser.add_argument("--limit", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    if asked.action == "search":
        models = asked.models or [*(name.partition(":")[0] for names in OURS.values() for name in names), *PEERS]
        given = [(each, asked.folder, models, asked.trials, asked.jobs, asked.device) for each in asked.problems]
        started = [context.Process(target=search, args=each) for each in given]
        for process in started:
            process.start()
        until = time.monotonic() + asked.limit
        for process in started:
            process.join(None if asked.limit == float("inf") else max(0.0, until - time.monotonic()))
            if process.is_alive():
                process.terminate()
        for process in started:
            process.join()
    elif asked.action == "score":
        done = {tuple(line[key] for key in KEYS) for line in _lines(asked.out)}
        left = [case for case in chosen() if tuple(case[key] for key in KEYS) not in done]
        left = [
            case for case in left if case["problem"] in asked.problems and case["model"] in (asked.models or [case["model"]])
        ]
        jobs, began = [(case, asked.device, asked.seeds) for case in left], time.monotonic()
        with context.Pool(asked.jobs) as pool:
            for found in pool.imap_unordered(score, jobs):
                with asked.out.open("a") as file:
                    file.write("".join(json.dumps(line) + "\n" for line in found))
                if time.monotonic() - began > asked.limit:
                    pool.terminate()
                    break
    elif asked.action == "keep":
        keep(asked.folder)
    else:
        for classes in (False, True):
            table(_lines(asked.out), classes)


if __name__ == "__main__":
    main()
