"""Embed graphs in many spaces by one recipe, and write down how well each holds them.

python experiments/reconstruction.py --graphs web-edu power --spaces Q7,3 H10 --seeds 5 --out results.jsonl
python experiments/reconstruction.py --graphs ring-of-trees --dims 2 3 4 --seeds 2 --out frontier.jsonl

With ``--dims`` the spaces are all of so many dimensions: E, H and S, products, and every indefinite Q, with s + t = d + 1.
``--jobs`` trains several at once on one GPU, which a few thousand nodes do not fill. Every line of the output is one run:
graph, space, seed, epochs, further keys, mAP, seconds.
"""

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from qgcn.data import load
from qgcn.manifolds import spaces_of_dimension
from qgcn.tasks import Reconstruction
from qgcn.training import Config, Trainer

SPACES = ("E10", "H10", "S10", "H5xH5", "H5xS5", "S5xS5", "Q9,1", "Q8,2", "Q7,3", "Q5,5", "Q3,7", "Q1,9", "Q0,10")
GENERATED = {
    "ring-of-trees": {"ring": 47, "depth": 4},
    "torus-with-trees": {"rows": 10, "columns": 10, "depth": 3},
    "sphere-with-trees": {"points": 100, "radius": 0.5, "depth": 3},
}
"""Sizes of generated graphs: about 1,500 nodes each."""


@cache
def graph_of(name: str) -> Any:
    return load(name, **GENERATED.get(name, {}))


RECORDED = 5
"""Epochs after which the step has been recorded for the GPU."""
Run = tuple[str, str, int, dict[str, Any]]


class Embedding:
    """One embedding, given by graph, space, seed and further keys: set up, then trained on a stream of its own."""

    def __init__(self, run: Run) -> None:
        self.run = name, space, seed, options = run
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.stream = torch.cuda.Stream() if device == "cuda" else None
        config = Config.checked({"task": "reconstruction", "data": name, "space": space, "seed": seed} | options)
        fabric = Fabric(accelerator=device, devices=1)
        with torch.cuda.stream(self.stream):
            task = Reconstruction(graph_of(name), config, device=fabric.device)
            self.trainer = Trainer(task, [seed], fabric)
            self.trainer.run(until=lambda: self.trainer.epoch >= RECORDED)

    def train(self) -> dict[str, Any]:
        """Return the score and the time it took, with everything it depends on."""
        name, _, seed, options = self.run
        trainer, began = self.trainer, time.perf_counter()
        with torch.cuda.stream(self.stream):
            trainer.run()
            score, best_epoch = float(trainer.best_score), int(trainer.best_epoch)
        keys = {"graph": name, "space": trainer.config.space, "seed": seed, "epochs": trainer.config.epochs, "options": options}
        return keys | {"map": score, "best_epoch": best_epoch, "seconds": time.perf_counter() - began}


def embed(runs: list[Run], jobs: int) -> Iterator[dict[str, Any]]:
    """Train so many at once, each batch set up before any of it goes on: steps cannot be recorded while others are replayed."""
    with ThreadPoolExecutor(jobs) as workers:
        for some in batched(runs, jobs):
            yield from workers.map(Embedding.train, [Embedding(run) for run in some])


def batched(runs: list[Run], size: int) -> Iterator[list[Run]]:
    yield from (runs[first : first + size] for first in range(0, len(runs), size))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=["web-edu", "power", "bio-wormnet", "facebook"])
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--dims", nargs="+", type=int, help="all spaces of so many dimensions instead")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further keys of the config")
    parser.add_argument("--out", type=Path, default=Path("reconstruction.jsonl"))
    parser.add_argument("--eval-every", type=int, default=250)
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    given = parser.parse_args()
    options: dict[str, Any] = {"epochs": given.epochs, "eval_every": given.eval_every}
    options |= {key: json.loads(value) for key, value in (pair.split("=", 1) for pair in given.set)}
    spaces = [space for dim in given.dims for space in spaces_of_dimension(dim)] if given.dims else list(given.spaces)
    runs = [(name, space, seed, options) for seed, name, space in product(range(given.seeds), given.graphs, spaces)]
    with given.out.open("a") as out:
        for row in embed(runs, given.jobs):
            out.write(json.dumps(row) + "\n")
            out.flush()
            found = f"mAP {100 * row['map']:6.2f} in {row['seconds']:.1f} s"
            print(f"{row['graph']:17s} {row['space']:8s} seed {row['seed']}: {found}", flush=True)


if __name__ == "__main__":
    main()
