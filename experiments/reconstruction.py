"""Embed graphs in many spaces by one recipe, and write down how well each holds them.

python experiments/reconstruction.py --graphs web-edu power --spaces Q7,3 H10 --seeds 5 --out results.jsonl

Every line of the output is one run: graph, space, seed, epochs, mAP, distortion, seconds.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from qgcn.data import load
from qgcn.tasks import Reconstruction
from qgcn.training import Config, Trainer

SPACES = ("E10", "H10", "S10", "H5xH5", "H5xS5", "S5xS5", "Q9,1", "Q8,2", "Q7,3", "Q5,5", "Q3,7", "Q1,9", "Q0,10")


def embed(graph: Any, name: str, space: str, seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Train one embedding; return its scores and the time of an epoch."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    config = Config.checked({"task": "reconstruction", "data": name, "space": space, "seed": seed} | options)
    fabric = Fabric(accelerator=device, devices=1)
    task = Reconstruction(graph, **config.task_options())
    task.to(fabric.device, torch.float32)
    trainer = Trainer(task, config, [seed], fabric)
    began = time.perf_counter()
    trainer.run()
    seconds = time.perf_counter() - began
    found = trainer.results()[0]
    return {
        "graph": name,
        "space": config.space,
        "seed": seed,
        "epochs": config.epochs,
        "options": options,
        "map": found["test"]["map"],
        "distortion": found["test"]["distortion"],
        "best_epoch": found["best_epoch"],
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["web-edu", "power", "bio-wormnet", "facebook"])
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further keys of the config")
    parser.add_argument("--out", type=Path, default=Path("reconstruction.jsonl"))
    parser.add_argument("--eval-every", type=int, default=250)
    given = parser.parse_args()
    options: dict[str, Any] = {"epochs": given.epochs, "eval_every": given.eval_every}
    options |= {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in given.set)}
    with given.out.open("a") as out:
        for name in given.graphs:
            graph = load(name)
            for space in given.spaces:
                for seed in range(given.seeds):
                    row = embed(graph, name, space, seed, options)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(f"{name:14s} {space:8s} seed {seed}: mAP {100 * row['map']:6.2f} in {row['seconds']:.1f} s")


if __name__ == "__main__":
    main()
