"""Drawn negatives against all pairs at the same training time: mAP of reconstruction.

    python experiments/negatives.py --data wordnet-nouns --space H10 --seconds 30 --device cuda
    python experiments/negatives.py --data wordnet-nouns --part 8000 --space H5 --seconds 60 --out results.jsonl

Each way first times its steps, then gets as many epochs as fit into the time, with a schedule that ends there. Time is that of
training without evaluations: on the CPU that of the cores it had, so that other work on the machine does not count; the process
has one thread. The mAP is of all nodes. ``--part N`` takes the node that has closest to N neighbours, with these and all edges
among them.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from torch_geometric.data import Data

import qgcn
from qgcn import metrics
from qgcn.tasks import Config, Reconstruction
from qgcn.training import Trainer
from qgcn.training.machine import fabric_of
from qgcn.training.problem import build_problem

WARM, TIMED = 6, 16
"""Epochs that are not timed, and the last of those that a pace is measured on."""


def part_of(data: Data, size: int) -> Data:
    """Return a node that has about so many neighbours, with these and the edges among them."""
    edges, nodes = data.edge_index, int(data.num_nodes or 0)
    source, target = edges
    centre = int((torch.bincount(edges.flatten(), minlength=nodes) - size).abs().argmin())
    kept = torch.zeros(nodes, dtype=torch.bool)
    kept[centre] = True
    kept[target[source == centre]] = True
    kept[source[target == centre]] = True
    place = torch.cumsum(kept, 0) - 1
    return Data(edge_index=place[edges[:, kept[source] & kept[target]]], num_nodes=int(kept.sum()))


def clock(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def trained(task: Reconstruction, config: Config, until: int) -> tuple[Trainer, float, int]:
    """Return a trainer after so many epochs, the time they took and how many were timed."""
    trainer = Trainer(task.reconfigured(config), [config.seed], fabric_of(config))
    trainer.run(until=lambda: trainer.epoch >= WARM)
    began = clock(trainer.fabric.device)
    trainer.run(until=lambda: trainer.epoch >= until)
    return trainer, clock(trainer.fabric.device) - began, until - WARM


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="wordnet-nouns")
    parser.add_argument("--part", type=int, help="about how many nodes of it")
    parser.add_argument("--space", default="H10")
    parser.add_argument("--negatives", nargs="+", default=["exact", "512", "2048", "8192"])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--out", type=Path, help="file that lines of results are appended to")
    args = parser.parse_args()
    torch.set_num_threads(1)
    whole = qgcn.data.load(args.data)
    graph = whole if args.part is None else part_of(whole, args.part)
    settings = {"task": "reconstruction", "data": args.data, "space": args.space, "device": args.device}
    settings |= {"eval_every": 10**8, "yardsticks": False}
    task = build_problem(Config.checked(settings), graph, None)
    for negatives in args.negatives:
        config = Config.checked(settings | {"negatives": negatives})
        _, seconds, timed = trained(task, config, TIMED)
        epochs = max(TIMED, WARM + int(args.seconds * timed / seconds))
        # the last epoch would be validated: it is left out
        trainer, seconds, timed = trained(task, Config.checked(config.model_dump() | {"epochs": epochs + 1}), epochs)
        with torch.no_grad():
            points = trainer.predictor.eval().embed(task.x, task.graph)
            score = float(metrics.mean_average_precision(points, task.neighbourhoods, trainer.predictor.space))
        line = {"data": args.data, "nodes": task.num_nodes, "edges": task.neighbourhoods.num_edges // 2, "space": args.space}
        line |= {"negatives": negatives, "epochs": epochs, "seconds": round(seconds, 1), "step": seconds / timed, "map": score}
        line |= {"device": args.device, "temperature": float(trainer.predictor.log_temperature.detach().exp())}
        print(json.dumps(line), flush=True)
        if args.out is not None:
            with args.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
