"""Write the corpus, once; it is kept in the repository. A run folder, whose format changes, is trained when it is needed."""

import gzip
import io
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

CORPUS = Path(__file__).parent / "corpus"
NAMES = ["ann", "bob", "cid", "dan", "eve", "fay"]
EDGES = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5), (2, 4)]


def write_corpus(folder: Path = CORPUS) -> None:
    """Write all files of the corpus."""
    index = np.array(EDGES).T
    matrix = sp.coo_array((np.arange(1.0, 8.0), tuple(index)), shape=(6, 6))
    named = "".join(f"{NAMES[a]},{NAMES[b]},{k + 0.5}\n" for k, (a, b) in enumerate(EDGES))
    _write(folder / "edges", "headed.csv", "source,target,weight\n" + named)
    _write(folder / "edges", "bare.txt", "# a comment\n" + "".join(f"{a} {b}\n" for a, b in EDGES))
    _write(folder / "edges", "wide.tsv", "from\tto\tsince\tabout\n" + "".join(f"{a}\t{b}\t2001\tx y\n" for a, b in EDGES))
    _write(folder / "edges", "quoted.csv", "".join(f'"{NAMES[a]}, x","{NAMES[b]}"\n' for a, b in EDGES))
    _write(folder / "edges-gz", "named.csv.gz", gzip.compress(named.encode(), mtime=0))
    rows = "".join(f"{name},{k},{0.5 * k},1\n" for k, name in enumerate(NAMES))
    _write(folder / "features", "headed.csv", "id,a,b,c\n" + rows)
    _write(folder / "features", "bare.csv", rows)
    _write(
        folder / "labels",
        "headed.csv",
        "id,label\n" + "".join(f"{name},{'red' if k % 2 else 'blue'}\n" for k, name in enumerate(NAMES)),
    )
    _write(folder / "labels", "numbers.tsv", "".join(f"{name}\t{k % 3}\n" for k, name in enumerate(NAMES)))
    _write(
        folder / "arrays",
        "graph.npz",
        _npz(
            edge_index=index,
            x=np.eye(6, 3, dtype=np.float32),
            y=np.arange(6) % 2,
            edge_weight=np.ones(7),
            node_ids=np.array(NAMES),
        ),
    )
    _write(folder / "arrays", "edges.npz", _npz(edges=np.array(EDGES)))
    _write(folder / "sparse", "coo.npz", _sparse(matrix))
    _write(folder / "sparse", "csr.npz", _sparse(matrix.tocsr()))
    _write(folder / "sparse", "csc.npz", _sparse(matrix.tocsc()))
    _write(folder / "sparse", "bsr.npz", _sparse(matrix.tobsr(blocksize=(2, 2))))
    _write(folder / "sparse", "dia.npz", _sparse(matrix.todia()))
    _write(folder / "array-features", "x.npy", _npy(np.eye(6, 4)))
    _write(folder / "array-features", "x.npz", _npz(x=np.eye(6, 4, dtype=np.float32)))
    _write(folder / "array-features", "sparse.npz", _sparse(sp.csr_array(np.eye(6, 4))))
    _write(folder / "array-labels", "y.npy", _npy(np.array([0, 1, 2, 0, 1, -1])))
    _write(folder / "array-labels", "names.npz", _npz(labels=np.array(["a", "b", "", "a", "b", "c"])))
    _write(folder / "array-labels", "one-hot.npz", _sparse(sp.csr_array(np.eye(6, 6))))
    table = {"source": [NAMES[a] for a, _ in EDGES], "target": [NAMES[b] for _, b in EDGES], "weight": np.arange(1.0, 8.0)}
    _write(folder / "parquet-edges", "named.parquet", _parquet(pa.table(table)))
    _write(folder / "parquet-edges", "numbers.parquet", _parquet(pa.table({"a": index[0], "b": index[1]})))
    _write(folder / "parquet-features", "x.parquet", _parquet(pa.table({"id": NAMES, "a": np.arange(6.0), "b": np.arange(6)})))
    nodes = "".join(f'<node id="{name}"/>' for name in NAMES)
    edges = "".join(f'<edge source="{NAMES[a]}" target="{NAMES[b]}"><data key="w">2.5</data></edge>\n' for a, b in EDGES)
    key = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    opening = f'<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{key}\n'
    xml = f'{opening}<graph edgedefault="undirected">{nodes}\n{edges}</graph></graphml>\n'
    _write(folder / "graphml", "friends.graphml", xml)
    _write(
        folder / "node-split",
        "parts.csv",
        "id,part\n"
        + "".join(
            f"{name},{part}\n" for name, part in zip(NAMES, ["train", "train", "val", "val", "test", "test"], strict=True)
        ),
    )
    _write(
        folder / "link-split",
        "links.csv",
        "ann,bob,train\nbob,cid,val\ncid,dan,test\nann,cid,val_negative\nann,fay,test_negative\n",
    )
    _write(folder / "pairs", "pairs.csv", "a,b\nann,bob\ncid,eve\nfay,fay\n")
    _write(folder / "columns", "people.csv", "id,age,team\nann,31,red\nbob,25,\nfay,,blue\n")
    _write(
        folder / "settings",
        "links.yaml",
        "task: links\ndata: friends.csv\nspace: Q3,1\nepochs: 5\nlr: 0.01\nseeds: 2\nval: 0.1\ndropout: 0.5\n",
    )
    _write(
        folder / "settings",
        "classes.yaml",
        "# comment\ntask: classification\ndata: cora\nmodel: hgcn\nspace: 'H4'\npatience: null\nrefit: true\ndevice: cpu\n",
    )
    _write(folder / "spaces", "names.txt", "E10\nH10\nS10\nK3\nQ7,3\nH5xS5\nQ4,2xE4xH2\n")
    told = '{"hash": "5d4c3b571e4eeb9e", "settings": {"task": "links", "lr": 0.01, "clip": null}}\n'
    scores = '"metric": "roc_auc", "val": {"roc_auc": 0.9}, "test": {"roc_auc": 0.91, "mrr": 0.3}'
    line = f'{{"hash": "5d4c3b571e4eeb9e", "table": "table2", "seed": 0, {scores}, "seconds": 2.5}}\n'
    _write(folder / "results", "table2.jsonl", told + line)
    content = pickle.dumps({0: [1, 2], 1: [0], "feat": np.eye(3)}, protocol=3)
    _write(folder / "pickles", "adjacency.p", content.replace(b"numpy._core", b"numpy.core"))  # as NumPy 1 wrote it


def _write(folder: Path, name: str, content: str | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def _npy(value: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, value)
    return buffer.getvalue()


def _sparse(matrix: object) -> bytes:
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return buffer.getvalue()


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


if __name__ == "__main__":
    write_corpus()
