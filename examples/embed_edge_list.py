"""Embed the nodes of an edge list, look up the nearest nodes, save the embedding.

Usage::

    python examples/embed_edge_list.py                 # characters of a novel
    python examples/embed_edge_list.py my_edges.csv    # two names a line
"""

import csv
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import torch

import qgcn

if len(sys.argv) > 1:
    path = Path(sys.argv[1])
else:  # who meets whom in "Les Misérables": 77 characters, 254 pairs
    path = Path("characters.csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(nx.les_miserables_graph().edges())

# 4 space and 2 time dimensions: room for hierarchies and for cycles
model = qgcn.QGCNEmbedding(space="Q4,2", epochs=200, random_state=0)
points = model.fit_transform(path)  # (N, 6), rows in the order of model.node_ids_
names = model.node_ids_
print(f"{len(points)} nodes in {model.space_}, mAP {model.scores_['map']:.3f}")

# distances are those of the space, not Euclidean ones
distance, index = qgcn.kernels.nearest_neighbours(
    torch.from_numpy(points), model.space_, k=min(5, len(points) - 1)
)
for node in range(3):
    print(f"nearest to {names[node]}: {', '.join(map(str, names[index[node]]))}")

np.savez("embedding.npz", points=points, names=names)
print("written to embedding.npz")
