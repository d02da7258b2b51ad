"""NumPy's files and SciPy's matrices: read, or refused in one line; never a pickle, never beyond a limit."""

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from qgcn.data import read_graph
from qgcn.data.arrays import arrays_of, check_dense, read_arrays, sparse_from


def npy(value):
    buffer = io.BytesIO()
    np.save(buffer, value)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3),
        np.array(["a", "ünï", ""]),
        np.array([b"a", b""]),
        np.zeros((0, 2), dtype=np.float32),
        np.array([1, 2], dtype=">i8"),
        np.array([True]),
        np.array([], dtype="U0"),
    ],
)
def test_arrays_come_back_as_they_were_and_can_be_written_to(value):
    found = arrays_of(npy(value), "a.npy")[""]
    np.testing.assert_array_equal(found, value)
    assert found.dtype == value.dtype.newbyteorder("=")
    assert found.flags.writeable


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_both_formats_of_plain_arrays_are_read(version):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.arange(3), version)
    assert arrays_of(buffer.getvalue(), "a.npy")[""].tolist() == [0, 1, 2]


def test_an_archive_holds_arrays_by_name(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.eye(2), y=np.array("b"))
    found = read_arrays(tmp_path / "a.npz")
    assert list(found) == ["x", "y"]
    np.testing.assert_array_equal(found["x"], np.eye(2))


def lying(header):
    content = npy(np.arange(3))
    size = int.from_bytes(content[8:10], "little")
    return content[:8] + len(header).to_bytes(2, "little") + header + content[10 + size :]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (lying(b"{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999,)}"), "an array of .* does not fit into"),
        (lying(b"{'descr': '<i8', 'fortran_order': False, 'shape': (-3,)}"), r"cannot have the shape \(-3,\)"),
        (lying(b"{'descr': '<U0', 'fortran_order': False, 'shape': (10000000,)}"), "does not fit"),
        (lying(b"{'descr': '|V8', 'fortran_order': False, 'shape': (3,)}"), "must hold numbers or strings"),
        (lying(b"{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (3,)}"), "must hold numbers or strings"),
        (lying(b"{'descr': '<U2', 'fortran_order': False, 'shape': (3,)}")[:-1] + b"\xff", "no character"),
        (npy(np.arange(3))[:-1], "it ends after 23 of 24 bytes"),
        (lying(b"{" * 200), "EOF in multi-line statement"),
        (b"\x93NUMPY\x09\x00", r"format 9\.0|We only support"),
    ],
)
def test_a_file_that_lies_is_refused_in_one_line(content, problem):
    with pytest.raises(ValueError, match=rf"^a\.npy is not a NumPy file: .*({problem})") as caught:
        arrays_of(content, "a.npy")
    assert "\n" not in str(caught.value)


def archive(content, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        made.writestr("x.npy", content)
    return buffer.getvalue()


def test_archives_of_others_and_damaged_ones_are_refused():
    for content, problem in [
        (archive(b"text"), "is not a NumPy file: "),
        (archive(npy(np.eye(2)), zipfile.ZIP_BZIP2), "'x.npy' is packed in a way that NumPy does not use"),
        (archive(npy(np.arange(9))).replace(b"\5\0\0\0\0\0\0\0", b"\6\0\0\0\0\0\0\0"), "Bad CRC-32"),
        (archive(npy(np.array([None]))), "holds pickled Python objects"),
    ]:
        with pytest.raises(ValueError, match=problem):
            arrays_of(content, "a.npz")


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "dia"])
@pytest.mark.parametrize("shape", [(6, 6), (4, 8)])
@pytest.mark.parametrize("kind", [sp.coo_array, sp.coo_matrix])
def test_sparse_matrices_come_back_as_they_were(tmp_path, form, shape, kind):
    matrix = kind(sp.random_array(shape, density=0.4, rng=np.random.default_rng(0)))
    sp.save_npz(tmp_path / "m.npz", matrix.asformat(form))
    found = sparse_from(read_arrays(tmp_path / "m.npz"), tmp_path / "m.npz")
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": [0, 1, 2, -1]},  # SciPy checks no index of a matrix that says it has -1 entries, and corrupts the heap
        {"indptr": [0, 2, 1, 3]},
        {"indptr": [1, 1, 2, 3]},
        {"indptr": [0, 1, 2, 9]},
        {"indptr": [0, 1, 3]},
        {"indptr": [0.0, 1.0, 2.0, 3.0]},
        {"indptr": 3},
        {"indices": [0, 1, 10**6]},
        {"indices": [0, 1, -1]},
        {"shape": [3, 2]},
        {"shape": [3, -1]},
        {"shape": [3]},
        {"shape": [2**62, 3]},
        {"format": "xyz"},
        {"format": ["csr"]},
        {"data": ["a", "b", "c"]},
        {"data": 1.0},
        {"data": None},
    ],
)
def test_a_crafted_matrix_is_refused_before_scipy_computes_with_it(tmp_path, changes):
    plain = {"format": "csr", "shape": [3, 3], "indptr": [0, 1, 2, 3], "indices": [0, 1, 2], "data": [1.0, 2.0, 3.0]}
    held = {name: np.array(value) for name, value in (plain | changes).items() if value is not None}
    path = tmp_path / "m.npz"
    np.savez(path, **held)
    with pytest.raises(ValueError, match=r"m\.npz (is not a sparse matrix: |claims \d+ rows or columns)") as caught:
        sparse_from(read_arrays(path), path)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"m\.npz"):
        read_graph(np.array([[0, 1], [1, 2]]), features=path)


def test_features_are_made_dense_within_a_limit(tmp_path):
    (tmp_path / "m.npz").write_bytes(b"x")
    check_dense((1000, 1000), tmp_path / "m.npz")
    with pytest.raises(ValueError, match=r"of shape \(100000, 100000\), 38,147 MiB as features: expected 512 MiB at most"):
        check_dense((100_000, 100_000), tmp_path / "m.npz")


def test_an_array_without_axes_is_no_graph(tmp_path):
    for name in ("edge_index", "edges", "x", "y", "edge_weight", "node_ids"):
        held = {"edge_index": np.array([[0, 1], [1, 2]])} | {name: np.array(1)}
        if name == "edges":
            del held["edge_index"]
        np.savez(tmp_path / "g.npz", **held)
        with pytest.raises(ValueError, match=r"must|shape"):
            read_graph(tmp_path / "g.npz")
    np.savez(tmp_path / "g.npz", edge_index=np.array(1), edge_weight=np.ones(3))
    with pytest.raises(ValueError, match="must hold"):
        read_graph(tmp_path / "g.npz")
