"""Directed links: which geometry and which decoder tell where edges point, each by the same search of settings.

    QGCN_DATA=... python experiments/directed.py tune --device cuda --jobs 16 --limit 120
    QGCN_DATA=... python experiments/directed.py final --device cuda --jobs 16 --limit 100
    QGCN_DATA=... python experiments/directed.py final --device cpu --few --models "joint E128" "source-target E128" --seeds 1
    python experiments/directed.py table

``tune`` trains every model with the same drawn settings on published splits 0 and 1; ``final`` takes for each model and data
set those with the best mean ROC AUC on validation, and trains them on all five splits. With ``--few``, ``final`` takes the
default settings. Each training is a line of ``results/directed.jsonl`` with its settings and its scores on validation and on
test; what is there is not computed again. No new training begins after the limit.
"""

import argparse
import json
import multiprocessing
import random
import statistics
import time
from itertools import product
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "directed.jsonl"
DATA = ("cora-ml", "citeseer-directed")
FOLDS = range(5)
TUNED = (0, 1)
"""Splits whose validation chooses."""
DRAWS = 12
"""Settings that are drawn, the same for every model; the first are the defaults."""
MODELS: dict[str, dict[str, Any]] = {
    "joint E128": {"decoder": "joint", "space": "E128"},
    "joint Q64,65": {"decoder": "joint", "space": "Q64,65"},
    "joint M128": {"decoder": "joint", "space": "M128"},
    "joint H128": {"decoder": "joint", "space": "H128"},
    "joint S128": {"decoder": "joint", "space": "S128"},
    "interval E128": {"decoder": "interval", "space": "E128"},
    "interval Q97,32": {"decoder": "interval", "space": "Q97,32"},
    "interval M128": {"decoder": "interval", "space": "M128"},
    "interval H128": {"decoder": "interval", "space": "H128"},
    "interval S128": {"decoder": "interval", "space": "S128"},
    "triple AdS128": {"decoder": "triple", "space": "AdS128"},
    "triple Q127,2": {"decoder": "triple", "space": "Q127,2"},
    "oriented Q64,65": {"decoder": "oriented", "space": "Q64,65"},
    "source-target E128": {"decoder": "source-target", "space": "E128"},
    "phases E128": {"decoder": "oriented", "space": "E128", "along": "phases"},
    "gcn E128": {"decoder": "joint", "space": "E128", "model": "gcn"},
}
"""Models by name; all have 128 free dimensions, and propagation alternates between sources and targets unless it is said."""
ABOUT = {
    "source-target E128": "source-target autoencoder",
    "phases E128": "complex phases, as in MagNet",
    "triple AdS128": "triple Fermi-Dirac",
    "triple Q127,2": "triple Fermi-Dirac",
    "gcn E128": "GCN without direction, joint decoder",
}
"""What a model is, where its name does not say it."""
RANGES: dict[str, tuple[float, ...]] = {
    "lr": (0.003, 0.01, 0.02),
    "dropout": (0.0, 0.3, 0.5),
    "feature_dropout": (0.3, 0.5, 0.7),
    "edge_dropout": (0.0, 0.3, 0.5),
    "weight_decay": (0.0001, 0.0005, 0.001),
    "reverse_weight": (0.0, 0.1, 0.3),
    "beta": (-1.0, -16.0),
    "steps": (3, 5),
}
"""Values that settings are drawn from."""
SCORES = {
    "hits@100": "Hits@100",
    "hits@20": "Hits@20",
    "roc_auc": "ROC AUC",
    "mrr": "MRR",
    "direction_accuracy": "direction",
    "three_way_accuracy": "three ways",
}
"""Scores of a table, with their titles."""


def drawn(number: int) -> dict[str, Any]:
    """Return the settings of a draw; those of number 0 are the defaults."""
    rng = random.Random(number)  # noqa: S311 (no secret)
    return {name: rng.choice(values) for name, values in RANGES.items()} if number else {}


def settings_of(case: dict[str, Any], device: str) -> dict[str, Any]:
    """Return the settings of a case; those that its model does not have are left out."""
    named = {"task": "directed-links", "data": case["data"], "fold": case["fold"], "device": device, "yardsticks": False}
    changes = dict(case["changes"])
    if MODELS[case["model"]]["space"][0] in "EM":
        changes.pop("beta", None)
    if "model" in MODELS[case["model"]]:
        changes.pop("steps", None)
        changes.pop("beta", None)
    return named | MODELS[case["model"]] | changes | {"seed": case["seed"], "epochs": case["epochs"], "patience": 80}


def key_of(case: dict[str, Any]) -> str:
    """Return what tells a case from others."""
    return json.dumps([case[name] for name in ("stage", "data", "model", "fold", "seed", "epochs", "changes")], sort_keys=True)


def measure(job: tuple[dict[str, Any], str, float]) -> dict[str, Any] | None:
    """Train one case; nothing if time is over."""
    case, device, until = job
    if time.time() > until:
        return None
    import torch

    from qgcn import __version__
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    began = time.monotonic()
    try:
        run = Run(Config.checked(settings_of(case, device)), data=_data(case["data"]))
        run.train()
    except (ValueError, RuntimeError) as error:  # training diverged: that is a result, too
        return case | {"error": str(error).splitlines()[0], "device": device}
    (each,) = run.results
    scores = {"val": each["val"], "test": each["test"], "best_epoch": each["best_epoch"]}
    about = {"seconds": round(time.monotonic() - began, 1), "device": device}
    return case | scores | about | {"version": __version__, "torch": torch.__version__}


_LOADED: dict[str, Any] = {}


def _data(name: str) -> Any:
    """Return a graph, which a process loads once."""
    from qgcn.data import load

    if name not in _LOADED:
        _LOADED[name] = load(name)
    return _LOADED[name]


def best_changes(lines: list[dict[str, Any]], model: str, data: str) -> dict[str, Any] | None:
    """Return the settings of a model with the best mean ROC AUC on validation, of those tried on all tuned splits."""
    tried: dict[str, list[float]] = {}
    for line in lines:
        if line["stage"] == "tune" and line["model"] == model and line["data"] == data and "val" in line:
            tried.setdefault(json.dumps(line["changes"], sort_keys=True), []).append(line["val"]["roc_auc"])
    whole = {changes: sum(values) for changes, values in tried.items() if len(values) == len(TUNED)}
    found: dict[str, Any] | None = json.loads(max(whole, key=lambda each: whole[each])) if whole else None
    return found


def cases_of(asked: argparse.Namespace, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cases of a stage, in an order that treats models alike if time runs out."""
    found = []
    if asked.stage == "tune":
        for number, fold, data, model in product(range(asked.draws), TUNED, asked.data, asked.models):
            found.append({"data": data, "model": model, "fold": fold, "seed": 0, "changes": drawn(number)})
    else:
        for seed, fold, data, model in product(range(asked.seeds), FOLDS, asked.data, asked.models):
            changes = {} if asked.few else best_changes(lines, model, data)
            if changes is not None:
                found.append({"data": data, "model": model, "fold": fold, "seed": seed, "changes": changes})
    stage = "few" if asked.few and asked.stage == "final" else asked.stage
    return [{"stage": stage, "epochs": asked.epochs} | case for case in found]


def table(lines: list[dict[str, Any]], data: str, stage: str = "final") -> None:
    """Print scores on test in per cent, mean and deviation over splits and seeds, the model with the best validation first."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line["stage"] == stage and line["data"] == data and "test" in line:
            rows.setdefault(line["model"], []).append(line)
    print(f"| decoder and space | runs | {' | '.join(SCORES.values())} |")
    print(f"| --- | ---: |{' ---: |' * len(SCORES)}")
    for model, found in sorted(rows.items(), key=lambda row: -statistics.fmean(line["val"]["roc_auc"] for line in row[1])):
        cells = []
        for score in SCORES:
            values = [100 * line["test"][score] for line in found if score in line["test"]]
            spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{statistics.fmean(values):.1f}{spread}" if values else "")
        kind, space = model.split()
        about = f" ({ABOUT[model]})" if model in ABOUT else ""
        print(f"| `{kind}`, `{space}`{about} | {len(found)} | {' | '.join(cells)} |")


def main() -> None:
    """Measure what is asked for and not known yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["tune", "final", "table"])
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--few", action="store_true", help="take the default settings, without a search")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no training begins")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    if asked.stage != "table":
        known, until = {key_of(line) for line in lines}, time.time() + asked.limit
        jobs = [(case, asked.device, until) for case in cases_of(asked, lines) if key_of(case) not in known]
        with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
            for found in pool.imap_unordered(measure, jobs):
                if found is not None:
                    lines.append(found)
                    with asked.out.open("a") as file:
                        file.write(json.dumps(found) + "\n")
    for data in asked.data:
        print(f"\n{data}\n")
        table(lines, data, "few" if asked.few else "final")


if __name__ == "__main__":
    main()
