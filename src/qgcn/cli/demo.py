"""``qgcn demo``: embed a small graph made of a cycle and trees, and show what happened."""

from typing import Annotated

import geoopt
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from torch import Tensor

from qgcn.data import ring_of_trees
from qgcn.manifolds import PseudoHyperboloid, Space, parse_space
from qgcn.optim import PseudoRiemannianAdam

__all__ = ["demo"]


def demo(
    space: Annotated[str, typer.Option(help="Space to embed in: E10, H10, S10, Q7,3, H5xS5, ...")] = "Q7,3",
    steps: Annotated[int, typer.Option(min=1, help="Steps of the optimiser.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the random start.")] = 0,
) -> None:
    """Embed a ring of trees, a graph of cycles and hierarchies, and tell how well the space holds it.

    Every node is a point of the space. The optimiser moves the points until neighbours in the graph are each other's
    nearest points.
    """
    console = Console()
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
    _fit(manifold, points, adjacency, steps, console)
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


def _fit(manifold: Space, points: Tensor, adjacency: Tensor, steps: int, console: Console) -> None:
    """Minimise the reconstruction loss: each neighbour against all nodes that are none, as a softmax over -distance^2."""
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
            shown = f"embedding, loss {loss.item():.3f}" if step % 20 == 0 or step == steps - 1 else None
            progress.update(bar, advance=1, description=shown)


@torch.no_grad()
def _recovered(manifold: Space, points: Tensor, adjacency: Tensor) -> float:
    """Return the share of neighbours that are among a node's nearest points, as many as it has neighbours."""
    distance = manifold.pairwise_dist(points).fill_diagonal_(torch.inf)
    order = distance.argsort(dim=1)
    rank = order.argsort(dim=1)
    hits = adjacency & (rank < adjacency.sum(dim=1, keepdim=True))
    return (hits.sum() / adjacency.sum()).item()
