"""Attention to all nodes by signed squared distance, forward and backward, against PyTorch's dot-product attention, in one run.

python benchmarks/attention.py                           # 2,708 and 19,717 points, those of Cora and PubMed, on the CPU
python benchmarks/attention.py --device cuda --nodes 19717
python benchmarks/attention.py --nodes 19717 --memory    # the largest resident set of each, in processes of their own
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch

from qgcn import parse_space
from qgcn.kernels import backend, use_backend
from qgcn.kernels.attention import attend

SPACES = ("E16", "Q15,1", "Q14,2", "Q8,8")


def contender(name: str, nodes: int, width: int, device: str) -> Callable[[], None]:
    """Return one step, forward and backward: of a space, of its chord, of its plain twin, or of PyTorch's own attention."""
    source = torch.Generator().manual_seed(0)
    kind, _, option = name.partition(" ")
    values = torch.randn(nodes, width, generator=source).to(device).requires_grad_()
    if kind == "sdpa":
        x = torch.randn(nodes, 16, generator=source).to(device).requires_grad_()

        def dots() -> None:
            out = torch.nn.functional.scaled_dot_product_attention(x[None, None], x[None, None], values[None, None])
            torch.autograd.grad(out.square().sum(), (x, values))

        return dots
    space = parse_space(kind).to(device)
    points = space.expmap0(space.fold0(torch.randn(nodes, space.ambient_dim, generator=source).to(device)))
    points, tau = points.detach().requires_grad_(), torch.ones((), device=device, requires_grad=True)

    def distances() -> None:
        if option == "eager":
            with use_backend("eager"):
                mean, _ = attend(points, points, values, space, tau)
        else:
            mean, _ = attend(points, points, values, space, tau, energy="chord" if option == "chord" else "distance")
        torch.autograd.grad(mean.square().sum(), (points, values, tau))

    return distances


def timed(names: list[str], nodes: int, width: int, device: str, rounds: int) -> None:
    """Time every contender once a round, so that what else the machine does falls on all alike."""
    steps = {name: contender(name, nodes, width, device) for name in names}

    def seconds(step: Callable[[], None]) -> float:
        began = time.perf_counter()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    for step in steps.values():
        seconds(step)
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            found[name].append(seconds(step))
    base = statistics.median(found["sdpa"])
    for name, each in found.items():
        middle = statistics.median(each)
        print(f"| {nodes:,} | {name} | {middle:.3f} s | {min(each):.3f} s | {middle / base:.2f} |")


def main() -> None:
    """Print a table of times, or of memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[2708, 19717])
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--eager", action="store_true", help="plain PyTorch too")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", help="one step of a contender, then its memory")
    asked = parser.parse_args()
    names = ["sdpa", *SPACES, "Q14,2 chord", *(["Q14,2 eager"] if asked.eager else [])]
    if asked.only:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        contender(asked.only, asked.nodes[0], asked.width, asked.device)()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"| {asked.nodes[0]:,} | {asked.only} | {grown / 1024:.0f} MiB |")
        return
    if asked.memory:
        print("| nodes | attention | memory gained |\n| ---: | --- | ---: |", flush=True)
        for name in names:
            command = [sys.executable, __file__, "--nodes", str(asked.nodes[0]), "--width", str(asked.width), "--only", name]
            subprocess.run([*command, "--device", asked.device], check=True)  # noqa: S603
        return
    print(f"{torch.get_num_threads()} threads, PyTorch {torch.__version__}, {asked.device}")
    print("| nodes | attention | median | best | times PyTorch's |\n| ---: | --- | ---: | ---: | ---: |")
    for nodes in asked.nodes:
        timed(names, nodes, asked.width, asked.device, asked.rounds)
    print(f"path of the last one: {backend()}")


if __name__ == "__main__":
    main()
