"""QGCNConv inside a PyTorch Geometric model, with a training loop of your own.

Usage::

    python examples/pyg_model.py          # a generated graph with classes
    python examples/pyg_model.py cora     # a data set (downloaded if it is not there)
"""

import sys

import torch
import torch.nn.functional as F  # noqa: N812
from torch_geometric.nn import GCNConv

import qgcn

data = qgcn.data.load(sys.argv[1] if len(sys.argv) > 1 else "stochastic-block")
x = torch.eye(data.num_nodes) if data.x is None else data.x
classes = int(data.y.max()) + 1


class Net(torch.nn.Module):
    """A pseudo-Riemannian layer, then a layer of PyTorch Geometric."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.space = qgcn.parse_space("Q12,4", learnable=True)
        self.first = qgcn.nn.QGCNConv(features, self.space)  # features to points
        self.second = GCNConv(self.space.ambient_dim, classes)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        points = self.first(x, edge_index)
        flat = self.space.logmap0(points)  # tangent vectors: Euclidean layers take them
        return self.second(F.dropout(flat, training=self.training), edge_index)


torch.manual_seed(0)
model = Net(x.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

for epoch in range(1, 101):
    model.train()
    optimizer.zero_grad()
    out = model(x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        model.eval()
        with torch.no_grad():
            right = model(x, data.edge_index).argmax(1) == data.y
        val, test = (
            right[mask].float().mean() for mask in (data.val_mask, data.test_mask)
        )
        print(f"epoch {epoch:3}  loss {loss:.3f}  val {val:.3f}  test {test:.3f}")

print(f"curvature learned: {model.space.curvatures[0]:.3f}")
