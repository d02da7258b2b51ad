"""Optimise points of a pseudo-hyperboloid with geoopt.

A cycle with a tree at each of its nodes is embedded: points are moved until neighbours
in the graph are nearest points. Any optimiser of geoopt works; the one of qgcn learns
the curvature as well.
"""

import geoopt
import torch

import qgcn

edge_index = qgcn.data.ring_of_trees(ring=8, branching=2, depth=2)
nodes = int(edge_index.max()) + 1


def embed(kind: str) -> None:
    """Take 200 steps; print the loss and the mean average precision of neighbours."""
    torch.manual_seed(0)
    space = qgcn.PseudoHyperboloid(3, 2, learnable=kind == "qgcn")
    start = space.random(nodes, space.ambient_dim, std=0.3)
    points = geoopt.ManifoldParameter(start, manifold=space)
    if kind == "geoopt":
        optimiser = geoopt.optim.RiemannianAdam([points], lr=0.05)
    else:
        parameters = [{"params": [points]}, {"params": space.parameters(), "lr": 1e-3}]
        optimiser = qgcn.optim.PseudoRiemannianAdam(parameters, lr=0.05)
    for step in range(201):
        optimiser.zero_grad()
        loss = qgcn.kernels.reconstruction_loss(points, edge_index, space)
        if step % 50 == 0:
            precision = qgcn.metrics.mean_average_precision(points, edge_index, space)
            print(f"{kind:6}  step {step:3}  loss {loss:.3f}  mAP {precision:.3f}")
        loss.backward()
        optimiser.step()
    print(f"{kind:6}  curvature {space.curvatures[0]:.3f}")
    assert space.check_point_on_manifold(points, atol=1e-3, rtol=1e-3)


embed("geoopt")
embed("qgcn")
