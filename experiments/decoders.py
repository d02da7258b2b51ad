"""Links by encoder, decoder and signature: what each is worth, and whether every signature trains.

    QGCN_DATA=... python experiments/decoders.py --graphs cora citeseer pubmed airport --jobs 14
    QGCN_DATA=... python experiments/decoders.py --signatures --graphs cora --seeds 5
    python experiments/decoders.py --table

One line of ``results/decoders.jsonl`` for each graph, space, encoder, decoder and seed, networks alone, leak-free split; what
is there is not computed again. All settings not named are the task's defaults. The table chooses by validation.
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

RESULTS = Path(__file__).parent / "results" / "decoders.jsonl"
KEYS = ("graph", "model", "space", "decoder", "learn_boundary", "dropped")
SPACES = ("E16", "H16", "S16", "Q15,1", "Q14,2", "Q8,8")
DECODERS = (("squared-distance", True), ("squared-distance", False), ("distance", True), ("product", True), ("bilinear", True))
Case = tuple[str, str, str, str, bool, float]


def measure(job: tuple[Case, int]) -> list[dict[str, Any]]:
    """Train one case for all its seeds, as one batch; return a line for each."""
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    case, seeds = job
    named = dict(zip(KEYS, case, strict=True))
    settings: dict[str, Any] = {"task": "links", "data": named["graph"], "seeds": seeds, "edge_dropout": named["dropped"]}
    settings |= {name: named[name] for name in ("model", "space", "decoder", "learn_boundary")}
    settings |= {"degree_features": True, "feature_dropout": 0.0} if named["graph"] == "airport" else {}
    began = time.monotonic()
    run = Run(Config.checked(settings | {"yardsticks": False, "blend": False}))
    try:
        run.train()
    except ValueError as error:  # diverged
        return [named | {"seed": 0, "error": str(error)}]
    about = {"seconds": round((time.monotonic() - began) / seeds, 2), "version": __version__, "torch": torch.__version__}
    return [
        named | {"seed": each["seed"], "val": each["val"]["roc_auc"], "test": each["test"], **about} for each in run.results
    ]


def table(lines: list[dict[str, Any]]) -> None:
    """Print test scores, one row for each graph and space, one column for each encoder and decoder; dropout by validation."""
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if "error" not in line:
            cells[tuple(line[key] for key in KEYS)].append(line)
    best: dict[tuple[str, str], dict[tuple[Any, ...], list[dict[str, Any]]]] = defaultdict(dict)
    for key, found in cells.items():
        graph, model, space, decoder, learned, _ = key
        held = best[graph, space].get((model, decoder, learned))
        if held is None or mean(line["val"] for line in found) > mean(line["val"] for line in held):
            best[graph, space][model, decoder, learned] = found
    columns = sorted({column for row in best.values() for column in row})
    titles = [f"{model}, {decoder}{'' if learned else ', fixed'}" for model, decoder, learned in columns]
    print(f"| graph | space | {' | '.join(titles)} |\n| --- | --- |{' ---: |' * len(columns)}")
    for (graph, space), row in sorted(best.items()):
        print(f"| {graph} | {space} | {' | '.join(_cell(row.get(column, [])) for column in columns)} |")


def _cell(found: list[dict[str, Any]]) -> str:
    scores = [100 * line["test"]["roc_auc"] for line in found]
    return "" if not scores else f"{mean(scores):.1f}" + (f" ± {stdev(scores):.1f}" if len(scores) > 1 else "")


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=[])
    parser.add_argument("--models", nargs="+", default=["qgcn", "propagation"])
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--signatures", action="store_true", help="all times from 1 to 16, the task's own decoder")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what the file holds and stop")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    known = {tuple(line[key] for key in KEYS) for line in lines}
    if asked.signatures:
        cases: list[Case] = [
            (graph, "qgcn", f"Q{16 - t},{t}", "squared-distance", False, 0.5) for t in range(1, 17) for graph in asked.graphs
        ]
    else:
        chosen = product(asked.spaces, DECODERS, asked.models, (0.5, 0.0), asked.graphs)
        cases = [(graph, model, space, *decoder, dropped) for space, decoder, model, dropped, graph in chosen]
    jobs = [(case, asked.seeds) for case in ([] if asked.table else cases) if case not in known]
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
