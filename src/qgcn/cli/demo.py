"""``qgcn demo``: embed a small graph made of a cycle and trees, show what happened, write a report to explore."""

from pathlib import Path
from typing import Annotated

import geoopt
import numpy as np
import torch
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from torch import Tensor

from qgcn.data import ring_of_trees
from qgcn.files import check_writable
from qgcn.manifolds import PseudoHyperboloid, Space, parse_space
from qgcn.optim import PseudoRiemannianAdam

__all__ = ["demo"]


def demo(
    space: Annotated[str, typer.Option(help="Space to embed in: E10, H10, S10, Q7,3, H5xS5, ...")] = "Q7,3",
    steps: Annotated[int, typer.Option(min=1, help="Steps of the optimiser.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0,
    report: Annotated[Path, typer.Option(help="The report to write.", metavar="FILE")] = Path("runs/demo.html"),
) -> None:
    """Embed a ring of trees, a graph of cycles and hierarchies, and tell how well the space holds it.

    Every node is a point of the space. The optimiser moves the points until neighbours in the graph are each other's
    nearest points. The report shows them in a browser.
    """
    console = Console()
    check_writable(report.parent)
    manifold = parse_space(space, learnable=True)
    edge_index = ring_of_trees()
    nodes = int(edge_index.max()) + 1
    console.print(
        f"A ring of 12 nodes, a binary tree of depth 3 on each: {nodes} nodes, {edge_index.shape[1] // 2} edges. "
        f"Embedding it in {manifold} ({manifold.dim} dimensions)."
    )
    torch.manual_seed(seed)
    points = geoopt.ManifoldParameter(manifold.random(nodes, manifold.ambient_dim, std=0.1), manifold=manifold)
    adjacency = torch.zeros(nodes, nodes, dtype=torch.bool)
    adjacency[edge_index[0], edge_index[1]] = True

    before = _recovered(manifold, points, adjacency)
    course = _fit(manifold, points, adjacency, steps, console)
    after = _recovered(manifold, points, adjacency)
    if not torch.isfinite(points).all():
        raise ValueError("the embedding diverged; try another seed")

    table = Table(title="What happened", show_header=True, header_style="bold")
    for column in ("", "before", "after"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_row("neighbours found among the nearest points", f"{before:.1%}", f"{after:.1%}")
    if isinstance(manifold, PseudoHyperboloid):
        connected = manifold.is_connected(points.unsqueeze(1), points.unsqueeze(0)).float().mean().item()
        table.add_row("pairs joined by a geodesic", "", f"{connected:.1%}")
        table.add_row("learned curvature 1/beta", "-1.00", f"{1 / manifold.beta.item():.2f}")
    console.print(table)
    _write(
        report,
        manifold,
        points.detach().as_subclass(Tensor),
        edge_index,
        course,
        {"steps": steps, "seed": seed},
        (before, after),
    )
    console.print(f"Open it in a browser: {escape(str(report.absolute()))}", highlight=False, soft_wrap=True)


Course = tuple[list[int], list[float], list[float]]
"""Steps, loss, and the share of neighbours found, every few steps."""


def _fit(manifold: Space, points: Tensor, adjacency: Tensor, steps: int, console: Console) -> Course:
    """Minimise the reconstruction loss: each neighbour against all nodes that are none, as a softmax over -distance^2."""
    course: Course = ([], [], [])
    curvature = list(manifold.parameters())
    optimiser = PseudoRiemannianAdam([{"params": [points]}, {"params": curvature, "lr": 1e-3}], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    source, target = adjacency.nonzero(as_tuple=True)
    is_other = ~adjacency & ~torch.eye(len(adjacency), dtype=torch.bool)
    columns = (TextColumn("[progress.description]{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        bar = progress.add_task("embedding", total=steps)
        for step in range(steps):
            optimiser.zero_grad()
            nearness = -4 * manifold.pairwise_dist(points).square()
            others = nearness.masked_fill(~is_other, -torch.inf).logsumexp(dim=1)
            loss = torch.nn.functional.softplus(others[source] - nearness[source, target]).mean()
            loss.backward()
            optimiser.step()
            schedule.step()
            told = step % 20 == 0 or step == steps - 1
            progress.update(bar, advance=1, description=f"embedding, loss {loss.item():.3f}" if told else None)
            if told:
                for values, value in zip(course, (step + 1, loss.item(), _recovered(manifold, points, adjacency)), strict=True):
                    values.append(value)  # type: ignore[attr-defined]
    return course


def _write(
    path: Path,
    manifold: Space,
    points: Tensor,
    edge_index: Tensor,
    course: Course,
    settings: dict[str, int],
    found: tuple[float, float],
) -> None:
    """Write the report, with the geometry of the graph; the exact view only, for UMAP alone takes longer than all the rest."""
    from qgcn.data import read_graph
    from qgcn.tasks.insights import Column
    from qgcn.viz.measured import measure_graph
    from qgcn.viz.report import write_report
    from qgcn.viz.subject import Curve, Subject, embed
    from qgcn.viz.words import describe_space

    data = read_graph(edge_index)
    levels = ["ring", "first level", "second level", "leaf"]  # of the trees, in the order of the nodes
    level = Column.of_categories("level", np.repeat(range(4), [12, 24, 48, 96]), levels)
    embedded, notices = embed(points, manifold, data, data.node_ids, extra=[level], umap=False)
    words = [
        f"A ring of 12 nodes, with a binary tree on each, {len(points)} nodes in all, was embedded in {manifold}, "
        f"{describe_space(manifold)}.",
        f"An optimiser moved the points for {settings['steps']} steps, until neighbours in the graph were nearest points: of "
        f"all neighbours, {found[1]:.1%} are found among the nearest points, {found[0]:.1%} before.",
        "A run of your own has more to show: qgcn train reconstruction --data my_edges.csv, then qgcn report.",
    ]
    settings_shown = {"task": "reconstruction", "data": "ring-of-trees", "space": str(manifold)} | settings
    curves = [Curve(settings["seed"], *course)]
    subject = Subject("demo", settings_shown, words, notices, "neighbours found", curves=curves, embedded=embedded)
    write_report([subject], path, measure_graph("ring-of-trees", manifold.ambient_dim))


@torch.no_grad()
def _recovered(manifold: Space, points: Tensor, adjacency: Tensor) -> float:
    """Return the share of neighbours that are among a node's nearest points, as many as it has neighbours."""
    distance = manifold.pairwise_dist(points).fill_diagonal_(torch.inf)
    order = distance.argsort(dim=1)
    rank = order.argsort(dim=1)
    hits = adjacency & (rank < adjacency.sum(dim=1, keepdim=True))
    return (hits.sum() / adjacency.sum()).item()
