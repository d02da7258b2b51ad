"""Train every config of ``experiments/configs`` and write the table of results: mean and standard deviation over seeds.

    QGCN_DATA=... python experiments/table.py --runs runs/table --markdown

Runs that are finished are not trained again; one that was interrupted is resumed.
"""

import argparse
import json
from pathlib import Path

from qgcn.training import Config, Run, load_run, read_config

FOLDER = Path(__file__).parent / "configs"


def train(path: Path, folder: Path) -> dict[str, object]:
    """Train one config, or go on with it, and return its results."""
    if not (folder / "results.json").exists():
        run = load_run(folder) if (folder / "config.yaml").exists() else Run.start(Config.checked(read_config(path)), folder)
        run.train()
    return json.loads((folder / "results.json").read_text()) | {"config": read_config(folder / "config.yaml")}


def main() -> None:
    """Train what is asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a config's name")
    parser.add_argument("--runs", type=Path, default=Path("runs/table"))
    given = parser.parse_args()
    rows = []
    for path in sorted(FOLDER.glob(f"*{given.only}*.yaml")):
        result = train(path, given.runs / path.stem)
        config, metric = result["config"], result["metric"]
        score = result["summary"][metric]
        name = {"f1_micro": "F1", "roc_auc": "AUC"}[metric]
        seeds = len(result["seeds"])
        rows.append((config["task"], config["data"], config["model"], config["space"], name, score, seeds))
        print(f"{path.stem}: {name} {100 * score['mean']:.2f} ± {100 * score['std']:.2f}", flush=True)
    print("\n| task | data | model | space | score | mean ± std | seeds |\n| --- | --- | --- | --- | --- | --- | --- |")
    for task, data, model, space, name, score, seeds in rows:
        value = f"{100 * score['mean']:.2f} ± {100 * score['std']:.2f}"
        print(f"| {task} | {data} | {model} | {space} | {name} | {value} | {seeds} |")


if __name__ == "__main__":
    main()
