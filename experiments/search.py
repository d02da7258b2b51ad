"""Choose hyperparameters on validation: the same random search, with the same budget, for every model.

Trial ``i`` of a task has the same settings for every model, so that none is favoured by the draw. Test scores are not read.

    python experiments/search.py --tasks classification:cora links:cora --models qgcn:Q15,1 gcn:E16 hgcn:H16 --trials 20
"""

import argparse
import json
import multiprocessing
import os
import random
import re
import time
from pathlib import Path

CHOICES = {
    "dropout": [0.0, 0.1, 0.3, 0.5],
    "feature_dropout": [0.0, 0.3, 0.5, 0.7, 0.8],
    "weight_decay": [0.0, 1e-4, 5e-4, 1e-3],
    "layers": [2, 2, 3],
    "activation": ["relu", "tanh", "elu", "identity"],
    "row_normalize": [True, True, False],
    "beta": [-0.25, -1.0, -4.0, -16.0],
    "aggregation": ["sym", "mean"],
}
OF_TASK = {
    "links": {"lr": [0.01, 0.02], "width": [1, 4], "edge_dropout": [0.0, 0.2, 0.5, 0.8], "one_hot": [False, False, True]},
    "classification": {"lr": [0.005, 0.01, 0.02], "width": [1, 1, 4], "edge_dropout": [0.0, 0.0, 0.3], "one_hot": [False]},
}
# airport has ten dense features, not a bag of words: dropping them, or dividing by their sum, never helped any model
# second round for links: the best trials of the first had mean aggregation and wide hidden layers
_LINKS = {"aggregation": ["mean"], "width": [4], "edge_dropout": [0.2, 0.5, 0.8]}
OF_DATA = {
    "links:citeseer": _LINKS,
    "links:airport": _LINKS | {"one_hot": [True]},
    "classification:airport": {"row_normalize": [False], "feature_dropout": [0.0], "layers": [3, 4]},
}
BUDGET = {"classification": {"epochs": 300, "patience": 100}, "links": {"epochs": 400, "patience": 100, "eval_every": 5}}


def widened(space: str, factor: int) -> str:
    """Multiply the coordinates of a space; one time dimension stays one."""
    if space[0] != "Q":
        return re.sub("[0-9]+", lambda match: str(int(match[0]) * factor), space)
    space_dim, time_dim = map(int, space[1:].split(","))
    time = time_dim if time_dim == 1 else time_dim * factor
    return f"Q{(space_dim + time_dim) * factor - time},{time}"


def draw(task: str, data: str, trial: int) -> dict[str, object]:
    """Draw the settings of a trial."""
    chance = random.Random(f"{task} {data} {trial}")  # noqa: S311
    choices = CHOICES | OF_TASK[task] | OF_DATA.get(f"{task}:{data}", {})
    return {name: chance.choice(values) for name, values in choices.items()}


def settings_of(task: str, data: str, model: str, space: str, number: int) -> dict[str, object]:
    """Return the config of a trial."""
    alone = {"blend": False, "yardsticks": False}  # the network is searched, not what it is weighed with
    settings = {"task": task, "data": data, "model": model, "space": space, **alone, **BUDGET[task], **draw(task, data, number)}
    width = settings.pop("width")
    if width > 1:
        settings["hidden"] = widened(space, width)
    if model in ("gcn", "gat", "sage", "sgc", "mlp"):
        del settings["beta"], settings["aggregation"]  # PyTorch Geometric's own networks have neither
    if data == "airport":
        settings["degree_features"] = True
    return settings


def trial(job: tuple[dict[str, object], int, int]) -> dict[str, object]:
    """Train one model with the settings of one trial; return its mean validation score over seeds."""
    import warnings

    warnings.filterwarnings("ignore")
    import torch

    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    settings, number, seeds = job
    began = time.time()
    try:
        run = Run(Config.checked(settings | {"seeds": seeds}))
        run.train()
        score = sum(result["val"][run.task.metric] for result in run.results) / seeds
    except ValueError as error:  # diverged
        score, settings = 0.0, settings | {"error": str(error)}
    return {"settings": settings, "trial": number, "seeds": seeds, "validation": score, "seconds": time.time() - began}


def finalists(file: Path, top: int) -> list[tuple[dict[str, object], int]]:
    """Return the best trials of each task and model, among the trials that every model of the task has done."""
    done: dict[tuple[str, str], dict[tuple[str, str], dict[int, dict[str, object]]]] = {}
    for line in file.read_text().splitlines():
        result = json.loads(line)
        at = result["settings"]
        models = done.setdefault((at["task"], at["data"]), {})
        models.setdefault((at["model"], at["space"]), {})[result["trial"]] = result
    chosen = []
    for models in done.values():
        common = set.intersection(*(set(trials) for trials in models.values()))
        for trials in models.values():
            ranked = sorted((trials[number] for number in common), key=lambda result: -result["validation"])
            chosen += [(result["settings"], result["trial"]) for result in ranked[:top]]
    return chosen


def main() -> None:
    """Search, and write every trial and the best settings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=[], help="task:data")
    parser.add_argument("--models", nargs="+", default=[], help="model:space")
    parser.add_argument("--refine", type=Path, help="file of trials whose best are to be tried with more seeds")
    parser.add_argument("--top", type=int, default=3, help="how many of them, for each task and model")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--out", type=Path, default=Path("search.jsonl"))
    given = parser.parse_args()
    if given.refine is not None:
        jobs = [(settings, number, given.seeds) for settings, number in finalists(given.refine, given.top)]
    else:
        jobs = [
            (settings_of(*task.split(":"), *model.split(":"), number), number, given.seeds)
            for number in range(given.first, given.first + given.trials)
            for task in given.tasks
            for model in given.models
        ]
    began = time.time()
    context = multiprocessing.get_context("spawn")
    with context.Pool(given.jobs) as pool, given.out.open("a") as file:  # every trial is kept, whatever happens later
        for done, result in enumerate(pool.imap_unordered(trial, jobs), 1):
            file.write(json.dumps(result) + "\n")
            file.flush()
            if done % 50 == 0:
                print(f"{done}/{len(jobs)} trials, {time.time() - began:.0f} s", flush=True)
            if time.time() - began > given.seconds:
                pool.terminate()
                break


if __name__ == "__main__":
    main()
