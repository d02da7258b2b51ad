"""Epochs and maps of two versions of the source, in turn: how much faster or slower the second is.

    git worktree add ../before 60dd2ce
    QGCN_DATA=... python benchmarks/versions.py ../before/src src
    python benchmarks/versions.py ../before/src src --maps              # of 100,000 pairs of points; --maps plain, compiled
    TRITON_INTERPRET=1 python benchmarks/versions.py ../before/src src --maps operations   # how many a map starts on a GPU

Each version runs in a process of its own. A round is some epochs of one, then as many of the other, so that whatever else the
machine does falls on both alike; which one begins changes from round to round. Shown is the median of the rounds' ratios, new
over old, with its quartiles, of wall time and of processor time, and the ratio of the least processor times; below 1 the second
version is faster. Data sets that are not found are left out. Maps run as they are used, ``plain`` in PyTorch alone, without
C++, or ``compiled`` by PyTorch. ``operations`` are counted, not timed: those of PyTorch that are not views, and kernels of this
package, which Triton's interpreter runs where there is no GPU.
"""

import argparse
import inspect
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

CASES: dict[str, tuple[dict[str, Any], int, int]] = {
    "reconstruction, ring of trees, Q7,3": ({"task": "reconstruction", "data": "ring-of-trees", "space": "Q7,3"}, 1, 60),
    "reconstruction, Web-Edu, Q7,3": ({"task": "reconstruction", "data": "web-edu", "space": "Q7,3"}, 1, 4),
    "classification, Cora, Q15,1": ({"task": "classification", "data": "cora", "space": "Q15,1", "dropout": 0.5}, 1, 40),
    "classification, Cora, Q15,1, ten seeds": ({"task": "classification", "data": "cora", "space": "Q15,1"}, 10, 15),
    "links, Cora, Q15,1": ({"task": "links", "data": "cora", "space": "Q15,1"}, 1, 15),
    "links, Cora, Q1,15": ({"task": "links", "data": "cora", "space": "Q1,15"}, 1, 10),
    "links, Cora, GAT": ({"task": "links", "data": "cora", "model": "gat"}, 1, 10),
}
"""Settings, seeds that are trained as one batch, and epochs of a round."""

MAPS = ("dist", "exp", "log", "transport", "exp0", "log0")
MAP_CASES = [
    f"{name}, {space}, {dtype}, {passes}"
    for dtype in ("float32", "float64")
    for space in ("Q15,1", "Q8,8", "Q0,16")
    for name in MAPS
    for passes in ("forward", "backward")
]
"""A map, a space, a type, and whether the gradient is computed, too."""
PAIRS, CALLS = 100_000, 3
"""Pairs of points, and calls of a round."""
FEW_PAIRS = 2_000
"""Pairs of points whose operations are counted."""
NO_WORK = {
    "alias",
    "as_strided",
    "detach",
    "empty",
    "empty_like",
    "empty_strided",
    "expand",
    "new_empty",
    "permute",
    "select",
    "set_",
}
NO_WORK |= {
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "t",
    "transpose",
    "unsqueeze",
    "view",
    "_unsafe_view",
    "is_same_size",
}
"""Operations of PyTorch that start nothing on a GPU."""
MEMORY_KEPT = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**34)}
"""Lets glibc keep freed memory: what asking the system for it takes changes from run to run, by more than versions differ."""


def epochs_of(case: str, device: str, threads: int) -> Callable[[], None]:
    """Return a function that trains for the epochs of a round, with the version that is imported."""
    import torch

    from qgcn.training import Config, Run, Trainer

    torch.set_num_threads(threads)
    settings, seeds, epochs = CASES[case]
    run = Run(Config.checked(settings | {"device": device, "epochs": 10**6, "eval_every": 10**6, "patience": None}))
    given = (run.config,) if "config" in inspect.signature(Trainer).parameters else ()  # as the trainer once took it
    trainer = Trainer(run.task, *given, list(range(seeds)), run.fabric)

    def advance() -> None:
        goal = trainer.epoch + epochs
        trainer.run(until=lambda: trainer.epoch >= goal)
        if device == "cuda":
            torch.cuda.synchronize()

    return advance


def call_of(case: str, device: str, way: str, pairs: int) -> Callable[[], None]:
    """Return a function that calls a map once, with the version that is imported."""
    import torch

    import qgcn

    torch.manual_seed(0)
    name, space, dtype, passes = case.split(", ")
    manifold = qgcn.parse_space(space).to(device)
    point = {"dtype": getattr(torch, dtype), "device": device}
    x, y = (torch.Tensor(manifold.projx(0.7 * torch.randn(pairs, 16, **point))) for _ in range(2))
    u = manifold.proju(x, 0.1 * torch.randn_like(x))
    function, arguments = {
        "dist": (manifold.dist, (x, y)),
        "exp": (manifold.expmap, (x, u)),
        "log": (manifold.logmap, (x, y)),
        "transport": (manifold.transp, (x, y, u)),
        "exp0": (manifold.expmap0, (manifold.logmap0(x),)),
        "log0": (manifold.logmap0, (x,)),
    }[name]
    backward = passes == "backward"
    arguments = [each.detach().clone().requires_grad_(backward) for each in arguments]
    if way == "compiled":
        torch.compiler.reset()
        function = torch.compile(function, fullgraph=True)
    weights = torch.randn_like(function(*arguments).detach())

    def call() -> None:
        result = function(*arguments)
        if backward:
            torch.autograd.grad(result, arguments, weights, allow_unused=True)

    return call


def calls_of(case: str, device: str, way: str, threads: int) -> Callable[[], None]:
    """Return a function that calls a map as often as a round does."""
    import torch

    from qgcn.kernels import use_backend

    torch.set_num_threads(threads)
    call = call_of(case, device, way, PAIRS)

    def advance() -> None:
        with use_backend("eager") if way == "plain" else nullcontext():
            for _ in range(CALLS):
                call()
        if device == "cuda":
            torch.cuda.synchronize()

    return advance


def operations_of(case: str, device: str) -> int:
    """Return how many operations and kernels a call of a map starts on a GPU, or would start."""
    import triton
    from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

    from qgcn.kernels import use_backend

    started = []

    class Counted(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = function._schema.name.partition("::")[2]
            started.extend([] if name in NO_WORK else [name])
            return function(*args, **(kwargs or {}))

    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    runner = triton.runtime.interpreter.InterpretedFunction if interpreted else triton.runtime.jit.JITFunction
    run = runner.run

    def counted_run(*args: Any, **kwargs: Any) -> Any:
        started.append("triton")
        with _disable_current_modes():  # the interpreter copies with operations of PyTorch
            return run(*args, **kwargs)

    with use_backend("triton") if interpreted else nullcontext():
        call = call_of(case, device, "used", FEW_PAIRS)
        call()
        runner.run = counted_run
        with Counted():
            call()
    runner.run = run
    return len(started)


def work(device: str, way: str, threads: int) -> None:
    """Do a round of the case that a line names; answer with seconds of wall and processor time."""
    case, advance = "", lambda: None
    for line in sys.stdin:
        if way == "operations":
            print(json.dumps((operations_of(line.strip(), device), 0)), flush=True)
            continue
        if line.strip() != case:
            case = line.strip()
            advance = epochs_of(case, device, threads) if case in CASES else calls_of(case, device, way, threads)
            advance()
        advance()  # the other version has used the caches meanwhile
        began, used = time.perf_counter(), time.process_time()
        advance()
        print(json.dumps((time.perf_counter() - began, time.process_time() - used)), flush=True)


class Version:
    """A process that runs one version of the source."""

    def __init__(self, source: str, device: str, way: str, threads: int) -> None:
        command = [sys.executable, "-W", "ignore", __file__, "--work", "--device", device, "--maps", way]
        command += ["--threads", str(threads)]
        self.process = subprocess.Popen(  # noqa: S603
            command,
            env=os.environ | MEMORY_KEPT | {"PYTHONPATH": os.path.abspath(source)},  # noqa: PTH100
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def round(self, case: str) -> tuple[float, float] | None:
        """Do a round of a case; ``None`` if that is not possible."""
        if self.process.poll() is not None:
            return None
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        told = self.process.stdout.readline()
        return tuple(json.loads(told)) if told else None

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def compare(case: str, versions: list[Version], rounds: int, way: str) -> str:
    """Return the ratios of a case as a line; of ``operations`` their numbers."""
    first = [version.round(case) for version in versions]
    if None in first:
        return "left out: a version cannot run it here"
    if way == "operations":
        return f"{first[0][0]:4d} -> {first[1][0]:4d}"
    times = []
    for k in range(rounds):
        order = versions[:: 1 if k % 2 else -1]
        took = {id(version): version.round(case) for version in order}
        times.append([took[id(version)] for version in versions])
    told = []
    for k, what in enumerate(("wall", "processor")):
        low, middle, high = statistics.quantiles([new[k] / old[k] for old, new in times], n=4)
        told.append(f"{what} {middle:5.3f} ({low:.3f} to {high:.3f})")
    told.append(f"least {min(new[1] for _, new in times) / min(old[1] for old, _ in times):5.3f}")
    each, unit = (CASES[case][2], "an epoch") if case in CASES else (CALLS, "a call")
    milliseconds = 1e3 * statistics.median(new[0] for _, new in times) / each
    return f"{'   '.join(told)}   {milliseconds:8.2f} ms {unit}"


def main() -> None:
    """Compare all cases, or those whose name holds a word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="folders of the old and the new source")
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2, help="of each version; 1 on a machine that others use, too")
    parser.add_argument(
        "--maps", nargs="?", const="used", choices=("used", "plain", "compiled", "operations"), help="maps, not epochs"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.device, given.maps, given.threads)
        return
    if len(given.sources) != 2:
        parser.error("expected two folders, the old and the new source")
    way, versions = given.maps or "used", []
    for case in MAP_CASES if given.maps else CASES:
        if given.only.lower() not in case.lower():
            continue
        if not given.maps or any(version.process.poll() is not None for version in versions) or not versions:
            versions = [Version(source, given.device, way, given.threads) for source in given.sources]
        print(f"{case:40s} {compare(case, versions, given.rounds, way)}", flush=True)
        if not given.maps:
            for version in versions:
                version.stop()
    for version in versions:
        version.stop()


if __name__ == "__main__":
    main()
