"""What the commands take on a graph of a million nodes: each in a process of its own, one after the other.

    python benchmarks/million.py --folder million --out benchmarks/results/million.jsonl
    python benchmarks/million.py --folder million --steps report    # what comes before is in the folder

The graph is a tree with three children a node and half as many random edges, written as an edge list. ``train`` embeds it in
H10 with 256 drawn negatives in eight blocks, one epoch; ``report`` is the page of that run. Seconds of the processor are
those of all threads, memory is the most that the process has held.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SETTINGS = "--space H10 --negatives 256 --blocks 8 --epochs 1 --no-yardsticks --yes"
STEPS = {
    "analyze": "analyze graph.csv",
    "train": f"train reconstruction --data graph.csv {SETTINGS} --out run",
    "report": "report run",
}


def write(path: Path, nodes: int) -> None:
    """Write the edge list."""
    child = np.arange(1, nodes)
    others = np.random.default_rng(0).integers(0, nodes, (2, nodes // 2))
    edges = np.concatenate((np.stack(((child - 1) // 3, child)), others), axis=1)
    np.savetxt(path, edges.T, fmt="%d", delimiter=",")


def run(step: str, folder: Path, nodes: int) -> dict[str, object]:
    """Run a command; return what it took."""
    began = time.perf_counter()
    with (folder / f"{step}.txt").open("w") as said:
        command = [sys.executable, "-m", "qgcn", *STEPS[step].split()]
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)  # noqa: S603
        _, status, used = os.wait4(process.pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{step} ended with {code}: {(folder / f'{step}.txt').read_text()[-500:]}")
    found: dict[str, object] = {"command": STEPS[step], "nodes": nodes, "seconds": round(time.perf_counter() - began, 1)}
    found |= {"cpu_seconds": round(used.ru_utime + used.ru_stime, 1), "peak_gb": round(used.ru_maxrss * 1024 / 1e9, 2)}
    page = folder / "run" / "report.html"
    return found | ({"page_mb": round(page.stat().st_size / 1e6, 1)} if step == "report" else {})


def main() -> None:
    """Measure each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the graph and the run are, or are made")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--steps", nargs="*", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--out", type=Path, help="file that lines of results are appended to")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if not (given.folder / "graph.csv").exists():
        write(given.folder / "graph.csv", given.nodes)
    for step in given.steps:
        line = json.dumps(run(step, given.folder.absolute(), given.nodes))
        print(line, flush=True)
        if given.out is not None:
            with given.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
