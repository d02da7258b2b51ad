"""Peak memory of reading files, measured in a process of its own.

``python tests/memory.py`` prints the table of ``docs/reliability.md``.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

MEASURE = """
import json, sys, warnings
from pathlib import Path
import numpy, scipy.sparse, networkx, pyarrow.parquet, pyarrow.compute, torch_geometric.data
from qgcn.data import read_graph
from qgcn.tasks import read_config

def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024

pairs = numpy.array([[0, 1], [1, 2]])
calls = {"graph": read_graph, "features": lambda path: read_graph(pairs, features=path),
         "labels": lambda path: read_graph(pairs, labels=path), "settings": read_config}
for name, kind, path in json.loads(sys.argv[1]):
    before = status("VmRSS:")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    try:
        calls[kind](Path(path))
        answer = ""
    except (ValueError, OSError) as error:
        answer = str(error)
    print(json.dumps([name, Path(path).stat().st_size, max(0, status("VmHWM:") - before), answer]), flush=True)
"""


def write_files(folder: Path) -> list[tuple[str, str, str]]:
    """Write files that are small for what they hold; return a name, the kind of reader, and a path for each."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import scipy.sparse as sp

    made: list[tuple[str, str, str]] = []

    def add(name: str, kind: str, suffix: str, write: Callable[[Path], object]) -> None:
        path = folder / f"{len(made)}{suffix}"
        write(path)
        made.append((name, kind, str(path)))

    def text(content: str) -> Callable[[Path], object]:
        return lambda path: path.write_text(content)

    rows = "".join(f"{k % 997} {k % 991}\n" for k in range(200_000))
    add("edge list of integers", "graph", ".txt", text(rows))
    add("edge list of names", "graph", ".csv", text("".join(f"n{k},m{k}\n" for k in range(100_000))))
    add("edge list of quoted names", "graph", ".csv", text("".join(f'"n{k % 997}",m{k % 991}\n' for k in range(100_000))))
    add(
        "a line of many columns",
        "features",
        ".csv",
        text("0" + ",1" * 100_000 + "\n1" + ",1" * 100_000 + "\n2" + ",1" * 100_000 + "\n"),
    )
    add("the longest name that is read", "graph", ".csv", text("".join(f"{k},x\n" for k in range(60_000)) + "a" * 350 + ",x\n"))
    add(
        "a name of 50,000 characters", "graph", ".csv", text("".join(f"{k},x\n" for k in range(60_000)) + "a" * 50_000 + ",x\n")
    )
    add(
        "a number of 50,000 digits",
        "features",
        ".csv",
        text("".join(f"{k},1\n" for k in range(60_000)) + "60000," + "1" * 50_000 + "\n"),
    )
    add("1 GiB in a .gz", "graph", ".csv.gz", lambda path: path.write_bytes(gzip.compress(bytes(1 << 20), mtime=0) * 1024))
    add(
        "GraphML",
        "graph",
        ".graphml",
        text("<graphml><graph>" + '<edge source="a" target="b"/>' * 30_000 + "</graph></graphml>"),
    )
    add(
        "npz",
        "graph",
        ".npz",
        lambda path: np.savez_compressed(path, edge_index=np.random.default_rng(0).integers(0, 5000, (2, 200_000))),
    )
    add("npz that claims 2 GiB", "graph", ".npz", _claim)
    add("node 2,000,000,000", "graph", ".npz", lambda path: np.savez(path, edge_index=np.array([[0], [2_000_000_000]])))
    far = sp.coo_array(([1.0], ([0], [0])), shape=(10**9, 10**9))
    add("sparse matrix of 10^9 rows", "graph", ".npz", lambda path: sp.save_npz(path, far))
    wide = sp.coo_array(([1.0], ([0], [0])), shape=(3, 10**7))
    add("sparse labels of 10^7 rows", "labels", ".npz", lambda path: sp.save_npz(path, wide.T))
    square = sp.coo_array(([1.0], ([0], [0])), shape=(10**5, 10**5))
    add("sparse features of 10^5 x 10^5", "features", ".npz", lambda path: sp.save_npz(path, square))
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{k + 1}: &a{k + 1} [{', '.join([f'*a{k}'] * 9)}]\n" for k in range(9))
    add("YAML of anchors", "settings", ".yaml", text(laughs))
    add("settings", "settings", ".yaml", text("".join(f"key{k}: [1, {{a: b}}]\n" for k in range(4000))))
    add(
        "Parquet",
        "graph",
        ".parquet",
        lambda path: pq.write_table(pa.table({"a": np.arange(200_000), "b": np.arange(200_000) // 7}), path),
    )
    group = pa.table({"a": np.zeros(1 << 20, dtype=np.int64), "b": np.ones(1 << 20, dtype=np.int64)})
    add("Parquet of 104,857,600 equal rows", "graph", ".parquet", lambda path: _repeat(path, group, 100))
    long = pa.table({"a": pa.array(["x" * 5000]).take(pa.array(np.zeros(200_000, dtype=np.int64))), "b": np.arange(200_000)})
    add("Parquet of 200,000 long names", "graph", ".parquet", lambda path: pq.write_table(long, path))
    return made


def _claim(path: Path) -> None:
    """Write an archive whose directory says that its member is 2 GiB when unpacked."""
    np.savez_compressed(path, edge_index=np.zeros((2, 1000), dtype=np.int64))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)
    assert zipfile.ZipFile(path).infolist()[0].file_size == 2**31


def _repeat(path: Path, group: object, times: int) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, group.schema) as writer:
        for _ in range(times):
            writer.write_table(group)


def measure(files: list[tuple[str, str, str]]) -> list[tuple[str, int, int, str]]:
    """Return the name, the size, the peak of memory in bytes and the error of each file."""
    done = subprocess.run([sys.executable, "-c", MEASURE, json.dumps(files)], capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for name, size, peak, answer in measure(write_files(Path(place))):
            print(f"| {name} | {size / 1024:,.1f} KiB | {peak / 2**20:,.0f} MiB | {'refused' if answer else 'read'} |")
