"""Time an epoch of coordinates in blocks, with drawn negatives, on a generated hierarchy; with its memory, in one run.

    python benchmarks/blocks.py --nodes 1000000 --device cpu [--blocks 8] [--negatives 100 1024] [--store memory disk]
    python benchmarks/blocks.py --nodes 10000000 --device cuda

The graph is generated: each node is joined to its ten nearest ancestors in a binary tree, so that a million nodes have ten
million edges, none twice. An epoch takes every edge once in both directions, each against the drawn nodes of a block, with one
step of Adam for each pair of blocks. Edges are counted once. Memory is the peak of the process on the CPU, graph included, and
what PyTorch allocated at its peak on a GPU. "CPU" is the time that the process had a core, of all its threads: on a machine
that others use, it is the one to go by.

PyTorch-BigGraph states more than a million edges a second for a machine of many cores with 100 negatives an edge; there
negatives change with every few edges, here with every pair of blocks.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from qgcn.models import Coordinates
from qgcn.tasks import Config
from qgcn.training.blocks import BlockEngine, BlockGraph, BlockStore
from qgcn.training.blocks.trainer import IN_GROUP

GENERATIONS = 10


def hierarchy(num_nodes: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the edges of a node with its nearest ancestors in a binary tree, in both directions, int32."""
    below = torch.arange(1, num_nodes + 1, dtype=torch.int32, device=device)
    source, target = [], []
    for generation in range(1, GENERATIONS + 1):
        above = below >> generation
        there = above > 0
        source.append(below[there] - 1)
        target.append(above[there] - 1)
    return torch.cat([*source, *target]), torch.cat([*target, *source])


class Model(nn.Module):
    """Coordinates and a temperature, as in ``qgcn train reconstruction``."""

    def __init__(self, nodes: int, space: str) -> None:
        super().__init__()
        self.encoder = Coordinates(nodes, space)
        self.log_temperature = nn.Parameter(torch.tensor(20.0).log())


def peak(device: torch.device) -> float:
    """Return the most GB held so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure(graph: BlockGraph, args: argparse.Namespace, negatives: int, store: str, device: torch.device) -> dict[str, object]:
    settings = {"task": "reconstruction", "data": "hierarchy", "space": args.space, "epochs": 100}
    config = Config.checked(settings)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        kept = BlockStore(Path(folder) if store == "disk" else None, "seed-0", in_memory=store == "memory")
        shared = Model(1, config.space).to(device)
        engine = BlockEngine(
            graph, config, 0, device, kept, shared, lambda nodes: Model(nodes, config.space), groups=args.blocks
        )
        engine.start()
        tour = engine.tour(0)
        engine.step(0, tour[0], negatives, 1.0)  # compiles
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        began, worked, losses = time.perf_counter(), time.process_time(), []
        for epoch in range(1, 1 + args.epochs):
            losses += [sum(float(engine.step(epoch, pair, negatives, 1.0)) for pair in engine.tour(epoch))]
        if store == "disk":
            engine.settle()
        seconds, work = (time.perf_counter() - began) / args.epochs, (time.process_time() - worked) / args.epochs
    edges = graph.num_edges // 2
    return {
        **{"nodes": graph.num_nodes, "edges": edges, "blocks": args.blocks, "negatives": negatives, "store": store},
        **{"device": device.type, "threads": torch.get_num_threads(), "space": config.space, "seconds": round(seconds, 2)},
        **{"cpu_seconds": round(work, 2), "edges_per_second": round(edges / seconds), "gigabytes": round(peak(device), 2)},
        **{"losses": [round(each, 4) for each in losses]},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--negatives", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--store", nargs="+", choices=["memory", "disk"], default=["memory"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--space", default="H10")
    parser.add_argument("--threads", type=int, help="threads of the CPU; all if not given")
    parser.add_argument("--epochs", type=int, default=1, help="epochs that are timed")
    parser.add_argument("--folder", help="where files of blocks are written")
    parser.add_argument("--out", type=Path, help="file that lines of results are appended to")
    args = parser.parse_args()
    device = torch.device(args.device)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    table = Table(
        "nodes", "edges", "blocks", "negatives", "kept in", "generated", "dealt out", "epoch", "CPU", "edges/s", "memory"
    )
    for nodes in args.nodes:
        began = time.perf_counter()
        source, target = hierarchy(nodes, device)
        generated = time.perf_counter()
        graph = BlockGraph.of(source, target, nodes, IN_GROUP * args.blocks, 0)
        dealt = time.perf_counter()
        del source, target
        times = {"generated": round(generated - began, 2), "dealt": round(dealt - generated, 2)}
        for store in args.store:
            for negatives in args.negatives:
                line = measure(graph, args, negatives, store, device) | times
                print(json.dumps(line), flush=True)
                if args.out is not None:
                    with args.out.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                table.add_row(
                    *(f"{line[name]:,}" for name in ("nodes", "edges", "blocks", "negatives")),
                    store,
                    *(f"{line[name]:,.1f} s" for name in ("generated", "dealt", "seconds", "cpu_seconds")),
                    f"{line['edges_per_second']:,}",
                    f"{line['gigabytes']:.1f} GB",
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
