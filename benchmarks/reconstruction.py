"""Time a step of the exact all-pairs objective, forward and backward, and its memory, against the number of nodes, in one run.

    python benchmarks/reconstruction.py [--device cpu] [--nodes 1000 2000 4000 ...] [--data web-edu power] [--seconds 5]
    python benchmarks/reconstruction.py --epochs --device cuda --nodes 1000000 --data web-edu power wordnet-nouns

Contenders, each beside our kernels with the same objective in the same space (10 coordinates, beta and temperature learnable):

- PyTorch: the Gram matrix of the indefinite product, a branch each for arccosh and arccos, a masked logsumexp. Nothing fused.
- PyKeOps: LazyTensors, all others in the denominator, because it cannot leave out the pairs of a sparse graph.
- geoopt: a shallow embedding with ``geoopt.Lorentz``: the distances of all pairs, a softmax over all others.

At the smallest size all contenders must give the same loss. Rounds alternate in a random order, as in ``geometry.py``; times
are medians, ratios medians of the ratios of each round to our kernels: above 1 we are faster. A contender that would take more
than ``--seconds`` a step is left out of larger sizes, one that runs out of memory is shown as such. On a GPU memory is what
PyTorch allocated at its peak, on the CPU how much the process grew, both above what was there before the step. "of peak" is the
rate of arithmetic of our step over that of a large float32 matrix product in the same run.

With ``--epochs`` whole epochs of ``qgcn train reconstruction`` are timed instead, without contenders: coordinates, objective,
gradient, optimiser; on a GPU recorded and replayed, as in training.
"""

import argparse
import ctypes
import gc
import json
import math
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import geoopt
import torch
from lightning_fabric import Fabric
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Data

import qgcn
from qgcn.kernels import Neighbourhoods, backend, reconstruction_loss
from qgcn.tasks import Reconstruction
from qgcn.training import Config, Trainer

Step = Callable[[], Tensor]
TIME, DIM = 3, 10


class Contender(NamedTuple):
    """What is timed, and which of ours it is compared with."""

    make: Callable[[Tensor, Neighbourhoods], tuple[list[Tensor], Step]]
    against: str
    space: str


def stepping(leaves: list[Tensor], loss: Step) -> Step:
    def step() -> Tensor:
        value = loss()
        torch.autograd.grad(value, leaves)
        return value.detach()

    return step


# --- contenders ----------------------------------------------------------------------------------------------------------


def ours(space_name: str, denominator: str) -> Callable[[Tensor, Neighbourhoods], tuple[list[Tensor], Step]]:
    def make(points: Tensor, graph: Neighbourhoods) -> tuple[list[Tensor], Step]:
        space = qgcn.parse_space(space_name, learnable=True).to(points.device)
        x, tau = leaves_of(points)
        leaves = [x, tau, *space.parameters()]
        return leaves, lambda: reconstruction_loss(x, graph, space, temperature=tau, denominator=denominator)

    return make


def plain(points: Tensor, graph: Neighbourhoods) -> tuple[list[Tensor], Step]:
    x, tau = leaves_of(points)
    beta = torch.tensor(-1.0, device=x.device, requires_grad=True)
    n = len(x)
    left_out = torch.eye(n, dtype=torch.bool, device=x.device)
    left_out[graph.source, graph.target] = True
    signs = signs_of(x)

    def loss() -> Tensor:
        energy = tau * -beta * textbook_length((x * signs) @ x.T / beta).square()
        log_sum = energy.neg().masked_fill(left_out, -math.inf).logsumexp(1)
        return torch.nn.functional.softplus(energy[graph.source, graph.target] + log_sum[graph.source]).mean()

    return [x, tau, beta], loss


def keops(points: Tensor, graph: Neighbourhoods) -> tuple[list[Tensor], Step]:
    import pykeops
    from pykeops.torch import LazyTensor

    pykeops.set_verbose(False)
    x, tau = leaves_of(points)
    beta = torch.tensor(-1.0, device=x.device, requires_grad=True)
    signs, number = signs_of(x), torch.arange(len(x), device=x.device, dtype=x.dtype).view(-1, 1)

    def loss() -> Tensor:
        cosine = (LazyTensor(x[:, None, :]) * LazyTensor((x * signs / beta)[None])).sum(-1)
        outer = (cosine.abs() - 1).relu() + (1 + EDGE)
        rise = (outer + (outer**2 - 1).sqrt()).log()
        angle = cosine.clamp(-1 + EDGE, 1 - EDGE).acos()
        length = (cosine - 1).ifelse(rise, (cosine + 1).ifelse(angle, rise + math.pi))
        itself = 0.5 - (LazyTensor(number[:, None, :]) - LazyTensor(number[None])) ** 2
        energy = length**2 * LazyTensor((tau * -beta).view(1, 1, 1))
        log_sum = (-itself.ifelse(itself + FAR, energy)).logsumexp(dim=1).view(-1)
        pairs = (x[graph.source] * signs * x[graph.target]).sum(-1) / beta
        return (tau * -beta * textbook_length(pairs).square() + log_sum[graph.source]).mean()

    return [x, tau, beta], loss


def lorentz(points: Tensor, graph: Neighbourhoods) -> tuple[list[Tensor], Step]:
    space = geoopt.Lorentz(learnable=True).to(points.device)
    x, tau = leaves_of(points)
    itself = torch.eye(len(x), dtype=torch.bool, device=x.device)

    def loss() -> Tensor:
        energy = tau * space.dist(x.unsqueeze(1), x.unsqueeze(0)).square()
        log_sum = energy.neg().masked_fill(itself, -math.inf).logsumexp(1)
        return (energy[graph.source, graph.target] + log_sum[graph.source]).mean()

    return [x, tau, *space.parameters()], loss


EDGE = 1e-6
"""How far from the ends of its domain the textbook keeps an arccosine: its slope there is infinite."""
FAR = 1e6


def textbook_length(cosine: Tensor) -> Tensor:
    rise = torch.arccosh(cosine.abs().clamp(min=1 + EDGE))
    angle = torch.arccos(cosine.clamp(-1 + EDGE, 1 - EDGE))
    return torch.where(cosine >= 1, rise, torch.where(cosine > -1, angle, math.pi + rise))


def leaves_of(points: Tensor) -> tuple[Tensor, Tensor]:
    return points.clone().requires_grad_(), torch.ones((), device=points.device, requires_grad=True)


def signs_of(x: Tensor) -> Tensor:
    return torch.cat((-torch.ones(TIME), torch.ones(DIM - TIME))).to(x)


CONTENDERS = {
    "qgcn": Contender(ours("Q7,3", "negatives"), "qgcn", "Q7,3"),
    "PyTorch": Contender(plain, "qgcn", "Q7,3"),
    "qgcn, all others": Contender(ours("Q7,3", "others"), "qgcn, all others", "Q7,3"),
    "PyKeOps, all others": Contender(keops, "qgcn, all others", "Q7,3"),
    "qgcn H9, all others": Contender(ours("H9", "others"), "qgcn H9, all others", "H9"),
    "geoopt H9, all others": Contender(lorentz, "qgcn H9, all others", "H9"),
}


# --- measuring -------------------------------------------------------------------------------------------------------------


def seconds(step: Step, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def mebibytes(step: Step, device: str) -> float:
    """Return by how much memory grows at the peak of a step."""
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        torch.cuda.synchronize()
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = _status("VmRSS")
    step()
    return (_status("VmHWM") - before) / 2**10


def _status(name: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def out_of_memory(error: Exception) -> bool:
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "memory" in str(error).lower()


def operations(space: str) -> int:
    """Return floating-point operations of a step of our kernels for each ordered pair; a fused multiply-add is two.

    Counted by hand from ``kernels/gpu_pair.py`` for one quadric of ``d`` coordinates, ``t`` of them negative. Comparisons,
    choices, absolute values, loads and bits are not counted; a root, a logarithm, a power and a division count as one each.

    Forward: product of the time parts 2t; ratio of reaches 2; difference 2d; its square 2d; gap and chord 6; the turn 1;
    polynomial of degree 10: 20; sine and square 5; beyond it the logarithm 8; around the antipode 4; energy and sum 6.
    Backward, which meets each pair from both ends: all of that but the sum, 4d + 2t + 48; slopes 8; energy 3; weights of both
    ends 7; sums for temperature and beta 4; push 1; difference again and sums for the point 4d.
    """
    time_dim = TIME if space == "Q7,3" else 1
    forward = 4 * DIM + 2 * time_dim + 52
    backward = 8 * DIM + 2 * time_dim + 71
    return forward + backward


def peak_rate(device: str) -> float:
    """Return operations a second of a large float32 matrix product, without shorter formats."""
    torch.backends.cuda.matmul.allow_tf32 = False
    n = 8192 if device == "cuda" else 2048
    a, b = torch.randn(2, n, n, device=device)
    times = [seconds(lambda: a @ b, device) for _ in range(10)]
    return 2 * n**3 / min(times)


def graphs(options: argparse.Namespace) -> list[tuple[str, int, Tensor]]:
    found = []
    for nodes in options.nodes:
        ends = torch.randint(nodes, (2, nodes // 2 if options.epochs else nodes))
        child = torch.arange(1, nodes)
        tree = torch.stack(((child - 1).div(3, rounding_mode="floor"), child))
        ring = torch.stack((torch.arange(nodes), torch.arange(nodes).roll(1)))
        edges = torch.cat((tree if options.epochs else ring, ends), dim=1)
        edges = edges[:, edges[0] != edges[1]]
        found.append((f"generated {nodes:,}", nodes, torch.cat((edges, edges.flip(0)), dim=1)))
    for name in options.data:
        try:
            data = qgcn.data.undirected(qgcn.data.load(name))
        except (OSError, ValueError, RuntimeError) as error:
            Console(stderr=True).print(f"{name} is left out: {str(error).splitlines()[0]}")
            continue
        found.append((name, int(data.num_nodes), data.edge_index))
    return sorted(found, key=lambda graph: graph[1])


def measure(graph: tuple[str, int, Tensor], slow: dict[str, float], options: argparse.Namespace, check: bool) -> list[dict]:
    title, nodes, edges = graph
    device = options.device
    prepared = Neighbourhoods.of(edges.to(device), nodes)
    rows, steps = {}, {}
    for name, contender in CONTENDERS.items():
        if options.only and name not in options.only and name != contender.against:
            continue
        rows[name] = {"graph": title, "nodes": nodes, "contender": name}
        if slow.get(name, 0.0) * nodes**2 > options.seconds:
            rows[name]["note"] = "too slow"
            continue
        space = qgcn.parse_space(contender.space)
        drawn = space.random(nodes, DIM, std=0.5, generator=torch.Generator().manual_seed(0))
        points = drawn.as_subclass(Tensor).float().to(device)
        try:
            step = stepping(*contender.make(points, prepared))
            rows[name]["loss"] = float(step())
            slow[name] = seconds(step, device) / nodes**2
            rows[name]["MiB"] = mebibytes(step, device)
            if name.startswith("qgcn"):
                rows[name]["path"] = backend()
            steps[name] = step
        except ImportError as error:
            rows[name]["note"] = f"not installed: {error.name}"
        except Exception as error:
            if not out_of_memory(error):
                raise
            rows[name]["note"] = "out of memory"
            slow[name] = math.inf
    if check:
        for name in steps:
            mine, theirs = (rows[each]["loss"] for each in (CONTENDERS[name].against, name))
            if abs(mine - theirs) > 1e-3 * abs(mine):
                raise RuntimeError(f"{name} does not compute the same loss: {theirs}, expected {mine}")
    times: dict[str, list[float]] = {name: [] for name in steps}
    begin = time.perf_counter()
    for count in range(options.rounds):
        if count >= 3 and time.perf_counter() - begin > options.patience:
            break
        for name, step in random.sample(list(steps.items()), len(steps)):
            times[name].append(seconds(step, device))
    for name, values in times.items():
        rows[name]["ms"] = 1e3 * median(values)
        rows[name]["rounds"] = len(values)
        base = times.get(CONTENDERS[name].against)
        if base:
            rows[name]["ratio"] = median(a / b for a, b in zip(values, base, strict=True))
        if name.startswith("qgcn"):
            rows[name]["rate"] = operations(CONTENDERS[name].space) * nodes**2 / median(values)
    return list(rows.values())


def whole_epochs(graph: tuple[str, int, Tensor], device: str, patience: float) -> dict:
    """Time epochs of the trainer, without evaluation, after those in which kernels are compiled and the step is recorded."""
    title, nodes, edges = graph
    never = {"epochs": 10_000, "eval_every": 10_000}
    config = Config.checked({"task": "reconstruction", "data": title, "space": "Q7,3", "device": device} | never)
    fabric = Fabric(accelerator=device, devices=1)
    data = Data(edge_index=torch.unique(edges, dim=1), num_nodes=nodes)
    task = Reconstruction(data, config, device=fabric.device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    trainer = Trainer(task, [0], fabric)

    def advance(count: int) -> None:
        goal = trainer.epoch + count
        trainer.run(until=lambda: trainer.epoch >= goal)

    advance(5 if device == "cuda" else 1)
    once = seconds(lambda: advance(1), device)
    count = max(1, min(40, int(patience / once)))
    each = min(seconds(lambda: advance(count), device) / count for _ in range(3 if count > 1 else 1))
    memory = torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else math.nan
    return {"graph": title, "nodes": nodes, "ms": 1e3 * each, "MiB": memory, "epochs": count}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--nodes", type=int, nargs="*", default=[1000 * 2**k for k in range(11)], help="of generated graphs")
    parser.add_argument("--data", nargs="*", default=["web-edu", "power"], help="named graphs, where they are found")
    parser.add_argument("--seconds", type=float, default=5.0, help="a step that takes longer is not tried")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--patience", type=float, default=20.0, help="seconds of rounds for each graph, but at least three rounds"
    )
    parser.add_argument("--memory", type=float, default=8.0, help="GiB that a process on the CPU may take")
    parser.add_argument("--only", nargs="*", help="contenders, besides our own")
    parser.add_argument("--epochs", action="store_true", help="time whole epochs of our own training instead")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    if options.device == "cpu":
        bound = int((options.memory + 1) * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    if options.epochs:
        rows = [whole_epochs(graph, options.device, options.patience) for graph in graphs(options)]
        table = Table(title="epochs of training, Q7,3")
        for column in ("graph", "ms an epoch", "peak MiB"):
            table.add_column(column, justify="left" if column == "graph" else "right")
        for row in rows:
            table.add_row(row["graph"], f"{row['ms']:,.2f}", "" if math.isnan(row["MiB"]) else f"{row['MiB']:,.0f}")
        Console(width=120).print(table)
        return
    peak = peak_rate(options.device)
    slow: dict[str, float] = {}
    rows: list[dict] = []
    for index, graph in enumerate(graphs(options)):
        rows += measure(graph, slow, options, check=index == 0)
    where = torch.cuda.get_device_name() if options.device == "cuda" else f"{torch.get_num_threads()} CPU threads"
    title = f"float32, 10 coordinates, {where}, torch {torch.__version__}, matrix product {peak / 1e9:,.0f} Gflop/s"
    table = Table(title=title)
    for column in ("graph", "contender", "path", "ms a step", "times ours", "peak MiB", "of peak"):
        table.add_column(column, justify="left" if column in ("graph", "contender", "path") else "right")
    for row in rows:
        table.add_row(
            row["graph"],
            row["contender"],
            row.get("path", ""),
            f"{row['ms']:,.2f}" if "ms" in row else row["note"],
            f"{row['ratio']:.2f}" if "ratio" in row and CONTENDERS[row["contender"]].against != row["contender"] else "",
            f"{row['MiB']:,.1f}" if "MiB" in row else "",
            f"{row['rate'] / peak:.0%}" if "rate" in row else "",
        )
    Console(width=120).print(table)
    if options.json:
        options.json.write_text(json.dumps({"title": title, "peak": peak, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
