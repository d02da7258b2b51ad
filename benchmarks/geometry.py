"""Time the maps of the pseudo-hyperboloid against geoopt's Lorentz and Sphere, on the same points, in one run.

    python benchmarks/geometry.py [--nodes 100000] [--dim 16] [--dtype float32] [--device cpu] [--map dist]

Each row is one map, forward alone and forward with backward. "ratio" is our time over geoopt's eager time: below 1 is
faster. Rounds of all contenders alternate, so that whatever else the machine does falls on all of them: the times shown are
medians, the ratios medians of the ratios of each round. Before a contender is timed it runs once untimed, so that caches and
allocator are as its own repeated use leaves them. What another one leaves behind still shows (the same code twice in a fixed
order differed by a tenth, forward with backward), so each round takes them in a random order.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import geoopt
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

import qgcn

Step = Callable[[], object]


def forward(function: Callable[..., Tensor], *arguments: Tensor) -> Step:
    def step() -> object:
        with torch.no_grad():
            return function(*arguments)

    return step


def forward_backward(function: Callable[..., Tensor], *arguments: Tensor) -> Step:
    leaves = [argument.detach().clone().requires_grad_() for argument in arguments]
    weights: list[Tensor] = []

    def step() -> object:
        result = function(*leaves)
        if not weights:
            weights.append(torch.randn_like(result))
        return torch.autograd.grad(result, leaves, weights[0], allow_unused=True)

    return step


def seconds(step: Step, device: str) -> float:
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def maps(manifold: geoopt.Manifold, x: Tensor, y: Tensor, u: Tensor) -> dict[str, tuple[Callable[..., Tensor], tuple]]:
    table = {
        "exp": (manifold.expmap, (x, u)),
        "log": (manifold.logmap, (x, y)),
        "dist": (manifold.dist, (x, y)),
        "transport": (manifold.transp, (x, y, u)),
    }
    if hasattr(manifold, "expmap0"):
        table["exp0"] = (manifold.expmap0, (manifold.logmap0(x),))
        table["log0"] = (manifold.logmap0, (x,))
    return table


def compare(title: str, ours: geoopt.Manifold, theirs: geoopt.Manifold, options: argparse.Namespace) -> list[dict]:
    dtype = getattr(torch, options.dtype)
    x, y = (ours.random(options.nodes, options.dim, dtype=dtype, device=options.device) for _ in range(2))
    x, y = torch.Tensor(x), torch.Tensor(y)
    u = ours.proju(x, 0.1 * torch.randn_like(x))
    our_maps, their_maps = maps(ours, x, y, u), maps(theirs, x, y, u)
    rows = []
    for name in track(our_maps, description=title, transient=True):
        if name not in their_maps or options.map not in (None, name):
            continue
        for mode in (forward, forward_backward):
            torch.compiler.reset()
            steps = {"ours": mode(our_maps[name][0], *our_maps[name][1])}
            compiled = torch.compile(our_maps[name][0], fullgraph=True)
            steps["compiled"] = mode(compiled, *our_maps[name][1])
            steps["geoopt"] = mode(their_maps[name][0], *their_maps[name][1])
            for _ in range(5):
                for step in steps.values():
                    step()
            times: dict[str, list[float]] = {key: [] for key in steps}
            for _ in range(options.rounds):
                for key, step in random.sample(list(steps.items()), len(steps)):
                    times[key].append(seconds(step, options.device))
            row = {key: 1e3 * median(values) for key, values in times.items()}
            for key in ("ours", "compiled"):
                row[f"{key} ratio"] = median(a / b for a, b in zip(times[key], times["geoopt"], strict=True))
            rows.append({"against": title, "map": name, "mode": mode.__name__, **row})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--map", help="time this one only")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    rows = compare(
        "Lorentz",
        qgcn.PseudoHyperboloid(options.dim - 1, 1).to(options.device),
        geoopt.Lorentz().to(options.device),
        options,
    )
    rows += compare(
        "Sphere", qgcn.PseudoHyperboloid(0, options.dim).to(options.device), geoopt.Sphere().to(options.device), options
    )
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} CPU threads"
    table = Table(title=f"{options.nodes:,} pairs, d = {options.dim}, {options.dtype}, {where}, torch {torch.__version__}")
    for column in ("against", "map", "mode", "geoopt ms", "ours ms", "compiled ms", "ratio", "ratio compiled"):
        table.add_column(column, justify="left" if column in ("against", "map", "mode") else "right")
    for row in rows:
        table.add_row(
            row["against"],
            row["map"],
            row["mode"],
            f"{row['geoopt']:.2f}",
            f"{row['ours']:.2f}",
            f"{row['compiled']:.2f}",
            f"{row['ours ratio']:.2f}",
            f"{row['compiled ratio']:.2f}",
        )
    Console(width=120).print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
