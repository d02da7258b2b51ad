"""Recommendations for all nodes of a large generated graph: seconds, processor time and peak memory.

    python benchmarks/recommend.py                        # 40,000 nodes, 300,000 edges
    python benchmarks/recommend.py --nodes 10000 --plain  # without structural scores
    python benchmarks/recommend.py --by brute-force       # scikit-learn's neighbours in tangent coordinates
    python benchmarks/recommend.py --by matrix            # a dense matrix of distances

A run is trained for a few epochs and kept; each way is measured in a process of its own that reads it back, asks for 20 links
of every node that the graph does not have, and writes a CSV. Seconds depend on what else the machine does; processor time does
not.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

WAYS = ("qgcn", "brute-force", "matrix")
TOP = 20


def generate(nodes: int, edges: int, seed: int = 0) -> np.ndarray:
    """Draw edges between nodes that are near each other on a ring, or of which one is popular, shape ``(2, E)``."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, nodes, 2 * edges)
    step = np.ceil(rng.pareto(1.0, 2 * edges)).astype(np.int64)
    near = (source + np.where(rng.random(2 * edges) < 0.5, 1, -1) * step) % nodes
    popular = (nodes * rng.random(2 * edges) ** 2).astype(np.int64)
    target = np.where(rng.random(2 * edges) < 0.8, near, popular)
    keys = np.unique(np.minimum(source, target) * nodes + np.maximum(source, target))
    keys = keys[keys // nodes != keys % nodes]
    chosen = rng.permutation(keys)[:edges]
    return np.stack((chosen // nodes, chosen % nodes))


def train(folder: Path, nodes: int, edges: int, epochs: int, plain: bool) -> None:
    from qgcn.data import read_graph
    from qgcn.tasks import Config
    from qgcn.training import Run

    data = read_graph(generate(nodes, edges), num_nodes=nodes)
    settings = {"task": "links", "data": "generated", "epochs": epochs, "yardsticks": False, "blend": not plain}
    Run.start(Config.checked(settings), folder, data).train()


def by_qgcn(folder: Path, out: Path) -> None:
    from qgcn.export import write_table
    from qgcn.training import load_run

    write_table(out, load_run(folder).recommendations(k=TOP))


def by_brute_force(folder: Path, out: Path) -> None:
    """Rank by Euclidean distances of tangent coordinates; links that are known are left out afterwards."""
    from sklearn.neighbors import NearestNeighbors

    from qgcn.training import load_run

    run = load_run(folder)
    points, space, ids = run.embedding()
    tangent = space.logmap0(points).numpy()
    known = set(map(tuple, run.data.edge_index.T.tolist()))
    most = TOP + 1 + int(torch.bincount(run.data.edge_index[0]).max())  # as many as may be known
    found = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(tangent).kneighbors(tangent)
    with out.open("w") as file:
        for node, (distances, others) in enumerate(zip(*found, strict=True)):
            rows = [(o, d) for o, d in zip(others, distances, strict=True) if o != node and (node, int(o)) not in known]
            file.writelines(f"{ids[node]},{ids[other]},{distance}\n" for other, distance in rows[:TOP])


def by_matrix(folder: Path, out: Path) -> None:
    """Rank by all distances at once."""
    from qgcn.training import load_run

    run = load_run(folder)
    points, space, ids = run.embedding()
    distances = space.pairwise_dist(points)
    distances.fill_diagonal_(torch.inf)
    distances[tuple(run.data.edge_index)] = torch.inf
    best = distances.topk(TOP, largest=False)
    with out.open("w") as file:
        for node, (distances, others) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
            file.writelines(f"{ids[node]},{ids[other]},{distance}\n" for other, distance in zip(others, distances, strict=True))


def measure(way: str, folder: Path) -> None:
    began, worked = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "recommendations.csv"
        {"qgcn": by_qgcn, "brute-force": by_brute_force, "matrix": by_matrix}[way](folder, out)
        lines = sum(1 for _ in out.open())
    result = {
        "way": way,
        "lines": lines,
        "seconds": round(time.perf_counter() - began, 1),
        "processor seconds": round(time.process_time() - worked, 1),
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
    }
    print(json.dumps(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=40_000)
    parser.add_argument("--edges", type=int, default=300_000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help="without structural scores")
    parser.add_argument("--by", choices=WAYS, action="append", help="ways to measure (default: qgcn)")
    parser.add_argument("--folder", type=Path, help="keep the run here, and use one that is there")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch) / "run"
        if not (folder / "results.json").exists():
            train(folder, given.nodes, given.edges, given.epochs, given.plain)
        for way in given.by or ["qgcn"]:
            subprocess.run([sys.executable, __file__, "--measure", way, "--folder", str(folder)], check=True)  # noqa: S603


if __name__ == "__main__":
    main()
