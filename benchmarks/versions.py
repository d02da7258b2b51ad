"""Epochs of two versions of the source, in turn: how much faster or slower the second is.

    git worktree add ../before 60dd2ce
    QGCN_DATA=... python benchmarks/versions.py ../before/src src

Each version runs in a process of its own. A round is some epochs of one, then as many of the other, so that whatever else the
machine does falls on both alike. Shown is the median of the rounds' ratios, new over old, with its quartiles, of wall time and
of processor time; below 1 the second version is faster. Data sets that are not found are left out.
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


def epochs_of(case: str, device: str) -> Callable[[], None]:
    """Return a function that trains for the epochs of a round, with the version that is imported."""
    import torch

    from qgcn.training import Config, Run, Trainer

    torch.set_num_threads(2)
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


def work(case: str, device: str) -> None:
    """Train for a round whenever a line comes in; answer with seconds of wall and processor time."""
    advance = epochs_of(case, device)
    advance()
    print("ready", flush=True)
    for _ in sys.stdin:
        began, used = time.perf_counter(), time.process_time()
        advance()
        print(json.dumps((time.perf_counter() - began, time.process_time() - used)), flush=True)


class Version:
    """A process that trains with one version of the source."""

    def __init__(self, source: str, case: str, device: str) -> None:
        command = [sys.executable, "-W", "ignore", __file__, "--work", case, "--device", device]
        self.process = subprocess.Popen(  # noqa: S603
            command,
            env=os.environ | {"PYTHONPATH": os.path.abspath(source)},  # noqa: PTH100
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.ready = self.process.stdout.readline().strip() == "ready"

    def round(self) -> tuple[float, float]:
        """Train for a round."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return tuple(json.loads(self.process.stdout.readline()))

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def compare(case: str, sources: list[str], rounds: int, device: str) -> str:
    """Return the ratios of a case as a line."""
    versions = [Version(source, case, device) for source in sources]
    try:
        if not all(version.ready for version in versions):
            return "left out: a version cannot run it here"
        times = [[version.round() for version in versions] for _ in range(rounds)]
    finally:
        for version in versions:
            version.stop()
    told = []
    for k, what in enumerate(("wall", "processor")):
        low, middle, high = statistics.quantiles([new[k] / old[k] for old, new in times], n=4)
        told.append(f"{what} {middle:5.3f} ({low:.3f} to {high:.3f})")
    milliseconds = 1e3 * statistics.median(new[0] for _, new in times) / CASES[case][2]
    return f"{'   '.join(told)}   {milliseconds:8.2f} ms an epoch"


def main() -> None:
    """Compare all cases, or those whose name holds a word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="folders of the old and the new source")
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.device)
        return
    if len(given.sources) != 2:
        parser.error("expected two folders, the old and the new source")
    for case in CASES:
        if given.only.lower() in case.lower():
            print(f"{case:40s} {compare(case, given.sources, given.rounds, given.device)}", flush=True)


if __name__ == "__main__":
    main()
