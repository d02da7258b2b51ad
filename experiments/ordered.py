"""WordNet's closure as directed pairs, held by events of spacetimes: mAP of ancestors, and of descendants.

    QGCN_DATA=... python experiments/ordered.py whole --models M10 --epochs 600 --threads 2
    QGCN_DATA=... python experiments/ordered.py part
    QGCN_DATA=... python experiments/ordered.py part --models M5 source-target --numbers 6
    QGCN_DATA=... python experiments/ordered.py part --models M10 M1xH9 --epochs 1000
    QGCN_DATA=... python experiments/ordered.py objective --models M5 --seed 1
    QGCN_DATA=... python experiments/ordered.py time --models M10

``whole`` trains on all 743,241 pairs of a noun and an ancestor. ``part`` takes the node that has closest to N neighbours, with
these and all pairs among them. ``source-target`` is the inner product of what a node is as a source and as a target, five
numbers each, by the same objective, draws and optimiser. ``objective`` compares forms of the objective on the part, in five
dimensions. ``time`` times a step over all ordered pairs, forward and backward, beside plain PyTorch in chunks.

Each case is a line of ``results/ordered.jsonl``. Seconds are those that the process had of the machine's cores, so that other
work on it does not count; those of the clock stand beside them.
"""

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

import qgcn
from negatives import part_of
from qgcn import metrics
from qgcn.kernels import Neighbourhoods, ordered_loss
from qgcn.tasks import Config
from qgcn.tasks.sampling import draw_by_kind
from qgcn.training import Run

RESULTS = Path(__file__).parent / "results" / "ordered.jsonl"
DATA = "wordnet-nouns"
PRODUCT = "source-target"
FORMS: dict[str, dict[str, Any]] = {
    "margin of light": {},
    "temperature learned": {"learned": True},
    "squared distance": {"squared": True},
    "targets alone": {"ends": 1},
    "edges weigh the same": {"balance": False},
    "drawn uniformly": {"uniform": True},
}
"""Forms of the objective."""


class SourceTarget:
    """Minus the inner product of the first half of one point and the second half of another, in the place of a distance."""

    def pairwise_dist(self, x: Tensor, y: Tensor) -> Tensor:
        half = x.shape[1] // 2
        return -x[:, :half] @ y[:, half:].T

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        half = x.shape[1] // 2
        return -(x[:, :half] * y[:, half:]).sum(1)


class Squared:
    """The square of a distance in its place."""

    def __init__(self, space: Any) -> None:
        self.space = space

    def pairwise_dist(self, x: Tensor, y: Tensor) -> Tensor:
        return self.space.pairwise_dist(x, y).square()


def trained(data: Data, settings: dict[str, Any]) -> dict[str, Any]:
    """Train the task as the command line does."""
    config = Config.checked({"task": "directed-reconstruction", "data": DATA, "yardsticks": False} | settings)
    run = Run(config, data=data)
    run.train()
    (each,) = run.results
    return {"scores": each["test"], "best_epoch": each["best_epoch"]}


def by_hand(graph: Neighbourhoods, asked: argparse.Namespace, model: str, form: dict[str, Any]) -> dict[str, Any]:
    """Train the objective as it is, without the task: of inner products, or in another form."""
    torch.manual_seed(asked.seed)
    product, nodes, ends = model == PRODUCT, graph.num_nodes, form.get("ends", 1 if asked.ends == "targets" else 2)
    space: Any = SourceTarget() if product else qgcn.parse_space(model).spatial
    width = asked.numbers if product else space.ambient_dim
    points = torch.nn.Parameter(torch.randn(nodes, width) * 0.1)
    times = torch.nn.Parameter(torch.randn(nodes) * 0.1 * (not product), requires_grad=not product)
    heat = torch.nn.Parameter(torch.tensor(1.0 if product else 20.0).log(), requires_grad=form.get("learned", False))
    generator = torch.Generator().manual_seed(asked.seed)
    optimiser = torch.optim.Adam([points, times, heat], lr=asked.lr, betas=(0.9, asked.decay))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, asked.epochs)
    options = {"squared": form.get("squared", False), "balance": form.get("balance", True)}

    def ways() -> Iterator[tuple[Tensor, Tensor, Neighbourhoods]]:
        yield points, times, graph
        if ends == 2:
            yield points.roll(width // 2, 1) if product else points, -times, graph.turned

    for _ in range(asked.epochs):
        optimiser.zero_grad()
        for x, t, way in ways():
            if form.get("uniform"):
                columns, weights = torch.randperm(nodes, generator=generator)[: asked.negatives], None
            else:
                columns, weights = draw_by_kind(way, asked.negatives, generator)
            loss = ordered_loss(x, t, way, space, columns, weights=weights, temperature=heat.exp(), **options) / ends
            loss.backward()
        optimiser.step()
        schedule.step()
    ends, measured = 2, Squared(space) if form.get("squared") else space
    found = [float(metrics.mean_average_precision(x.detach(), way, measured, lead=t.detach())) for x, t, way in ways()]
    return {"scores": dict(zip(("map", "map_in"), found, strict=True)), "temperature": float(heat.detach().exp())}


def timed(step: Callable[[], None], repeats: int = 5) -> float:
    """Return the least seconds of the process that a step took."""
    step()
    took = []
    for _ in range(repeats):
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
    return min(took)


def times(graph: Neighbourhoods, space: str) -> dict[str, Any]:
    """Return the nanoseconds per ordered pair of a step over all pairs, of the kernels and of plain PyTorch."""
    spatial, nodes = qgcn.parse_space(space).spatial, graph.num_nodes
    points = torch.randn(nodes, spatial.ambient_dim).mul_(0.1).requires_grad_()
    moments = torch.randn(nodes).mul_(0.1).requires_grad_()
    known = torch.zeros(nodes, nodes, dtype=torch.bool)
    known[graph.source, graph.target] = True
    known.fill_diagonal_(True)
    share = graph.share.float()

    def kernels() -> None:
        ordered_loss(points, moments, graph, spatial, temperature=20.0, balance=True).backward()

    def plain() -> None:
        for part in graph.chunks(1024):
            rows = slice(part.first, part.first + part.rows)
            score = 20 * (moments - torch.cdist(points[rows], points))
            rest = score.masked_fill(known[rows], -math.inf).logsumexp(1)
            row, target = graph.source[part.edges], graph.target[part.edges]
            cost = torch.nn.functional.softplus(rest[row - part.first] - score[row - part.first, target])
            (share[part.edges] @ cost).backward()

    pairs = len(graph.joined) * nodes
    return {name: round(1e9 * timed(step) / pairs, 3) for name, step in (("kernels", kernels), ("plain", plain))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["whole", "part", "objective", "time"])
    parser.add_argument("--models", nargs="+", default=["M10", "M1xH9", PRODUCT])
    parser.add_argument("--part", type=int, default=8000, help="about how many nodes of a part")
    parser.add_argument("--negatives", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=300)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--decay", type=float, default=0.95)
    parser.add_argument("--numbers", type=int, default=10, help="numbers of a node in inner products")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ends", choices=["both", "targets"], default="both")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    data = qgcn.data.load(DATA)
    if asked.stage != "whole":
        data = part_of(data, asked.part)
        data.directed = True
    graph = Neighbourhoods.of(data.edge_index, data.num_nodes)
    common = {"epochs": asked.epochs, "negatives": asked.negatives, "lr": asked.lr, "decay": asked.decay, "seed": asked.seed}
    common |= {"ends": asked.ends}
    cases: list[tuple[str, str, Callable[[], dict[str, Any]]]] = []
    for model in asked.models[:1] if asked.stage in ("objective", "time") else asked.models:
        settings = {"space": model, "epochs": asked.epochs, "negatives": str(asked.negatives), "lr": asked.lr}
        settings |= {"adam_decay": asked.decay, "seed": asked.seed, "ends": asked.ends, "eval_every": max(1, asked.epochs // 4)}
        if asked.stage == "time":
            cases.append((model, "", lambda model=model: times(graph, model)))
        elif asked.stage == "objective":
            cases += [(model, name, lambda m=model, f=form: by_hand(graph, asked, m, f)) for name, form in FORMS.items()]
        elif model == PRODUCT:
            cases.append((model, "", lambda model=model: by_hand(graph, asked, model, {})))
        else:
            cases.append((model, "", lambda settings=settings: trained(data, settings)))
    for model, form, case in cases:
        clock, process = time.monotonic(), time.process_time()
        found = case()
        about = {"seconds": round(time.process_time() - process, 1), "clock": round(time.monotonic() - clock, 1)}
        line = {"stage": asked.stage, "model": model, "form": form, "nodes": graph.num_nodes, "pairs": graph.num_edges}
        numbers = asked.numbers if model == PRODUCT else qgcn.parse_space(model).dim
        line |= {"numbers": numbers} | common | found | about | {"device": "cpu", "threads": asked.threads}
        line |= {"version": qgcn.__version__, "torch": torch.__version__}
        print(json.dumps(line), flush=True)
        with asked.out.open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
