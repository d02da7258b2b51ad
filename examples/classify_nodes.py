"""Learn the labels of some nodes and predict those of all others.

Usage::

    python examples/classify_nodes.py                          # four villages
    python examples/classify_nodes.py edges.csv labels.csv     # your own tables

The first table has two names a line. The second has a header, then a name and its label
a line; nodes that are not in it are unlabelled, and predicted.
"""

import sys
import tempfile
from pathlib import Path

import networkx as nx

from qgcn.training import Config, Run

VILLAGES = ("north", "east", "south", "west")


def village(person: int) -> str:
    """Return where one of the 160 people of the generated graph lives."""
    return VILLAGES[person // 40]


if len(sys.argv) > 2:
    edges, labels = sys.argv[1:3]
else:  # people know each other within villages, and sometimes across
    edges, labels = "people.csv", "villages.csv"
    graph = nx.planted_partition_graph(len(VILLAGES), 40, 0.2, 0.02, seed=0)
    Path(edges).write_text("".join(f"{a},{b}\n" for a, b in graph.edges()))
    told = "".join(f"{person},{village(person)}\n" for person in range(0, 160, 2))
    Path(labels).write_text("person,village\n" + told)

settings = {
    "task": "classification",
    "data": edges,
    "labels": labels,
    "model": "qgcn",
    "space": "Q6,2",
    "epochs": 100,
}
run = Run.start(Config.checked(settings), Path(tempfile.mkdtemp()) / "run")
run.train()

answer = run.predictions()  # one row a node: its most probable class, and how probable
print(answer)
if len(sys.argv) <= 2:
    found = dict(zip(answer["node"], answer["class"], strict=True))
    right = sum(found[person] == village(person) for person in range(1, 160, 2))
    print(f"right for {right} of the 80 people whose village was not given")
