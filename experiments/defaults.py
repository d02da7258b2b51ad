"""The defaults of a task beside its yardsticks, on graphs of all sorts: is the model worth training there?

QGCN_DATA=... python experiments/defaults.py --task links --graphs cora airport ba:5000:1 debian-sources --seeds 3
QGCN_DATA=... python experiments/defaults.py --task classification --graphs cora csbm:5000:1 --set lr=0.02 --set epochs=400
python experiments/defaults.py --table                                  # what the file holds

See ``graphs.py`` for the names of graphs. Seed ``k`` is both the seed of the model and that of the split, but for the
published splits of nodes. Every graph and seed is one line of the output: scores on the test split, seconds. What is there is
not computed again.
"""

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from graphs import graph_of

WITHOUT_NETWORK = "blend without the network"
PUBLISHED = ("cora", "citeseer", "pubmed")
"""Graphs whose split of nodes is published: it is kept for every seed."""
SHARES = {"val": 0.15, "test": 0.15}
"""Shares of the nodes that are held out of the others."""
RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"


def measure(
    task: str, name: str, seed: int, settings: dict[str, Any], device: str, only: str, threads: int | None
) -> dict[str, Any]:
    """Train the defaults on a graph and score the yardsticks, or one of both."""
    import torch

    from qgcn.training import Config, Run
    from qgcn.training.blends import yardstick_scores

    if threads is not None:
        torch.set_num_threads(threads)
    fixed = {"task": task, "data": name, "seed": seed, "split_seed": seed, "device": device, "yardsticks": False}
    fixed |= SHARES if task == "classification" and name not in PUBLISHED else {}
    run = Run(Config.checked(fixed | settings), data=graph_of(name))
    nodes, edges = run.task.num_nodes, run.data.num_edges // 2
    line: dict[str, Any] = {
        "task": task,
        "graph": _label(name),
        "seed": seed,
        "nodes": nodes,
        "edges": edges,
        "settings": settings,
    }
    line |= {"metric": run.task.metric, "device": run.fabric.device.type}
    if only != "yardsticks":
        began = time.perf_counter()
        run.train()
        result = run.results[0]
        line |= {"model": f"{run.config.model} {run.config.space}", "seconds": round(time.perf_counter() - began, 2)}
        line |= {"scores": _rounded(result["test"]), "best_epoch": result.get("best_epoch")}
        if "network" in result:
            line["network"] = _rounded(result["network"]["test"])
    if only != "model":
        began = time.perf_counter()
        found = yardstick_scores(run.task)
        line["yardsticks"] = {method: _rounded(scores) for method, scores in found.items()}
        line["yardstick_seconds"] = round(time.perf_counter() - began, 2)
    return line


def _rounded(scores: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in scores.items()}


def table(lines: list[dict[str, Any]]) -> None:
    """Print one row a task, graph and settings: means over seeds; the best yardstick is the one of the best mean."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for line in lines:
        settings = " ".join(f"{key}={value}" for key, value in line["settings"].items())
        groups.setdefault((line["task"], line["graph"], settings), []).append(line)
    names = ("task", "graph", "nodes", "edges", "seeds", "model", "best yardstick", "margin")
    names = (*names, "network alone", "without network", "seconds", "settings")
    print(f"| {' | '.join(names)} |")
    print(f"|{' --- |' * len(names)}")
    for (task, graph, settings), held in groups.items():
        cells = (task, graph, str(held[0]["nodes"]), str(held[0]["edges"]), str(len(held)), *_cells(held), settings)
        print(f"| {' | '.join(cells)} |")


def _cells(held: list[dict[str, Any]]) -> tuple[str, ...]:
    metric = held[0]["metric"]
    trained = [each for each in held if "scores" in each]
    networks = [each["network"][metric] for each in trained if "network" in each]
    columns: dict[str, list[float]] = {}
    for each in held:
        for name, scores in each.get("yardsticks", {}).items():
            columns.setdefault(name, []).append(scores[metric])
    together = columns.pop(WITHOUT_NETWORK, [])
    best = max(columns, key=lambda name: statistics.fmean(columns[name])) if columns else None
    model = [each["scores"][metric] for each in trained]
    lead = None if best is None or not model else statistics.fmean(model) - statistics.fmean(columns[best])
    seconds = f"{statistics.fmean(each['seconds'] for each in trained):.1f}" if trained else ""
    return (
        _with_spread(model),
        "" if best is None else f"{best} {_with_spread(columns[best])}",
        "" if lead is None else f"{100 * lead:+.2f}",
        _with_spread(networks),
        _with_spread(together),
        seconds,
    )


def _with_spread(values: list[float]) -> str:
    if not values:
        return ""
    spread = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.2f}{spread}"


def read(path: Path) -> list[dict[str, Any]]:
    """Read the lines of a file of results; nothing if there is no such file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def _label(name: str) -> str:
    """Return the name of a graph in the results: of a file, its own without folder and ending."""
    return Path(name).stem if name.endswith(".npz") else name


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["task"], line["graph"], line["seed"], json.dumps(line["settings"], sort_keys=True)


def _setting(text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    return key.replace("-", "_"), yaml.safe_load(value)


def main() -> None:
    """Measure what is asked for and not known yet, and print the table of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="links")
    parser.add_argument("--graphs", nargs="+", default=[], help="names or .npz files, see graphs.py")
    parser.add_argument("--set", type=_setting, action="append", default=[], metavar="KEY=VALUE", help="another setting")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--threads", type=int, help="threads of each process")
    parser.add_argument("--only", default="both", choices=("both", "model", "yardsticks"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print the whole file and stop")
    asked = parser.parse_args()
    known = {_key(line): line for line in read(asked.out)}
    if asked.table:
        table(list(known.values()))
        return
    settings, keys = dict(asked.set), []
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        pending = []
        for graph, seed in product(asked.graphs, range(asked.seeds)):
            keys.append(_key({"task": asked.task, "graph": _label(graph), "seed": seed, "settings": settings}))
            held = known.get(keys[-1], {})
            if not all(
                part in held
                for part in {"both": ("scores", "yardsticks"), "model": ("scores",)}.get(asked.only, ("yardsticks",))
            ):
                pending.append(pool.submit(measure, asked.task, graph, seed, settings, asked.device, asked.only, asked.threads))
        for each in pending:
            try:
                line = each.result()
            except (ValueError, OSError, RuntimeError) as error:
                print(f"failed: {error}", file=sys.stderr, flush=True)
                continue
            line = known.get(_key(line), {}) | line
            known[_key(line)] = line
            with asked.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            score = f" {line['scores'][line['metric']]:.4f} in {line['seconds']:.0f} s" if "scores" in line else ""
            print(f"{line['task']} {line['graph']} seed {line['seed']}:{score}", file=sys.stderr, flush=True)
    table([known[key] for key in keys if key in known])


if __name__ == "__main__":
    main()
