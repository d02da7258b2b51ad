"""Time and memory of reading edge lists: five million edges between a million nodes, in a process of its own for each file.

python benchmarks/reading.py                       # makes the files (0.5 GB) in a scratch folder, and reads each three times
python benchmarks/reading.py --folder files --only int.csv --rounds 5 --out benchmarks/results/reading.jsonl
PYTHONPATH=/elsewhere/src python benchmarks/reading.py --folder files    # another version, on the same files
"""

import argparse
import gzip
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

MARKS = {"int.csv": ",", "int.tsv": "\t", "int.txt": " ", "int.csv.gz": ",", "name.csv": ",", "weight.tsv": "\t"}


def write(path: Path, nodes: int, edges: int) -> None:
    """Write random edges: numbers, names of eleven letters, or numbers with a weight of three decimals."""
    pairs = np.random.default_rng(0).integers(0, nodes, (edges, 2))
    mark = MARKS[path.name]
    named: Callable[[int], str] = (lambda k: f"user{k * 7919 % 1000003:07d}") if path.name.startswith("name") else str
    weighted = path.name.startswith("weight")
    with gzip.open(path, "wt", compresslevel=6) if path.suffix == ".gz" else path.open("w") as file:
        for first in range(0, edges, 100_000):
            for i, j in pairs[first : first + 100_000].tolist():
                file.write(f"{named(i)}{mark}{named(j)}" + f"{mark}{(i * 7 + j) % 1000 / 1000 + 0.001:.3f}" * weighted + "\n")


def read(path: Path) -> None:
    """Read a file, and print time, memory above that of the imports, and a checksum, as JSON."""
    from qgcn.data import read_graph

    read_graph([(0, 1), (1, 2)])  # what is imported on first use is not counted
    status = Path("/proc/self/status")

    def megabytes(key: str) -> float:
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith(key))

    before = megabytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    began, busy = time.perf_counter(), time.process_time()
    data = read_graph(path)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    peak = megabytes("VmHWM") - before
    held = [data.edge_index.numpy(), np.asarray(data.node_ids)]
    held += [data.edge_weight.numpy()] if "edge_weight" in data else []
    digest = hashlib.sha256(b"".join(each.tobytes() for each in held)).hexdigest()[:12]
    final = sum(each.nbytes for each in held) / 2**20
    print(json.dumps({"seconds": seconds, "busy": busy, "peak": peak, "final": final, "digest": digest}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where the files are, or are made")
    parser.add_argument("--only", choices=MARKS)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="file that lines of results are appended to")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        return read(given.read)
    with tempfile.TemporaryDirectory(prefix="qgcn-reading-") as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print("| file | size MB | seconds | of processor time | peak MiB | graph MiB | peak / graph | checksum |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
        for name in [given.only] if given.only else MARKS:
            path = folder / name
            if not path.exists():
                write(path, given.nodes, given.edges)
            command = [sys.executable, __file__, "--read", str(path)]
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603
                for _ in range(given.rounds)
            ]
            seconds, busy, peak = (statistics.median(each[key] for each in runs) for key in ("seconds", "busy", "peak"))
            final, size = runs[0]["final"], path.stat().st_size / 1e6
            memory = f"{peak:.0f} | {final:.0f} | {peak / final:.2f} | {runs[0]['digest']}"
            print(f"| {name} | {size:.0f} | {seconds:.2f} | {busy:.2f} | {memory} |", flush=True)
            about = {"file": name, "nodes": given.nodes, "edges": given.edges, "megabytes": round(size)}
            about |= {"seconds": round(seconds, 2), "cpu_seconds": round(busy, 2)}
            about |= {"peak_mib": round(peak), "graph_mib": round(final), "digest": runs[0]["digest"]}
            if given.out is not None:
                with given.out.open("a") as lines:
                    lines.write(json.dumps(about) + "\n")
    return None


if __name__ == "__main__":
    main()
