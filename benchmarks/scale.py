"""Time and memory of an epoch from a thousand to a million nodes and beyond, each in a process of its own.

    python benchmarks/scale.py --out benchmarks/results/scale.jsonl            # 10^3 to 10^5 nodes, ten minutes; resumable
    python benchmarks/scale.py --out benchmarks/results/scale.jsonl --sizes 1000000
    python benchmarks/scale.py --out benchmarks/results/scale.jsonl --device cuda --sizes 1000 10000 100000 1000000
    python benchmarks/scale.py --table benchmarks/results/scale.jsonl          # what is there, with slopes

Random graphs of ten neighbours a node with 64 features and eight classes that features hint at; for directed links with edges
one way, for entailment trees with three children a node. ``full`` is the full batch, and ``batch`` mini-batches of 1,024 nodes
or 4,096 edges with fan-out 10,5, both of ``qgcn`` in Q15,1 with two layers; entailment learns coordinates in M10. Of
reconstruction in Q7,3, ``exact`` is the objective over all pairs, ``drawn`` that over 256 drawn negatives, ``blocks`` the same
in eight blocks. What a user would take instead: ``pyg``, a GCN of PyTorch Geometric, full batch; ``geoopt`` and ``pykeops``,
the exact objective as ``benchmarks/reconstruction.py`` writes it with them, in H9 and in Q7,3, without optimiser. Seconds are
those of the processor with one thread, on a GPU those on the clock, of an epoch after the first steps; a long epoch is measured
in part. Memory is the most that the process has held, graph and libraries included: 0.6 GB of it are the libraries; on a GPU it
is that of the GPU alone. A process may take ``--gigabytes``, which a GPU's addresses leave no way to enforce.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

WAYS = (
    "classification full",
    "classification batch",
    "links full",
    "links batch",
    "directed-links full",
    "directed-links batch",
    "entailment full",
    "reconstruction exact",
    "reconstruction drawn",
    "reconstruction blocks",
    "classification pyg",
    "reconstruction geoopt",
    "reconstruction pykeops",
)
OF_RECONSTRUCTION: dict[str, dict[str, Any]] = {"exact": {}, "drawn": {"negatives": "256"}}
OF_RECONSTRUCTION["blocks"] = OF_RECONSTRUCTION["drawn"] | {"blocks": 8}
CONTENDERS = {"geoopt": "geoopt H9, all others", "pykeops": "PyKeOps, all others"}
ENOUGH = 15.0
"""Seconds after which no further step is measured."""
SHORT = 0.05
"""Seconds below which steps on a GPU are not waited for one by one."""
LARGEST = {"reconstruction exact": 100_000, "reconstruction geoopt": 10_000, "reconstruction pykeops": 10_000}
"""Nodes beyond which time or memory, which grow with their square, are not spent."""


def graph(nodes: int, task: str = "classification") -> Any:
    """Return the graph of a task with features, labels and masks."""
    import torch
    from torch_geometric.data import Data

    from qgcn.data import split_nodes

    if task == "entailment":
        child = torch.arange(1, nodes)
        return Data(edge_index=torch.stack(((child - 1) // 3, child)), num_nodes=nodes, directed=True)
    draw = torch.Generator().manual_seed(0)
    one = torch.randint(nodes, (2, 5 * nodes), generator=draw)
    one = one[:, one[0] != one[1]]
    edges = one if task == "directed-links" else torch.cat((one, one.flip(0)), dim=1)
    if task == "reconstruction":
        return Data(edge_index=edges, num_nodes=nodes)
    y = torch.randint(8, (nodes,), generator=draw)
    x = torch.randn(nodes, 64, generator=draw)
    x[:, :8] += torch.nn.functional.one_hot(y, 8)
    train, val, test = split_nodes(y, train=0.7, val=0.15, seed=0)
    masks = {"train_mask": train, "val_mask": val, "test_mask": test}
    return Data(x=x, y=y, edge_index=edges, num_nodes=nodes, **masks)


def clock(device: str) -> float:
    """Return seconds: of the processor, or on the clock once a GPU has done all that it was asked for."""
    if device == "cpu":
        return time.process_time()
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def measure(way: str, nodes: int, device: str) -> dict[str, Any]:
    """Return seconds of an epoch, and the most memory held, in this process."""
    import torch

    from qgcn.training.machine import peak_memory

    torch.set_num_threads(1)
    began = time.process_time()
    task, kind = way.split()
    if kind in CONTENDERS:
        seconds, steps, of = _contender(CONTENDERS[kind], nodes, device)
    else:
        seconds, steps, of = _pyg(nodes, device) if kind == "pyg" else _ours(task, kind, nodes, device)
    most = peak_memory(torch.device(device)) or 0
    about: dict[str, Any] = {"way": way, "nodes": nodes}
    if device != "cpu":
        about |= {"device": torch.cuda.get_device_name()}
    about |= {"epoch_seconds": round(seconds, 5), "steps_measured": steps, "steps_of_epoch": of}
    return about | {"peak_gb": round(most / 1e9, 3), "whole_seconds": round(time.process_time() - began, 1)}


def _ours(task: str, kind: str, nodes: int, device: str) -> tuple[float, int, int]:
    from qgcn.training import Config, Run
    from qgcn.training.blocks import training_of

    settings: dict[str, Any] = {"task": task, "data": "random", "device": device, "epochs": 10_000, "eval_every": 10_000}
    if task == "reconstruction":
        settings |= {"space": "Q7,3"} | OF_RECONSTRUCTION[kind]
    elif task != "entailment":
        settings |= {"space": "Q15,1", "model": "qgcn"} | ({} if task == "directed-links" else {"blend": False})
    if kind == "batch":
        settings |= {"batch_size": 1024 if task == "classification" else 4096, "fanout": "10,5"}
        settings |= {"along": "arrows"} if task == "directed-links" else {}
    run = Run(Config.checked(settings), data=graph(nodes, task))
    trainer = training_of(run.task, [0], run.fabric, None, None)
    of, taken = trainer.parts, 0
    for _ in range(trainer.warm_epochs if of == 1 else 3):  # the first ones lay things out, or record
        began = clock(device)
        trainer.run(until=lambda: True)
    wanted, alone = (3, True) if device == "cpu" else (50, clock(device) - began > SHORT)
    began = clock(device)

    def enough() -> bool:
        nonlocal taken
        taken += 1
        return taken >= max(of, wanted) or (clock(device) if alone else time.perf_counter()) - began > ENOUGH

    trainer.run(until=enough)
    return (clock(device) - began) / taken * of, taken, of


def _contender(name: str, nodes: int, device: str) -> tuple[float, int, int]:
    import torch

    import reconstruction
    from qgcn.kernels import Neighbourhoods

    contender = reconstruction.CONTENDERS[name]
    points = reconstruction.qgcn.parse_space(contender.space).random(nodes, 10).to(device)
    leaves, step = contender.make(points, Neighbourhoods.of(graph(nodes, "reconstruction").edge_index.to(device), nodes))
    return _timed(lambda: torch.autograd.grad(step(), leaves), device)


def _timed(step: Callable[[], Any], device: str) -> tuple[float, int, int]:
    """Take up to three steps after a first one."""
    step()
    began, taken = clock(device), 0
    while taken < 3 and clock(device) - began < ENOUGH:
        step()
        taken += 1
    return (clock(device) - began) / taken, taken, 1


def _pyg(nodes: int, device: str) -> tuple[float, int, int]:
    import torch
    from torch_geometric.nn import GCN

    data = graph(nodes).to(device)
    model = GCN(64, 16, 2, 8, dropout=0.5).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)

    def step() -> None:
        optimiser.zero_grad()
        out = model(data.x, data.edge_index)
        torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return _timed(step, device)


def table(path: Path) -> None:
    """Print what was measured, and how time grows with the number of nodes: the slope of a line on logarithmic scales."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    print("| | nodes | seconds of an epoch | GB | slope of time |\n| --- | ---: | ---: | ---: | ---: |")
    for device, way in product(dict.fromkeys(line.get("device") for line in lines), WAYS):
        rows = [line for line in lines if (line["way"], line.get("device")) == (way, device)]
        rows.sort(key=lambda line: line["nodes"])
        name = way if device is None else f"{way}, {device}"
        for before, line in zip([None, *rows], rows, strict=False):
            slope = ""
            if before is not None:
                grown = math.log(line["epoch_seconds"] / before["epoch_seconds"]), math.log(line["nodes"] / before["nodes"])
                slope = f"{grown[0] / grown[1]:.2f}"
            part = " *" if line["steps_measured"] < line["steps_of_epoch"] else ""
            print(f"| {name} | {line['nodes']:,} | {line['epoch_seconds']:.3g}{part} | {line['peak_gb']:.2f} | {slope} |")
    print("\n\\* measured in part")


def main() -> None:
    """Measure what has no line yet, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--one", nargs=2, metavar=("WAY", "NODES"), help="measure one in this process")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--gigabytes", type=float, default=10.0, help="address space of a process beyond the libraries")
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    if given.table is not None:
        table(given.table)
        return
    if given.one is not None:
        import torch  # noqa: F401  # libraries map much that they never touch

        if given.device == "cpu":
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + int(given.gigabytes * 1e9)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        print(json.dumps(measure(given.one[0], int(given.one[1]), given.device)))
        return
    done = given.out.read_text().splitlines() if given.out is not None and given.out.exists() else []
    known = {(line["way"], line["nodes"], "cuda" if "device" in line else "cpu") for line in map(json.loads, done)}
    for nodes in given.sizes:
        for way in given.ways:
            if (way, nodes, given.device) in known or nodes > LARGEST.get(way, nodes):
                continue
            command = [sys.executable, __file__, "--one", way, str(nodes), "--gigabytes", str(given.gigabytes)]
            command += ["--device", given.device]
            made = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            if made.returncode:
                print(f"{way}, {nodes:,} nodes: ended with {made.returncode}: {(made.stderr.splitlines() or [''])[-1]}")
                continue
            line = made.stdout.splitlines()[-1]
            print(line, flush=True)
            if given.out is not None:
                with given.out.open("a") as file:
                    file.write(line + "\n")


if __name__ == "__main__":
    main()
