"""Directed citation graphs: what their files must hold, and their published splits."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from qgcn.data import load, load_directed_split
from qgcn.data.citations import citations, published_fold

ROOT = Path(os.environ.get("QGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")


def small():
    """Return the content of a file: three papers, 0 -> 1 -> 2 and 2 -> 1."""
    arrays = {
        "edge_index": np.array([[2, 0, 1], [1, 1, 2]], dtype=np.int32),
        "labels": np.array([0, 1, 1], dtype=np.int16),
        "feature_indptr": np.array([0, 1, 1, 3]),
        "feature_indices": np.array([1, 0, 1]),
        "feature_data": np.array([0.5, 1.0, 2.0]),
        "feature_shape": np.array([3, 2]),
    }
    parts = {
        "pos_train": [[0], [1]],
        "pos_val": [[1], [2]],
        "pos_test": [[2], [1]],
        "neg_val": [[0], [2]],
        "neg_test": [[2], [0]],
    }
    return arrays | {f"split{k}_{name}": np.array(pairs) for k in (0, 3) for name, pairs in parts.items()}


def test_direction_features_and_labels_are_kept():
    data = citations("cora-ml", small(), 0)
    assert data.edge_index.tolist() == [[0, 1, 2], [1, 2, 1]]
    assert data.directed
    assert data.x.tolist() == [[0.0, 0.5], [0.0, 0.0], [1.0, 2.0]]
    assert data.x.dtype == torch.float32
    assert data.y.tolist() == [0, 1, 1]


def test_a_fold_is_five_lists_of_ordered_pairs():
    found = published_fold(small(), 3, "cora-ml")
    assert {name: pairs.tolist() for name, pairs in found.items()} == {
        "train": [[0], [1]],
        "val": [[1], [2]],
        "test": [[2], [1]],
        "val_negative": [[0], [2]],
        "test_negative": [[2], [0]],
    }
    assert all(pairs.dtype == torch.int64 for pairs in found.values())


def test_an_unknown_fold_is_refused():
    with pytest.raises(ValueError, match=r"^fold must be one of 0, 3 for cora-ml, got 1$"):
        published_fold(small(), 1, "cora-ml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edge_index": None}, r"^cora-ml\.npz must hold the array 'edge_index' \(2, P\)$"),
        ({"edge_index": np.zeros((3, 2), dtype=int)}, "'edge_index'"),
        ({"edge_index": np.array([[0], [3]])}, r"edge_index must hold integers in \[0, 3\)$"),
        ({"edge_index": np.array([[0.0], [1.0]])}, r"edge_index must hold integers in \[0, 3\)$"),
        ({"labels": np.zeros((3, 1), dtype=int)}, r"'labels' \(n,\)$"),
        ({"feature_shape": np.array([4, 2])}, r"^cora-ml\.npz holds features"),
        (
            {"feature_shape": np.array([2, 2]), "feature_indptr": np.array([0, 1, 1]), "feature_indices": np.array([1])},
            r"^cora-ml\.npz holds features",
        ),
        ({"feature_indices": np.array([1, 0, 9])}, r"^cora-ml\.npz holds features that are no sparse matrix"),
        ({"feature_data": np.ones(7)}, r"^cora-ml\.npz holds features that are no sparse matrix"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    arrays = {name: array for name, array in (small() | change).items() if array is not None}
    with pytest.raises(ValueError, match=message):
        citations("cora-ml", arrays, 0)


def test_pairs_of_a_fold_must_be_nodes():
    with pytest.raises(ValueError, match=r"split0_neg_val must hold integers in \[0, 3\)$"):
        published_fold(small() | {"split0_neg_val": np.array([[0], [-1]])}, 0, "cora-ml")


@pytest.mark.parametrize("name", ["cora-ml", "citeseer-directed"])
@pytest.mark.parametrize("fold", range(5))
def test_published_folds_share_out_the_edges(name, fold):
    if not (ROOT / "directed" / f"{name}.npz").is_file():
        pytest.skip(f"no {name} in {ROOT}")
    data, split = load(name, ROOT), load_directed_split(name, fold, ROOT)
    keys = {part: set((pairs[0] * data.num_nodes + pairs[1]).tolist()) for part, pairs in split.items()}
    edges = set((data.edge_index[0] * data.num_nodes + data.edge_index[1]).tolist())
    held = [keys[part] for part in ("train", "val", "test")]
    assert set.union(*held) == edges
    assert sum(map(len, held)) == len(edges)  # disjoint
    assert not (keys["val_negative"] | keys["test_negative"]) & edges
    assert len(keys["val"]) == len(keys["val_negative"]) == int(0.05 * len(edges))
    assert len(keys["test"]) == len(keys["test_negative"]) == int(0.15 * len(edges))


def test_other_data_sets_have_no_folds():
    assert load_directed_split("cora", 0) is None
