"""One epoch of Q-GCN, forward and backward, against PyTorch Geometric's GCN of the same shape; ten seeds against one; memory.

QGCN_DATA=... python benchmarks/network.py            # Cora and PubMed, or generated stand-ins where they are not found
QGCN_DATA=... python benchmarks/network.py --seeds cora   # ten seeds trained together, against one; of facebook, its embedding
QGCN_DATA=... python benchmarks/network.py --compiled cpu # one compiled layer against PyG's compiled GCNConv; or cuda
python benchmarks/network.py --scaling                # time and memory against the number of edges, up to a million
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from qgcn.nn import Adjacency, SparseMatrix
from qgcn.training import Config, Run, Trainer
from qgcn.training.machine import freed_memory_kept

SPACES = ("Q15,1", "Q14,2", "Q8,8", "Q1,15")


def interleaved(contenders: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Time every contender once a round, so that what else the machine does falls on all alike."""
    for step in contenders.values():
        step()
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, step in contenders.items():
            began = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def graph(name: str) -> tuple[Tensor, Tensor]:
    """Return row-normalised dense features and edge_index of a data set; of a random graph of its size if it is not here."""
    from qgcn.data import load
    from qgcn.tasks.features import normalize_rows

    try:
        data = load(name)
        return normalize_rows(data.x), data.edge_index
    except OSError:
        nodes, edges, features, density = {"cora": (2708, 5278, 1433, 0.0127), "pubmed": (19717, 44324, 500, 0.1)}[name]
        print(f"{name} is not here: a random graph of its size instead")
        pairs = torch.randint(nodes, (2, edges))
        return normalize_rows((torch.rand(nodes, features) < density).float()), torch.cat((pairs, pairs.flip(0)), dim=1)


def gcn_step(x: Tensor, edge_index: Tensor, dropout: float) -> Callable[[], None]:
    """Return one epoch of PyTorch Geometric's GCN, as its examples write it."""
    from torch_geometric.nn import GCN

    model = GCN(x.shape[1], 16, 2, 16, dropout=dropout)

    def step() -> None:
        model.zero_grad()
        model(torch.nn.functional.dropout(x, dropout), edge_index).square().mean().backward()

    return step


def qgcn_step(x: Tensor | SparseMatrix, graph: Adjacency, space: str, dropout: float) -> Callable[[], None]:
    """Return one epoch of Q-GCN."""
    from qgcn.models import QGCN

    model = QGCN(x.shape[1], space, layers=2, dropout=dropout, feature_dropout=dropout)

    def step() -> None:
        model.zero_grad()
        model(x, graph).square().mean().backward()

    return step


def epochs_step(run: Run, seeds: int, epochs: int) -> Callable[[], None]:
    """Return some epochs of a run as it is trained, with optimiser and validation, for one or many seeds."""
    trainer = Trainer(run.task, list(range(seeds)), run.fabric)

    def step() -> None:
        end = trainer.epoch + epochs
        trainer.run(until=lambda: trainer.epoch == end)
        if run.fabric.device.type == "cuda":
            torch.cuda.synchronize()

    return step


def compare(rounds: int, dropout: float) -> None:
    """Print how an epoch compares with PyTorch Geometric's."""
    for name in ("cora", "pubmed"):
        x, edge_index = graph(name)
        whole, sparse = Adjacency.of(edge_index, x.shape[0]), SparseMatrix.of(x)
        contenders = {"PyG GCN": gcn_step(x, edge_index, dropout)}
        contenders |= {space: qgcn_step(sparse, whole, space, dropout) for space in SPACES}
        seconds = interleaved(contenders, rounds)
        print(f"\n{name}: milliseconds an epoch (median of {rounds} rounds), and the median ratio to PyG GCN")
        for contender, times in seconds.items():
            print(f"  {contender:18s} {1e3 * statistics.median(times):9.2f}   {ratio(times, seconds['PyG GCN']):6.2f}")


def compare_seeds(name: str, rounds: int, dropout: float, device: str) -> None:
    """Print how an epoch of ten seeds, trained together, compares with an epoch of one."""
    embedded = name in ("web-edu", "power", "bio-wormnet", "facebook")
    task, epochs = ("reconstruction", 50) if embedded else ("classification", 1)
    print(f"\n{name}, {task}, {device}: milliseconds an epoch with optimiser and validation (median of {rounds} rounds)")
    settings = {"task": task, "data": name, "epochs": 10**9, "device": device}
    settings |= {} if embedded else {"row_normalize": True, "dropout": dropout, "feature_dropout": dropout}
    for space in ("Q7,3", "Q3,7") if embedded else ("Q15,1", "Q1,15"):
        run = Run(Config.checked(settings | {"space": space}))
        with freed_memory_kept():
            made = {"one": epochs_step(run, 1, epochs), "ten": epochs_step(run, 10, epochs)}
            seconds = interleaved(made, rounds)
        one, ten = (1e3 * statistics.median(times) / epochs for times in seconds.values())
        print(f"  {space:6s} one seed {one:8.2f}   ten seeds {ten:8.2f}   {ratio(seconds['ten'], seconds['one']):6.2f} times")


def compare_compiled(rounds: int, device: str, names: list[str]) -> None:
    """Print how one compiled QGCNConv compares with PyTorch Geometric's compiled GCNConv, 64 features to 16 coordinates."""
    from torch_geometric.nn import GCNConv

    from qgcn.nn import QGCNConv

    torch._dynamo.config.recompile_limit = 64  # one for each space and mode
    for name in names:
        x, edge_index = graph(name)
        x, edge_index = torch.randn(x.shape[0], 64, device=device), edge_index.to(device)
        layers = {"PyG GCNConv": GCNConv(64, 16)} | {space: QGCNConv(64, space) for space in SPACES}
        compiled = {each: torch.compile(layer.to(device), fullgraph=True) for each, layer in layers.items()}
        contenders = {each: compiled_step(layer, x, edge_index, device) for each, layer in compiled.items()}
        for step in contenders.values():
            step()
        seconds = interleaved(contenders, rounds)
        other = seconds["PyG GCNConv"]
        print(
            f"\n{name}, compiled: milliseconds of forward and backward; ratios to PyG GCNConv: median, and of the least times"
        )
        for contender, times in seconds.items():
            least = min(times) / min(other)
            print(
                f"  {contender:18s} {1e3 * statistics.median(times):9.3f}   {ratio(times, other):6.2f}   {least:6.2f}",
                flush=True,
            )


def compiled_step(layer: Callable[..., Tensor], x: Tensor, edge_index: Tensor, device: str) -> Callable[[], None]:
    """Return forward and backward of one layer, finished when it returns."""

    def step() -> None:
        layer(x, edge_index).square().mean().backward()
        if device == "cuda":
            torch.cuda.synchronize()

    return step


def ratio(mine: list[float], other: list[float]) -> float:
    """Return the median of the ratios of each round."""
    return statistics.median(one / another for one, another in zip(mine, other, strict=True))


def scaling(edges: int, space: str) -> None:
    """Print time and memory of an epoch on a random graph, in a process of its own."""
    nodes, features = edges // 5, 64
    pairs = torch.randint(nodes, (2, edges // 2))
    whole = Adjacency.of(torch.cat((pairs, pairs.flip(0)), dim=1), nodes)
    x = torch.rand(nodes, features)
    step = qgcn_step(x, whole, space, 0.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step()
    times = []
    for _ in range(7):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    seconds = statistics.median(times)
    print(f"{edges:>10,} {nodes:>9,} {1e3 * seconds:9.1f} {1e9 * seconds / edges:9.0f} {grown:9.0f}")


def memory(name: str) -> None:
    """Print how much memory a run of the real training loop takes above the imports, in a process of its own."""
    import torch_geometric.nn  # noqa: F401

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Run(Config.checked({"task": "classification", "data": name, "epochs": 20, "dropout": 0.5, "feature_dropout": 0.5})).train()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{name}: training takes {grown:.0f} MiB above the imports at its peak")


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--memory", metavar="DATA")
    parser.add_argument("--seeds", metavar="DATA")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="of --seeds")
    parser.add_argument("--compiled", metavar="DEVICE", choices=("cpu", "cuda"))
    parser.add_argument("--data", nargs="+", default=["cora", "pubmed"], choices=("cora", "pubmed"), help="of --compiled")
    parser.add_argument("--edges", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--space", default="Q15,1")
    given = parser.parse_args()
    torch.manual_seed(0)
    if given.edges:
        scaling(given.edges, given.space)
    elif given.memory:
        memory(given.memory)
    elif given.seeds:
        compare_seeds(given.seeds, given.rounds, given.dropout, given.device)
    elif given.compiled:
        compare_compiled(given.rounds, given.compiled, given.data)
    elif given.scaling:
        print(f"{given.space}, 64 features, 5 edges a node, 2 layers")
        print(f"{'edges':>10} {'nodes':>9} {'ms/epoch':>9} {'ns/edge':>9} {'MiB':>9}")
        for edges in (10_000, 31_623, 100_000, 316_228, 1_000_000):
            subprocess.run([sys.executable, __file__, "--edges", str(edges), "--space", given.space], check=True)  # noqa: S603
    else:
        compare(given.rounds, given.dropout)


if __name__ == "__main__":
    main()
