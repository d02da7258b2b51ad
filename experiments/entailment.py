"""WordNet's closure read off cones: which space and which cone tell ancestors from other nodes, by the settings that suit each.

    QGCN_DATA=... OMP_NUM_THREADS=1 python experiments/entailment.py tune
    QGCN_DATA=... OMP_NUM_THREADS=1 python experiments/entailment.py longer
    QGCN_DATA=... OMP_NUM_THREADS=1 python experiments/entailment.py final
    QGCN_DATA=... OMP_NUM_THREADS=1 python experiments/entailment.py final --epochs 800 --few --models "light M10"
    python experiments/entailment.py table

``tune`` tries four settings of every model for 600 epochs, in 10 dimensions, on direct edges alone. ``longer`` trains the two
whose F1 on validation was best, and those that are best for ``light M10``, for 1,500 epochs. ``final`` takes the best of these
for every share of implied pairs, in 10 and in 5 dimensions; with ``--few``, the default settings. Each case is a line of
``results/entailment.jsonl`` with its settings, F1 on validation and scores on test; what is there is not computed again. No new
case begins after the limit. The threshold of the test is that of validation.
"""

import argparse
import json
import multiprocessing
import time
from itertools import product
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "entailment.jsonl"
DATA = "wordnet-entailment"
SHARES = (0.0, 0.1, 0.25)
TRIAL = 600
"""Epochs of a run that tries settings."""
LENGTHS = {0.0: 1500, 0.1: 200, 0.25: 200}
"""Epochs of the runs that are compared, by share: there are more pairs to learn from where some are implied."""
MODELS: dict[str, dict[str, Any]] = {
    "light M10": {"cone": "light", "space": "M{0}"},
    "light M1xH9": {"cone": "light", "space": "M1xH{1}"},
    "light dS10": {"cone": "light", "space": "dS{0}"},
    "light AdS10": {"cone": "light", "space": "AdS{0}"},
    "light M1xS9": {"cone": "light", "space": "M1xS{1}"},
    "order E10": {"cone": "order", "space": "E{0}"},
    "hyperbolic H10": {"cone": "hyperbolic", "space": "H{0}"},
    "shadow H10": {"cone": "shadow", "space": "H{0}"},
}
"""Cone and space by name; {0} stands for the dimension, {1} for one less."""
TRIED = ((0.1, 0.1, 0.9), (0.05, 2.0, 0.99), (0.1, 0.03, 0.9), (0.1, 2.0, 0.99))
"""Settings of the search, the same for every model: ``lr``, ``negative_weight``, ``adam_decay``; the third are the defaults."""


def settings_of(model: str, dim: int, share: float, changes: dict[str, Any], device: str) -> dict[str, Any]:
    """Return the settings of a case."""
    form = MODELS[model]
    named = {"task": "entailment", "data": DATA, "cone": form["cone"], "space": form["space"].format(dim, dim - 1)}
    return named | {"share": share, "device": device, "yardsticks": False} | changes


def key_of(case: dict[str, Any]) -> str:
    """Return what tells a case from others: not in which stage it was, nor how often it was validated."""
    changes = {name: value for name, value in case["changes"].items() if name != "eval_every"}
    return json.dumps([[case[name] for name in ("model", "dim", "share", "seed")], changes], sort_keys=True)


def measure(job: tuple[dict[str, Any], str, float]) -> dict[str, Any] | None:
    """Train one case; nothing if time is over."""
    case, device, until = job
    if time.time() > until:
        return None
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    settings = settings_of(case["model"], case["dim"], case["share"], case["changes"], device) | {"seed": case["seed"]}
    began = time.monotonic()
    try:
        run = Run(Config.checked(settings), data=_data())
        ready = time.monotonic()
        run.train()
    except ValueError as error:  # training diverged: that is a result, too
        return case | {"error": str(error)}
    (each,) = run.results
    about = {"seconds": round(time.monotonic() - ready, 1), "setup": round(ready - began, 1), "device": device}
    scores = {"val": each["val"]["f1"], "test": each["test"], "best_epoch": each["best_epoch"]}
    return case | {"config": settings} | scores | about | {"version": __version__, "torch": torch.__version__}


_LOADED: list[Any] = []


def _data() -> Any:
    """Return the graph, which a process loads once."""
    from qgcn.data import load

    if not _LOADED:
        _LOADED.append(load(DATA))
    return _LOADED[0]


def ranked(lines: list[dict[str, Any]], model: str, epochs: int) -> list[dict[str, Any]]:
    """Return the settings of a model that were tried on direct edges for so many epochs, the best on validation first."""
    tried = [line for line in lines if (line["model"], line["dim"], line["share"]) == (model, 10, 0.0) and "val" in line]
    tried = [line for line in tried if "lr" in line["changes"] and line["changes"]["epochs"] == epochs]
    best = sorted(tried, key=lambda line: -float(line["val"]))
    return [{name: line["changes"][name] for name in ("lr", "negative_weight", "adam_decay")} for line in best]


def settings_tried(asked: argparse.Namespace, lines: list[dict[str, Any]], model: str) -> list[dict[str, Any]]:
    """Return the settings of a model in a stage."""
    if asked.few:
        return [{}]
    if asked.stage == "tune":
        return [{"lr": lr, "negative_weight": weight, "adam_decay": decay} for lr, weight, decay in TRIED]
    if asked.stage == "final":
        return ranked(lines, model, LENGTHS[0.0])[:1]
    return ranked(lines, model, TRIAL)[:2] + ranked(lines, "light M10", TRIAL)[:1]


def cases_of(asked: argparse.Namespace, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases of a stage, a first setting of all models before the next of any."""
    found = []
    final = asked.stage == "final"
    for dim, share, seed in product(asked.dims if final else [10], asked.shares if final else [0.0], range(asked.seeds)):
        epochs = asked.epochs or (TRIAL if asked.stage == "tune" else LENGTHS[share])
        for model in asked.models:
            for rank, settings in enumerate(settings_tried(asked, lines, model)):
                changes = settings | {"epochs": epochs, "eval_every": max(1, epochs // (10 if final else 4))}
                changes |= {} if asked.spare == "implied" else {"spare": asked.spare}
                case = {"stage": asked.stage, "model": model, "dim": dim, "share": share, "seed": seed, "changes": changes}
                found.append((rank, case))
    return [case for _, case in sorted(found, key=lambda each: each[0])]


def table(lines: list[dict[str, Any]]) -> None:
    """Print the F1 on test of default settings, in per cent, by model, dimension and what is never a negative."""
    cells: dict[tuple[Any, ...], dict[float, list[float]]] = {}
    for line in lines:
        if line["stage"] == "final" and "test" in line and "lr" not in line["changes"]:
            key = (-line["dim"], line["model"], line["changes"].get("spare", "implied"), line["changes"]["epochs"])
            cells.setdefault(key, {}).setdefault(line["share"], []).append(100 * line["test"]["f1"])
    print("| cone and space | dimensions | never negative | epochs | 0 % | 10 % | 25 % |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for (dim, model, spare, epochs), row in sorted(cells.items()):
        shown = [f"{sum(row[share]) / len(row[share]):.1f}" if share in row else "" for share in SHARES]
        print(f"| {named(model, -dim)} | {-dim} | {spare} | {epochs:,} | {' | '.join(shown)} |")


def named(model: str, dim: int) -> str:
    """Return the cone and the space of a model in so many dimensions."""
    return f"`{model.split()[0]}`, `{MODELS[model]['space'].format(dim, dim - 1)}`"


def searched_table(lines: list[dict[str, Any]]) -> None:
    """Print the F1 on test, in per cent, of what validation chose among a model's runs of the same length, best first."""
    runs: dict[tuple[str, int, float], list[dict[str, Any]]] = {}
    for line in lines:
        if "val" in line and "lr" in line["changes"] and line["changes"]["epochs"] == LENGTHS[line["share"]]:
            runs.setdefault((line["model"], line["dim"], line["share"]), []).append(line)
    best = {key: max(held, key=lambda line: float(line["val"])) for key, held in runs.items()}
    columns = [(dim, share) for dim in (10, 5) for share in SHARES]
    print("| cone and space | runs | 0 % | 10 % | 25 % | 5 dimensions: 0 % | 10 % | 25 % |\n| --- |" + " ---: |" * 7)
    for model in sorted(MODELS, key=lambda model: -float(best[model, 10, 0.0]["val"]) if (model, 10, 0.0) in best else 0.0):
        cells = [best.get((model, dim, share)) for dim, share in columns]
        shown = [f"{100 * cell['test']['f1']:.1f}" if cell else "" for cell in cells]
        print(f"| {named(model, 10)} | {len(runs.get((model, 10, 0.0), []))} | {' | '.join(shown)} |")


def first_table(lines: list[dict[str, Any]]) -> None:
    """Print the F1 on validation and test of the first settings of each model, of a former objective."""
    tried = [line for line in lines if line["stage"].endswith("tune") and line["changes"]["lr"] == 0.05]
    print("| cone and space | F1, validation | F1, test |\n| --- | ---: | ---: |")
    for line in sorted(tried, key=lambda line: -float(line["val"])):
        print(f"| {named(line['model'], 10)} | {100 * line['val']:.1f} | {100 * line['test']['f1']:.1f} |")


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["tune", "longer", "final", "table"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--dims", nargs="+", type=int, default=[10, 5])
    parser.add_argument("--shares", nargs="+", type=float, default=list(SHARES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="epochs of a run (default: as the stage and the share have it)")
    parser.add_argument("--few", action="store_true", help="take the default settings, without a search")
    parser.add_argument("--spare", default="implied", choices=["implied", "trained"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no case begins")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    if asked.stage != "table":
        known, until = {key_of(line) for line in lines}, time.time() + asked.limit
        left = {key_of(case): case for case in cases_of(asked, lines) if key_of(case) not in known}
        jobs = [(case, asked.device, until) for case in left.values()]
        with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
            for found in pool.imap_unordered(measure, jobs):
                if found is not None:
                    lines.append(found)
                    with asked.out.open("a") as file:
                        file.write(json.dumps(found) + "\n")
    table(lines)
    searched_table(lines)


if __name__ == "__main__":
    main()
