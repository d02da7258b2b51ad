"""Speed of the neighbour sampler: edges drawn a second, beside NumPy, SciPy, PyG's loader and the pace of memory.

    python benchmarks/sampler.py                 # a graph of a million nodes and 20 million edges, two minutes
    python benchmarks/sampler.py --nodes 100000 --threads 1 --out lines.jsonl

With one thread, times are those of the processor, not of the clock on the wall: others may be at work.

``qgcn`` draws, numbers and lays out a sample of two hops; ``plain PyTorch`` is its reference, which GPUs take. ``NumPy`` draws
with replacement, which is less work, and numbers by sorting. ``SciPy`` cuts the rows out of a matrix and keeps the first few
entries of each: no sample at all, but what many scripts do. PyG's own loader runs where pyg-lib or torch-sparse is installed.

The memory's pace: two random reads for each edge, of the edge and of the number of its end, measured by NumPy's ``take`` of
random places in an array as large as that of the edges. Entries of a row lie side by side: a sampler can be faster than that.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qgcn.kernels import use_backend
from qgcn.nn import sample_neighbours

FANOUT = (10, 10)
clock: Callable[[], float] = time.perf_counter


def graph(nodes: int, degree: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows and columns of a random graph whose degrees follow a power law, by target."""
    draw = torch.Generator().manual_seed(0)
    share = torch.rand(nodes, generator=draw).pow(-0.5).clip(max=1000)
    counts = (share / share.mean() * degree).long() + 1
    crow = torch.zeros(nodes + 1, dtype=torch.int64)
    crow[1:] = counts.cumsum(0)
    return crow.int(), torch.randint(nodes, (int(crow[-1]),), generator=draw, dtype=torch.int32)


def by_numpy(crow: Any, col: Any, seeds: Any, draw: np.random.Generator) -> int:
    """Draw with replacement and number by sorting; return the number of edges."""
    nodes, frontier, total = seeds, seeds, 0
    for fanout in FANOUT:
        start, degree = (
            crow[frontier],
            np.diff(crow)[frontier] if len(frontier) > 10**6 else crow[frontier + 1] - crow[frontier],
        )
        some = degree > 0
        entries = start[some, None] + (draw.random((int(some.sum()), fanout)) * degree[some, None]).astype(np.int64)
        found = np.unique(col[entries.ravel()])
        frontier = np.setdiff1d(found, nodes, assume_unique=True)
        nodes = np.concatenate((nodes, frontier))
        total += entries.size
        np.searchsorted(found, col[entries.ravel()])
    return total


def by_scipy(matrix: Any, seeds: Any) -> int:
    """Cut out the rows and keep the first entries of each; return the number of edges kept."""
    frontier, total, known = seeds, 0, np.zeros(matrix.shape[0], dtype=bool)
    for fanout in FANOUT:
        rows = matrix[frontier]
        place = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        kept = rows.indices[place < fanout]
        total += len(kept)
        known[frontier] = True
        frontier = np.unique(kept[~known[kept]])
    return total


def by_qgcn(crow: torch.Tensor, col: torch.Tensor, seeds: torch.Tensor, key: int) -> int:
    """Draw as the library does; return the number of edges."""
    return len(sample_neighbours(crow, col, seeds, FANOUT, key).entries)


def random_reads(col: Any, count: int) -> float:
    """Return random reads a second of the array of edges."""
    places = np.random.default_rng(0).integers(0, len(col), count)
    out = np.empty(count, dtype=col.dtype)
    began = clock()
    np.take(col, places, out=out)
    return count / (clock() - began)


def rate(sample: Callable[[int], int], batches: int) -> tuple[float, float]:
    """Return edges a second and the time of a batch, the median of several after the first."""
    sample(0)
    times, edges = [], 0
    for key in range(1, batches + 1):
        began = clock()
        edges = sample(key)
        times.append(clock() - began)
    typical = statistics.median(times)
    return edges / typical, typical


def main() -> None:
    """Print a table, and write lines if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--degree", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--batches", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    if given.threads == 1 and given.device == "cpu":  # the time of this process alone, whoever else is at work
        global clock
        clock = time.process_time
    crow, col = graph(given.nodes, given.degree)
    order = torch.randperm(given.nodes, generator=torch.Generator().manual_seed(1))
    batches = order[: given.batch * (given.batches + 1)].view(-1, given.batch)
    draw = np.random.default_rng(0)
    plain = crow.long().numpy(), col.numpy()
    from scipy.sparse import csr_array

    matrix = csr_array((np.ones(len(col), dtype=np.float32), col.numpy(), crow.numpy()), shape=(given.nodes,) * 2)
    ways: dict[str, Callable[[int], int]] = {
        "qgcn": lambda key: by_qgcn(crow, col, batches[key], key),
        "plain PyTorch": lambda key: _eager(crow, col, batches[key], key),
        "NumPy, with replacement": lambda key: by_numpy(*plain, batches[key].numpy(), draw),
        "SciPy, first entries": lambda key: by_scipy(matrix, batches[key].numpy()),
    }
    if given.device != "cpu":
        there = [each.to(given.device) for each in (crow, col, batches)]
        ways[f"qgcn on {given.device}"] = lambda key: by_qgcn(there[0], there[1], there[2][key], key)
    if (loader := _pyg(crow, col, batches)) is not None:
        ways["PyG's NeighborLoader"] = loader
    about = {"nodes": given.nodes, "edges": len(col), "batch": given.batch, "fanout": FANOUT, "threads": given.threads}
    print(f"{given.nodes:,} nodes, {len(col):,} edges, batches of {given.batch}, fan-out {FANOUT}, {given.threads} thread(s)")
    lines = []
    for name, sample in ways.items():
        edges, seconds = rate(sample, given.batches)
        print(f"{name:<26} {edges / 1e6:8.2f} million edges a second   {1000 * seconds:8.2f} ms a batch")
        lines.append({"way": name, "edges_per_second": round(edges), "milliseconds": round(1000 * seconds, 3)})
    reads = random_reads(col.numpy(), 5_000_000)
    print(f"{'random reads of memory':<26} {reads / 1e6:8.2f} million a second; with two for each edge, half as many edges")
    lines.append({"way": "random reads", "reads_per_second": round(reads)})
    if given.out is not None:
        with given.out.open("a") as file:
            machine = {"machine": platform.processor() or platform.machine()}
            file.writelines(json.dumps(line | about | machine) + "\n" for line in lines)


def _eager(crow: torch.Tensor, col: torch.Tensor, seeds: torch.Tensor, key: int) -> int:
    with use_backend("eager"):
        return by_qgcn(crow, col, seeds, key)


def _pyg(crow: torch.Tensor, col: torch.Tensor, batches: torch.Tensor) -> Callable[[int], int] | None:
    """Return PyG's own sampler, if what it needs is installed."""
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    target = torch.repeat_interleave(torch.arange(len(crow) - 1), crow.diff().long())
    data = Data(edge_index=torch.stack((col.long(), target)), num_nodes=len(crow) - 1)
    try:
        loader = NeighborLoader(data, list(FANOUT), input_nodes=batches.flatten(), batch_size=batches.shape[1])
        found = iter(loader)
        next(found)
    except ImportError as error:
        print(f"PyG's NeighborLoader: {str(error).splitlines()[0]}")
        return None
    return lambda _: int(next(found).edge_index.shape[1])


if __name__ == "__main__":
    main()
