"""What the objective is made of: squared or plain distances, and what an edge is weighed against, by one recipe.

QGCN_DATA=... python experiments/objective.py --graph facebook --spaces H10 Q7,3 Q3,7 --epochs 1000 --out objective.jsonl

Every line of the output is one run: graph, space, seed, epochs, squared, denominator, mAP.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from typing import get_args

from torch import Tensor
from torch_geometric.data import Data

from qgcn import kernels
from qgcn.data import load
from qgcn.kernels.pairs import Denominator
from qgcn.tasks import Reconstruction
from qgcn.tasks.reconstruction import Reconstructor
from qgcn.training import Config, Diverged, Trainer
from qgcn.training.machine import fabric_of


class Objective(Reconstruction):
    """Reconstruction by the objective ``neighbours``, changed in two places."""

    squared: bool
    denominator: Denominator

    def build_predictor(self) -> Reconstructor:
        predictor = super().build_predictor()

        def loss(x: Tensor, graph: Tensor, *_: Tensor) -> Tensor:
            options = {"squared": self.squared, "denominator": self.denominator, "balance": self.config.balance}
            temperature = predictor.log_temperature.exp()
            points = predictor.embed(x, graph)
            return kernels.reconstruction_loss(points, self.neighbourhoods, predictor.space, temperature=temperature, **options)

        predictor.loss = loss
        return predictor


def train(data: Data, config: Config, squared: bool, denominator: Denominator) -> float:
    """Return the best mAP of one run, NaN if it diverges."""
    fabric = fabric_of(config)
    task = Objective(data, config, device=fabric.device)
    task.squared, task.denominator = squared, denominator
    trainer = Trainer(task, [config.seed], fabric)
    try:
        trainer.run()
    except Diverged:
        return float("nan")
    return float(trainer.best_score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="facebook")
    parser.add_argument("--spaces", nargs="+", default=["H10", "Q7,3", "Q3,7"])
    parser.add_argument("--epochs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("objective.jsonl"))
    given = parser.parse_args()
    data = load(given.graph)
    settings = {
        "task": "reconstruction",
        "data": given.graph,
        "epochs": given.epochs,
        "seed": given.seed,
        "eval_every": given.epochs // 5,
    }
    with given.out.open("a") as out:
        for squared, denominator, space in product((True, False), get_args(Denominator), given.spaces):
            score = train(data, Config.checked(settings | {"space": space}), squared, denominator)
            keys = {"graph": given.graph, "space": space, "seed": given.seed, "epochs": given.epochs}
            out.write(json.dumps(keys | {"squared": squared, "denominator": denominator, "map": score}) + "\n")
            out.flush()
            print(f"{space:6s} {'squared' if squared else 'plain':8s} {denominator:10s} mAP {100 * score:6.2f}", flush=True)


if __name__ == "__main__":
    main()
