"""A stored graph is the graph, bit for bit; a damaged file is refused in one line."""

import io
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from qgcn.content import Limit
from qgcn.data import load, load_graph, read_graph, save_graph, undirected
from qgcn.data.catalogue import CATALOGUE
from qgcn.seals import seal_archive

ROOT = Path(os.environ.get("QGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")


def check_same(one, other):
    assert set(one.keys()) == set(other.keys())
    for name in one.keys():  # noqa: SIM118
        before, after = one[name], other[name]
        assert type(before) is type(after), name
        if isinstance(before, torch.Tensor):
            assert (before.dtype, before.shape) == (after.dtype, after.shape), name
            assert before.numpy().tobytes() == after.numpy().tobytes(), name
        elif isinstance(before, np.ndarray):
            assert before.dtype == after.dtype, name
            np.testing.assert_array_equal(before, after, err_msg=name)
        else:
            assert before == after, name


def stored(data):
    file = io.BytesIO()
    save_graph(file, data)
    return file.getvalue()


def arrays_of(data):
    with np.load(io.BytesIO(stored(data))) as arrays:
        return dict(arrays)


@pytest.fixture
def again(tmp_path):
    def again(data):
        path = tmp_path / "graph.tmp"  # no suffix of its own is added
        save_graph(path, data)
        return load_graph(path)

    return again


@pytest.fixture
def full():
    """A graph with every field: directed, weighted, features, labels, names."""
    edges = np.array([[0, 3, 1, 2, 4], [1, 0, 0, 3, 3]])
    graph = nx.DiGraph()
    graph.add_nodes_from(["ann", "bob", "", "Zürich 東京", "a\nb", "lonely"])
    names = list(graph)
    graph.add_weighted_edges_from([(names[a], names[b], 0.1 * k + 0.1) for k, (a, b) in enumerate(edges.T.tolist())])
    x = torch.zeros(6, 40)
    x[2, 3], x[4, 39], x[5, 0] = 0.1, -1e-45, -0.0
    return read_graph(graph, features=x, labels=["red", "", "blue", "red", "blue", "red"])


@pytest.mark.parametrize("name", [*CATALOGUE, "stochastic-block", "ring-of-trees", "sphere"])
def test_named_graphs_come_back_as_they_were(again, name):
    if name in CATALOGUE and not CATALOGUE[name].is_in(ROOT):
        pytest.skip(f"no {name} in {ROOT}")
    data = load(name, ROOT)
    check_same(data, again(data))


def test_every_field_comes_back(again, full):
    assert {"edge_weight", "x", "y", "classes", "train_mask", "remarks", "directed"} <= set(full.keys())
    check_same(full, again(full))
    check_same(undirected(full), again(undirected(full)))


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=30).map(lambda e: [p for p in e if p[0] != p[1]]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 100),
)
def test_any_edges_come_back(tmp_path_factory, edges, both, weighted, seed):
    rng = np.random.default_rng(seed)
    if not edges:
        return
    index = torch.tensor(edges).T
    data = Data(edge_index=index, num_nodes=9)  # in any order, repeated: kept as it is
    if weighted:
        data.edge_weight = torch.from_numpy(rng.random(len(edges), dtype=np.float32))
    path = tmp_path_factory.mktemp("store") / "g.npz"
    for graph in (data, read_graph(data), undirected(read_graph(data))) if both else (data,):
        save_graph(path, graph)
        check_same(graph, load_graph(path))


@pytest.mark.parametrize(
    "ids",
    [
        np.array([7, -2, 5]),
        np.arange(3, dtype=np.uint16),
        np.array(["a", "bb", "\ud800"]),
        np.array(["a", "b", "c"], "U9"),
    ],
)
def test_node_ids_keep_type_and_width(again, ids):
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3, node_ids=ids)
    assert again(data).node_ids.dtype == ids.dtype
    assert again(data).node_ids.tolist() == ids.tolist()


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_features_are_stored_sparsely_where_that_is_smaller(again, share):
    x = torch.rand(50, 30) * (torch.rand(50, 30) < share)
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=50, x=x)
    assert ("x" in arrays_of(data)) == (share == 1.0)
    check_same(data, again(data))


def test_undirected_edges_are_stored_once(full):
    assert len(arrays_of(load("cycle", nodes=64))["edge_source"]) == 64
    assert len(arrays_of(full)["edge_source"]) == 5


def test_the_same_graph_gives_the_same_bytes_in_every_process(tmp_path, full):
    code = "import sys; from qgcn.data import load_graph, save_graph; save_graph(sys.argv[2], load_graph(sys.argv[1]))"
    save_graph(tmp_path / "one", full)
    for seed in "1", "2":  # of hashes, by which PyG orders its fields
        call = [sys.executable, "-c", code, str(tmp_path / "one"), str(tmp_path / "two")]
        subprocess.run(call, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
        assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_stored_graph_is_read_as_any_file(tmp_path, full):
    save_graph(tmp_path / "graph.npz", full)
    data = read_graph(tmp_path / "graph.npz")
    for name in ("edge_index", "edge_weight", "x", "y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[name], full[name])
    assert data.classes == full.classes == ["blue", "red"]
    assert data.node_ids.tolist() == full.node_ids.tolist()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("pos", torch.ones(6, 2), "a graph with a field 'pos' cannot be stored: expected edge_index, .*"),
        (
            "x",
            torch.ones(6, 2).double(),
            r"x must be a dense torch\.float32 tensor with 2 axes to be stored, got .*64",
        ),
        ("x", torch.eye(6).to_sparse(), r"x must be a dense torch\.float32 tensor"),
        ("x", torch.full((6, 2), torch.nan), "x must be finite to be stored"),
        ("x", torch.ones(5, 2), "x must have one row for each of the 6 nodes to be stored, got 5"),
        ("y", torch.tensor([-2, 0, 0, 0, 0, 0]), "y must lie in .* to be stored"),
        ("y", torch.tensor([2, 0, 0, 0, 0, 0]), "y must lie in .* to be stored"),
        ("edge_weight", torch.ones(3), "edge_weight must have 5 values to be stored, got 3"),
        ("edge_index", torch.arange(10).view(2, 5), "edge_index must lie in .* to be stored"),
        ("edge_index", None, "edge_index must be a dense .* to be stored, got NoneType"),
        ("node_ids", np.array([None] * 6), "node_ids must be 6 integers or strings to be stored, got object"),
        ("remarks", [1], "remarks must be text to be stored"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, full, field, value, message):
    full[field] = value
    path = tmp_path / "graph.npz"
    with pytest.raises(ValueError, match=rf"^{message}"):
        save_graph(path, full)
    assert not path.exists()


def short(array):
    return array[:-1]


@pytest.mark.parametrize(
    ("field", "change", "message"),
    [
        ("qgcn_graph", lambda _: np.array(2), "was written by another version of qgcn: its format is 2, this one reads 1"),
        ("qgcn_graph", lambda _: None, "is damaged: it has no array 'qgcn_graph'"),
        ("num_nodes", lambda _: np.array(-1), r"is damaged: num_nodes must lie in \[0, "),
        ("num_nodes", lambda _: np.array(4), "is damaged: "),
        ("edge_target", lambda _: None, "is damaged: it has no array 'edge_target'"),
        ("edge_target", short, r"is damaged: edge_target must hold integers in shape \(5\), got int8 in \(4,\)"),
        ("edge_source", lambda a: a + 1, r"is damaged: edges must lie in \[0, 6\)"),
        (
            "edge_source",
            lambda a: a.astype(np.uint64) + 2**63,
            "is damaged: edge_source must lie in .*, got 92233",
        ),
        ("edge_mirrored", lambda _: np.array(1), "is damaged: edge_source must be below edge_target"),
        ("edge_mirrored", lambda _: np.array(3), r"is damaged: edge_mirrored must lie in \[0, 1\], got 3 to 3"),
        ("edge_weight", lambda a: a.astype(float), "is damaged: edge_weight must hold float32 in shape"),
        ("edge_weight", lambda a: -a, "is damaged: edge_weight holds negative numbers"),
        ("edge_weight", lambda a: np.full_like(a, np.nan), "is damaged: edge_weight holds numbers that are not finite"),
        ("x_value", lambda a: np.full_like(a, np.inf), "is damaged: x_value holds numbers that are not finite"),
        ("x_column", lambda a: a.astype(int) + 1, r"is damaged: x_column must lie in \[0, 39\], got 1 to 40"),
        ("x_count", lambda a: a + 1, "is damaged: x_count must add up to 3, got 9"),
        ("x_shape", lambda a: a + 1, "is damaged: x_shape must begin with 6, got 7"),
        ("x_shape", lambda _: None, "is damaged: it has an unknown array 'x_column', 'x_count', 'x_value'"),
        ("y", lambda a: a + 1, r"is damaged: y must lie in \[-1, 1\], got 0 to 2"),
        ("y", lambda a: a.astype(float), "is damaged: y must hold integers"),
        ("train_mask", lambda a: np.zeros(2, dtype=np.uint8), r"is damaged: train_mask must hold bytes in shape \(1\)"),
        ("name", lambda a: np.full_like(a, 255), "is damaged: name is not UTF-8 text"),
        ("remarks", short, "is damaged: remarks and remarks_length do not fit each other"),
        ("node_ids_width", lambda _: np.array(2), "is damaged: node_ids must have at most 2 characters"),
        ("node_ids_length", short, r"is damaged: node_ids_length must hold integers in shape \(6\)"),
        ("directed", lambda _: np.array(2), "is damaged: directed must lie in"),
        ("more", lambda _: np.array(2), "is damaged: it has an unknown array 'more'"),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path, full, field, change, message):
    arrays = arrays_of(full)
    changed = change(arrays.get(field))
    arrays = {name: array for name, array in (arrays | {field: changed}).items() if array is not None}
    path = tmp_path / "graph.npz"
    path.write_bytes(seal_archive(partial(np.savez_compressed, **arrays)))  # someone else's, in good order
    with pytest.raises(ValueError, match=message) as caught:
        load_graph(path)
    assert str(caught.value).startswith(f"{path} ")
    assert "\n" not in str(caught.value)


def test_broken_and_missing_files_are_named(tmp_path, full):
    path = tmp_path / "graph.npz"
    with pytest.raises(FileNotFoundError, match=r"^no file .*graph\.npz$"):
        load_graph(path)
    content = stored(full)
    for broken in (b"", content[:100], content[:-30], content[:400] + b"\x00\xff" + content[402:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"graph\.npz (is damaged|has no checksum)"):
            load_graph(path)


def test_a_flipped_bit_anywhere_is_noticed(tmp_path, full):
    path, whole = tmp_path / "graph.npz", stored(full)
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        with pytest.raises(ValueError, match=r"graph\.npz (is damaged|has no checksum)"):
            load_graph(path)


def test_what_is_small_for_what_it_holds_is_stored_so_that_it_can_be_read(tmp_path, again):
    ring = torch.arange(5_000_000)
    data = Data(edge_index=torch.stack((ring, (ring + 1) % len(ring))), num_nodes=len(ring))  # a byte an edge, all alike
    check_same(again(data), data)
    assert (tmp_path / "graph.tmp").stat().st_size > len(ring)


def test_features_too_sparse_for_the_size_of_the_file_are_stored_densely(again, monkeypatch):
    monkeypatch.setattr("qgcn.data.store.ARRAYS", Limit(1 << 20, 100))
    wide = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, x=torch.zeros(2, 2_000_000))
    check_same(again(wide), wide)


def test_names_that_could_not_be_read_back_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("qgcn.data.store.ARRAYS", Limit(1 << 20, 100))
    ids = np.array(["a", "b"], dtype="U800000")
    with pytest.raises(ValueError, match="node_ids take 6 MiB to be stored: shorten the longest of them"):
        save_graph(tmp_path / "graph.npz", Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, node_ids=ids))
