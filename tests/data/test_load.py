"""Named data sets: those generated, and those published, from $QGCN_DATA or ../shared/data where there is one."""

import functools
import hashlib
import io
import os
import threading
import warnings
from contextlib import contextmanager
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch

from graphs import check_form
from qgcn.data import datasets, generators, load, load_entailment, ring_of_trees, undirected
from qgcn.data.catalogue import CATALOGUE, GENERATORS

ROOT = Path(os.environ.get("QGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")


def real(name):
    if not CATALOGUE[name].is_in(ROOT):
        pytest.skip(f"no {name} in {ROOT}")
    return load(name, ROOT)


@pytest.mark.parametrize("name", CATALOGUE)
def test_published_data_has_the_listed_size(name):
    data = real(name)
    check_form(data)
    entry = next(entry for entry in datasets(ROOT) if entry.name == name)
    assert entry.local
    assert data.name == name
    assert data.directed == entry.directed
    edges = data.edge_index.shape[1]
    assert (data.num_nodes, edges if data.directed else edges // 2) == (entry.nodes, entry.edges)
    assert data.node_ids.shape == (data.num_nodes,)
    assert data.validate()
    if entry.features:
        assert data.x.shape == (entry.nodes, entry.features)
        assert data.x.dtype == torch.float32
    else:
        assert data.x is None
    if entry.classes:
        assert torch.bincount(data.y, minlength=entry.classes).min() > 0
        assert data.y.dtype == torch.int64
        assert int(data.y.max()) == entry.classes - 1
        assert (
            int((data.train_mask & data.val_mask | data.val_mask & data.test_mask | data.train_mask & data.test_mask).sum())
            == 0
        )
    else:
        assert data.y is None
        assert "train_mask" not in data


# entries of the published adjacency lists
REPEATED = {"cora": 10858, "citeseer": 9464, "pubmed": 88676}


@pytest.mark.parametrize("name", REPEATED)
def test_planetoid_agrees_with_pyg(name):
    from torch_geometric.io import read_planetoid_data
    from torch_geometric.utils import coalesce

    data = real(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG's reader passes integers for booleans to np.dtype, of which NumPy warns
        expected = read_planetoid_data(str(ROOT / name), name)
    assert torch.equal(data.x, expected.x)
    assert torch.equal(data.y, expected.y)
    assert torch.equal(data.edge_index, coalesce(expected.edge_index))
    for mask in ("train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[mask], expected[mask])
    assert [int(data[mask].sum()) for mask in ("train_mask", "val_mask", "test_mask")] == [
        20 * CATALOGUE[name].classes,
        500,
        1000,
    ]
    assert torch.bincount(data.y[data.train_mask]).tolist() == [20] * CATALOGUE[name].classes
    removed = [int(remark.split()[0]) for remark in data.remarks if "self-loop" in remark or "repeated" in remark]
    assert data.edge_index.shape[1] + sum(removed) == REPEATED[name]


def test_citeseer_says_what_was_cleaned():
    data = real("citeseer")
    assert data.remarks[0].startswith("15 nodes without features and label")
    assert any("self-loop" in remark for remark in data.remarks)
    assert "48 isolated nodes kept" in data.remarks
    assert int((data.x.abs().sum(dim=1) == 0).sum()) >= 15


def test_airport_bins_and_splits():
    data = real("airport")
    assert torch.bincount(data.y).tolist() == [521, 1443, 999, 225]
    assert [int(data[mask].sum()) for mask in ("train_mask", "val_mask", "test_mask")] == [2232, 478, 478]
    assert "1 self-loop removed" in data.remarks
    assert data.node_ids[0] == 2966
    assert not torch.equal(load("airport", ROOT, split_seed=1).train_mask, data.train_mask)
    wide = load("airport", ROOT, degree_features=True)
    assert torch.equal(wide.x[:, :4], data.x)
    degree = torch.bincount(data.edge_index[0], minlength=3188)
    assert torch.equal(wide.x[:, 4:].argmax(dim=1), degree.minimum(torch.tensor(5)))
    assert torch.equal(wide.x[:, 4:].sum(dim=1), torch.ones(3188))


def test_edge_lists_keep_their_ids():
    data = real("bio-wormnet")
    assert data.node_ids.max() == 2444
    table = np.loadtxt(ROOT / "bio-wormnet" / "bio-wormnet.edges.csv", delimiter=",", dtype=int)
    edges = {frozenset(pair) for pair in data.node_ids[data.edge_index.numpy()].T.tolist()}
    assert edges == {frozenset(pair) for pair in table.tolist()}


def test_wordnet_relations():
    closure = real("wordnet-nouns")
    assert closure.node_ids[0] == "entity"
    direct = load("wordnet-nouns", ROOT, relation="hypernym")
    assert direct.num_nodes == closure.num_nodes
    assert direct.edge_index.shape[1] < closure.edge_index.shape[1]
    ancestor = closure.edge_index[1] == 0
    assert closure.directed
    assert closure.edge_index.shape == (2, 743_241)
    assert ancestor.sum() == closure.num_nodes - 1  # all lead to entity
    assert not (closure.edge_index[0] == 0).any()
    assert undirected(closure).remarks[-1] == "743241 edges given in one direction, now in both"
    with pytest.raises(ValueError, match="relation must be one of closure, hypernym, got 'hyponym'"):
        load("wordnet-nouns", ROOT, relation="hyponym")


@pytest.mark.parametrize("name", GENERATORS)
def test_generated_data_has_the_listed_size(name, tmp_path):
    data = load(name, tmp_path)
    check_form(data)
    entry = next(entry for entry in datasets(tmp_path) if entry.name == name)
    assert entry.local
    assert not data.directed
    assert (data.num_nodes, data.edge_index.shape[1] // 2) == (entry.nodes, entry.edges)
    assert (0 if data.x is None else data.x.shape[1]) == entry.features
    assert (entry.classes > 0) == (data.y is not None)
    assert list(tmp_path.iterdir()) == []


def test_generated_data_is_the_generators():
    data = load("Ring_of_Trees", ring=5, depth=1)
    made = ring_of_trees(ring=5, depth=1)
    assert {tuple(edge) for edge in data.edge_index.T.tolist()} == {tuple(edge) for edge in made.T.tolist()}
    block = load("stochastic-block", sizes=[30, 20], within=0.5, seed=3)
    assert torch.equal(block.y, generators.stochastic_block([30, 20])[1])
    assert int(block.train_mask.sum()) == 34


def test_generated_data_keeps_isolated_nodes():
    data = load("sphere", nodes=50, radius=0.1)
    assert data.num_nodes == 50
    assert any("isolated" in remark for remark in data.remarks)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("coraa", {}, r"^no data set 'coraa'; did you mean 'cora'\? \(known: cora, citeseer, .*\)$"),
        ("qqqqq", {}, r"^no data set 'qqqqq' \(known"),
        ("tree", {"depht": 3}, r"^no option 'depht' for 'tree'; did you mean 'depth'\? \(known: branching, depth\)$"),
        ("tree", {"depth": 0}, "depth must be at least 1"),
        ("power", {"weighted": True}, r"no option 'weighted' for 'power' \(it takes none\)"),
    ],
)
def test_load_refuses(name, options, message):
    with pytest.raises(ValueError, match=message):
        load(name, **options)


def test_file_with_another_content_is_never_parsed(tmp_path):
    folder = tmp_path / "airport"
    folder.mkdir()
    (folder / "airport.p").write_bytes(b"cos\nsystem\n(S'touch trace'\ntR.")
    with pytest.raises(ValueError, match=r"airport\.p is not the published file: its SHA-256 is not ab16b0.*; delete it"):
        load("airport", tmp_path)


def test_wordnet_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wordnet-nouns\.npz is not there, .*WordNet 3\.0"):
        load("wordnet-nouns", tmp_path)


def test_wordnet_may_be_built_by_hand(tmp_path):
    (tmp_path / "wordnet-nouns").mkdir()
    buffer = io.BytesIO()
    np.savez(buffer, closure=[[1, 0], [2, 0], [2, 1]], hypernym=[[1, 0], [2, 1]], lemma=["entity", "thing", "stone"])
    (tmp_path / "wordnet-nouns" / "wordnet-nouns.npz").write_bytes(buffer.getvalue())
    data = load("wordnet-nouns", tmp_path)
    assert data.edge_index.tolist() == [[1, 2, 2], [0, 0, 1]]
    assert undirected(data).edge_index.shape == (2, 6)
    assert load("wordnet-nouns", tmp_path, relation="hypernym").edge_index.tolist() == [[1, 2], [0, 1]]
    (tmp_path / "wordnet-nouns" / "wordnet-nouns.npz").write_bytes(b"PK\3\4 nonsense")
    with pytest.raises(ValueError, match=r"^wordnet-nouns\.npz is not a NumPy file: File is not a zip file"):
        load("wordnet-nouns", tmp_path)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@contextmanager
def published(folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def mirror():
    with published(ROOT) as address:
        yield address


def test_load_downloads_what_is_missing(mirror, tmp_path):
    expected = real("cora")
    assert not next(entry for entry in datasets(tmp_path) if entry.name == "cora").local
    data = load("cora", tmp_path, mirror=mirror)
    assert torch.equal(data.x, expected.x)
    assert next(entry for entry in datasets(tmp_path) if entry.name == "cora").local
    assert sorted(file.name for file in (tmp_path / "cora").iterdir()) == sorted(CATALOGUE["cora"].files)
    assert torch.equal(load("cora", tmp_path, mirror="http://127.0.0.1:9").x, expected.x)  # nothing left to download


def tables(arrays):
    """Return a hierarchy as it is published: a table of names, and one of pairs for each part."""
    made = {part: "".join(f"{a}\t{b}\n" for a, b in pairs.tolist()) for part, pairs in arrays.items() if part != "names"}
    return made | {"vocab": "".join(f"{number}\t{name}\n" for number, name in enumerate(arrays["names"].tolist()))}


def test_a_hierarchy_is_downloaded_as_the_tables_that_it_is_published_as(tmp_path):
    expected = real("wordnet-entailment")
    (tmp_path / "there" / "wordnet-entailment").mkdir(parents=True)
    with np.load(ROOT / "wordnet-entailment" / "wordnet-entailment.npz") as arrays:
        for part, table in tables(arrays).items():
            (tmp_path / "there" / "wordnet-entailment" / f"noun_closure.tsv.{part}").write_text(table)
    with published(tmp_path / "there") as address:
        data = load("wordnet-entailment", tmp_path / "here", mirror=address)
    assert torch.equal(data.edge_index, expected.edge_index)
    assert data.node_ids.tolist() == expected.node_ids.tolist()
    assert sorted(file.name for file in (tmp_path / "here" / "wordnet-entailment").iterdir()) == sorted(
        CATALOGUE["wordnet-entailment"].files
    )
    for share in (0.0, 0.1, 0.25):
        mine, theirs = (load_entailment("wordnet-entailment", share, root) for root in (tmp_path / "here", ROOT))
        assert all(torch.equal(mine[part], theirs[part]) for part in theirs)


def test_tables_of_a_hierarchy_hold_what_its_file_holds(tmp_path, monkeypatch):
    pairs = {
        "train_0percent": [[0, 1], [1, 2]],
        "valid": [[0, 2]],
        "test": [[0, 2]],
        "valid_neg": [[2, 0]],
        "test_neg": [[1, 0]],
    }
    arrays = {part: np.array(given, dtype=np.int32) for part, given in pairs.items()}
    arrays["names"] = np.array([f"n{k}.n.01" for k in range(3)])
    written = {f"noun_closure.tsv.{part}": table.encode() for part, table in tables(arrays).items()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    entry = replace(CATALOGUE["wordnet-entailment"], files=sums)
    monkeypatch.setitem(CATALOGUE, "wordnet-entailment", entry)
    for root in ("joined", "apart"):
        (tmp_path / root / "wordnet-entailment").mkdir(parents=True)
    np.savez_compressed(tmp_path / "joined" / "wordnet-entailment" / "wordnet-entailment.npz", **arrays)
    for name, content in written.items():
        (tmp_path / "apart" / "wordnet-entailment" / name).write_bytes(content)
    joined, apart = (load("wordnet-entailment", tmp_path / root) for root in ("joined", "apart"))
    assert torch.equal(joined.edge_index, apart.edge_index)
    assert joined.node_ids.tolist() == apart.node_ids.tolist() == ["n0.n.01", "n1.n.01", "n2.n.01"]
    one, two = (load_entailment("wordnet-entailment", 0.0, tmp_path / root) for root in ("joined", "apart"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[part], two[part]) for part in one)


def test_load_says_what_the_mirror_lacks(mirror, tmp_path):
    (tmp_path / "root").mkdir()
    with pytest.raises(OSError, match=r"/nowhere/power/power\.edges\.csv: the server answers 404"):
        load("power", tmp_path / "root", mirror=f"{mirror}/nowhere/")
    assert [file for file in (tmp_path / "root").rglob("*") if file.is_file()] == []
