"""Classify whole graphs: convolutions, a readout that stays in the space, a classifier.

Trees, rings and grids of random sizes: a node knows nothing but its degree.
"""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import degree

import qgcn
from qgcn.data import cycle, grid, tree
from qgcn.nn import QGCNConv, TangentBatchNorm, TangentClassifier, TangentPool


def graphs(count: int, seed: int) -> list[Data]:
    """Draw graphs of three kinds."""
    draw = torch.Generator().manual_seed(seed)

    def number(low: int, high: int) -> int:
        return int(torch.randint(low, high, (), generator=draw))

    found = []
    for index in range(count):
        kinds = (
            lambda: tree(number(2, 4), number(2, 4)),
            lambda: cycle(number(8, 30)),
            lambda: grid(number(3, 6), number(3, 6)),
        )
        edges = kinds[index % 3]()
        degrees = degree(edges[0]).long().clamp(max=4)
        features = nn.functional.one_hot(degrees, 5).float()
        found.append(Data(x=features, edge_index=edges, y=torch.tensor([index % 3])))
    return found


class GraphClassifier(nn.Module):
    """Two convolutions, normalised between, the mean of the nodes, a classifier."""

    def __init__(self, space: str) -> None:
        super().__init__()
        hidden, outer = (qgcn.parse_space(space, learnable=True) for _ in range(2))
        self.first, self.second = QGCNConv(5, hidden), QGCNConv(hidden, outer)
        self.norm = TangentBatchNorm(hidden)
        self.pool = TangentPool(outer)
        self.classify = TangentClassifier(outer, num_classes=3)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.norm(self.first(x, edge_index))
        x = self.second(x, edge_index)
        return self.classify(self.pool(x, batch))


torch.manual_seed(0)
model = GraphClassifier("Q6,2")
train = DataLoader(graphs(120, seed=0), batch_size=24, shuffle=True)
test = DataLoader(graphs(60, seed=1), batch_size=60)
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(15):
    for batch in train:
        optimiser.zero_grad()
        logits = model(batch.x, batch.edge_index, batch.batch)
        nn.functional.cross_entropy(logits, batch.y).backward()
        optimiser.step()

model.eval()
batch = next(iter(test))
found = model(batch.x, batch.edge_index, batch.batch).argmax(1)
print(f"right for {int((found == batch.y).sum())} of the {len(batch.y)} test graphs")
