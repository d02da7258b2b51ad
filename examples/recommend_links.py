"""Predict links: score given pairs, and recommend links that are not there yet.

Usage::

    python examples/recommend_links.py                 # characters of a novel
    python examples/recommend_links.py my_edges.csv    # two names a line
"""

import csv
import sys
import tempfile
from pathlib import Path

import networkx as nx

import qgcn
from qgcn.training import Config, Run

if len(sys.argv) > 1:
    path = sys.argv[1]
else:  # who meets whom in "Les Misérables": 77 characters, 254 pairs
    path = "characters.csv"
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(nx.les_miserables_graph().edges())

folder = Path(tempfile.mkdtemp()) / "run"
settings = {"task": "links", "data": path, "space": "Q6,2", "epochs": 100, "seeds": 3}
summary = Run.start(Config.checked(settings), folder).train()
mean, deviation = summary["roc_auc"]
print(f"ROC AUC on links that were held out: {mean:.3f} ± {deviation:.3f}")

run = qgcn.load_run(folder)  # later, or in another process
first, second = run.node_ids[:2]
(probability,) = run.score_links([(first, second)])
print(f"{first} and {second} are linked with probability {probability:.2f}")

print(f"most probable links of {first} that are not in the graph:")
print(run.recommend(first, k=5))  # .to_frame() returns a pandas data frame

print("most probable links of the whole graph:")
print(run.missing_links(k=5))

print(f"nearest to {first} in the embedding:")
print(run.neighbors(first, k=5))
