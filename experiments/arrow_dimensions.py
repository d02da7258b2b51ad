"""Directed links in few dimensions: what each geometry needs, with the best decoder that it can have.

    QGCN_DATA=... OMP_NUM_THREADS=1 python experiments/arrow_dimensions.py measure --limit 3000
    python experiments/arrow_dimensions.py table

Every space of 2 to 32 free dimensions is trained with default settings by the joint decoder and by the interval, on the first
published split; that with the better ROC AUC on validation is trained on other splits and counts. Each training is a line of
``results/arrow-dimensions.jsonl``; what is there is not computed again. One split of all data is finished before the next
begins, and no training begins after the limit.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results" / "arrow-dimensions.jsonl"
DATA = ("citeseer-directed", "cora-ml")
DIMS = (2, 4, 8, 16, 32)
FOLDS = range(5)
SETTINGS: dict[str, Any] = {"epochs": 200, "patience": 50}
SPACES = {
    "E": ("E{dim}", "Euclidean"),
    "H": ("H{dim}", "hyperbolic"),
    "S": ("S{dim}", "sphere"),
    "M": ("M{dim}", "flat spacetime"),
    "Q two": ("Q{less},2", "pseudo-hyperboloid, two time coordinates"),
    "Q half": ("Q{half},{more}", "pseudo-hyperboloid, half times"),
}
"""Names of spaces by the number of free dimensions, and what they are."""
DECODERS = ("joint", "interval")
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""Quantiles of Student's distribution for intervals of 95 % from so many differences."""

Line = dict[str, Any]


def named(space: str, dim: int) -> str:
    """Return the name of a space."""
    return SPACES[space][0].format(dim=dim, less=dim - 1, half=dim // 2, more=dim // 2 + 1)


def cases(data: list[str], lines: list[Line]) -> Iterator[Line]:
    """Yield everything to train, split by split: both decoders on the first, the better one on others."""
    for fold, name, dim, space in product(FOLDS, data, DIMS, SPACES):
        decoders = DECODERS if fold == 0 else (chosen(lines, name)[space, dim][0],)
        for decoder in (*decoders, *(["source-target"] if space == "E" else [])):
            yield {"data": name, "space": named(space, dim), "dim": dim, "decoder": decoder, "fold": fold}


def key_of(case: Line) -> str:
    """Return what tells a case from others."""
    return json.dumps([case[name] for name in ("data", "space", "decoder", "fold")])


def measure(case: Line) -> Line:
    """Train one case."""
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    named = {"task": "directed-links", "device": "cpu", "yardsticks": False}
    began = time.process_time()
    form = {name: case[name] for name in ("data", "space", "decoder", "fold")}
    run = Run(Config.checked(named | form | SETTINGS))
    run.train()
    (each,) = run.results
    about = {"seconds": round(time.process_time() - began, 1), "version": __version__, "torch": torch.__version__}
    return case | SETTINGS | {"val": each["val"], "test": each["test"], "best_epoch": each["best_epoch"]} | about


def chosen(lines: list[Line], data: str) -> dict[tuple[str, int], tuple[str, dict[int, Line]]]:
    """Return the decoder of every space and dimension with the better validation on the first split, and its lines by split."""
    found: dict[tuple[str, str], dict[int, Line]] = defaultdict(dict)
    for line in lines:
        if line["data"] == data:
            found[line["space"], line["decoder"]][line["fold"]] = line
    rows = {}
    for space, dim in product(SPACES, DIMS):
        both = {decoder: held for decoder in DECODERS if 0 in (held := found[named(space, dim), decoder])}
        if both:
            best = max(both, key=lambda decoder: both[decoder][0]["val"]["roc_auc"])
            rows[space, dim] = best, both[best]
    for dim in DIMS:
        if held := found[named("E", dim), "source-target"]:
            rows["product", dim] = "source-target", held
    return rows


def interval(values: list[float]) -> str:
    """Return the mean of values with its 95 % interval."""
    half = STUDENT[len(values)] * stdev(values) / len(values) ** 0.5
    return f"{fmean(values):+.1f} ± {half:.1f}"


def table(lines: list[Line], data: str, score: str = "roc_auc") -> None:
    """Print a score on test in per cent: for Euclidean space its mean, for other spaces the difference by split."""
    rows = chosen(lines, data)
    dims = [dim for dim in DIMS if ("E", dim) in rows]
    print(f"| space | {' | '.join(str(dim) for dim in dims)} |")
    print(f"| --- |{' ---: |' * len(dims)}")
    for space in [*SPACES, "product"]:
        cells = []
        for dim in dims:
            if (space, dim) not in rows:
                cells.append("")
                continue
            decoder, held = rows[space, dim]
            base = rows["E", dim][1]
            values = {fold: 100 * line["test"][score] for fold, line in held.items()}
            mark = " *" if decoder == "interval" else ""
            if space == "E":
                cells.append(f"{fmean(values.values()):.1f}{mark}")
                continue
            both = [values[fold] - 100 * base[fold]["test"][score] for fold in values if fold in base]
            cells.append((interval(both) if len(both) > 1 else f"{both[0]:+.1f}") + mark)
        about = "source-target product, Euclidean" if space == "product" else SPACES[space][1]
        print(f"| {about} | {' | '.join(cells)} |")


def main() -> None:
    """Measure what is not known yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["measure", "table"])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no training begins")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    if asked.stage == "measure":
        known, until = {key_of(line) for line in lines}, time.time() + asked.limit
        for case in cases(asked.data, lines):
            if key_of(case) not in known and time.time() < until:
                lines.append(measure(case))
                known.add(key_of(case))
                with asked.out.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    for data in asked.data:
        print(f"\n{data}\n")
        table(lines, data)


if __name__ == "__main__":
    main()
