"""Embed graphs in many spaces by one recipe, and write down how well each holds them.

python experiments/reconstruction.py --graphs web-edu power --spaces Q7,3 H10 --seeds 5 --out results.jsonl
python experiments/reconstruction.py --graphs ring-of-trees --dims 2 3 4 --seeds 2 --out frontier.jsonl

With ``--dims`` the spaces are all of those sizes: E, H and S of d dimensions, products, and every Q with s + t = d. Every
line of the output is one run: graph, space, seed, epochs, mAP, distortion, seconds.
"""

import argparse
import json
import os
import subprocess
import sys
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


def spaces_of(dim: int) -> list[str]:
    """Return the spaces of a size: flat, hyperbolic, spherical, products, and every signature."""
    half = dim // 2
    products = [f"H{half}xH{dim - half}", f"H{half}xS{dim - half}", f"S{half}xS{dim - half}"] if half else []
    return [f"E{dim}", f"H{dim}", f"S{dim}", *products, *(f"Q{dim - t},{t}" for t in range(1, dim + 1))]


def compile_kernels(spaces: list[str]) -> None:
    """Let Triton compile the kernels of all spaces at once, each in a process of its own, on all cores."""
    waiting, running = list(spaces), []
    command = [sys.executable, __file__, "--graphs", "ring-of-trees", "--seeds", "1", "--epochs", "6", "--out", os.devnull]
    while waiting or running:
        running = [process for process in running if process.poll() is None]
        while waiting and len(running) < (os.cpu_count() or 1):
            running.append(subprocess.Popen([*command, "--spaces", waiting.pop()], stdout=subprocess.DEVNULL))  # noqa: S603
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["web-edu", "power", "bio-wormnet", "facebook"])
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--dims", nargs="+", type=int, help="all spaces of these sizes instead")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further keys of the config")
    parser.add_argument("--out", type=Path, default=Path("reconstruction.jsonl"))
    parser.add_argument("--eval-every", type=int, default=250)
    given = parser.parse_args()
    options: dict[str, Any] = {"epochs": given.epochs, "eval_every": given.eval_every}
    options |= {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in given.set)}
    spaces = [space for dim in given.dims for space in spaces_of(dim)] if given.dims else list(given.spaces)
    if torch.cuda.is_available() and len(spaces) > 1:
        compile_kernels(spaces)
    with given.out.open("a") as out:
        for name in given.graphs:
            graph = load(name)
            for space in spaces:
                for seed in range(given.seeds):
                    row = embed(graph, name, space, seed, options)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(f"{name:14s} {space:8s} seed {seed}: mAP {100 * row['map']:6.2f} in {row['seconds']:.1f} s")


if __name__ == "__main__":
    main()
