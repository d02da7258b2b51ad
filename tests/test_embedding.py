from functools import partial

import numpy as np
import pytest
import torch

from qgcn import parse_space
from qgcn.data import cycle, read_graph
from qgcn.embedding import Embedding, load_embedding, node_ids_of, write_embedding
from qgcn.seals import Damaged, seal_archive


@pytest.mark.parametrize(
    ("name", "curvature"), [("Q3,2", [-0.25]), ("H3", [-0.25]), ("S3", [0.25]), ("E4", [0.0]), ("H2xS2", [-0.25, 0.25])]
)
def test_a_file_is_enough_to_measure_the_embedding_again(tmp_path, name, curvature):
    space = parse_space(name, beta=-4.0)
    points = torch.as_tensor(space.random(5, space.ambient_dim)).as_subclass(torch.Tensor)
    write_embedding(tmp_path / "seed-0.npz", Embedding(points, space, node_ids_of(read_graph(cycle(5)))))
    with np.load(tmp_path / "seed-0.npz", allow_pickle=False) as content:
        assert content["curvature"].tolist() == curvature
        again = parse_space(str(content["space"]), beta=-1 / abs(content["curvature"][0]) if curvature[0] else -1.0)
        expected = space.pairwise_dist(points)
        torch.testing.assert_close(again.pairwise_dist(torch.from_numpy(content["points"])), expected)


@pytest.mark.parametrize("name", ["Q3,2", "H3", "S3", "E4", "K3", "H2xS2", "Q2,2xK2"])
def test_an_embedding_is_read_back_with_its_space(tmp_path, name):
    space = parse_space(name, beta=-4.0, learnable=True).requires_grad_(False)
    for parameter_name, parameter in space.named_parameters():
        if parameter_name.endswith("k"):
            parameter.data.fill_(-0.3)
    points = torch.as_tensor(space.random(5, space.ambient_dim)).as_subclass(torch.Tensor)
    write_embedding(tmp_path / "seed-0.npz", Embedding(points, space, node_ids_of(read_graph(cycle(5)))))
    again = load_embedding(tmp_path / "seed-0.npz")
    assert str(again.space) == name
    assert again.node_ids.tolist() == [0, 1, 2, 3, 4]
    torch.testing.assert_close(again.points, points)
    torch.testing.assert_close(again.space.pairwise_dist(points), space.pairwise_dist(points))


def test_what_is_no_embedding_is_refused(tmp_path):
    path = tmp_path / "seed-0.npz"
    with pytest.raises(FileNotFoundError, match="no file"):
        load_embedding(path)
    np.savez(path, points=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="has no checksum"):
        load_embedding(path)
    whole = {"points": np.zeros((2, 3)), "tangent": np.zeros((2, 3)), "node_ids": np.arange(2)}
    whole |= {"space": np.asarray("H3"), "curvature": np.asarray([-1.0])}
    for change, message in (
        ({}, r"points of 2 nodes in H3 must have shape \(2, 4\), got \(2, 3\)"),
        ({"points": None}, "damaged or no embedding"),
        ({"points": np.array(3.0)}, r"points must not be float64 in shape \(\)"),
        ({"points": np.full((2, 4), np.inf)}, "points holds numbers that are not finite"),
        ({"tangent": np.full((2, 4), np.nan)}, "tangent holds numbers that are not finite"),
        ({"tangent": np.zeros((3, 4))}, "tangent must have 2 rows, got 3"),
        ({"node_ids": np.array([None, None])}, "damaged or no embedding"),
        ({"space": np.asarray("none")}, "damaged or no embedding"),
        ({"points": np.zeros((2, 4)), "curvature": np.zeros(1)}, "damaged or no embedding"),
        ({"points": np.zeros((2, 4)), "curvature": np.full(3, -1.0)}, "damaged or no embedding"),
    ):
        content = {name: array for name, array in (whole | change).items() if array is not None}
        path.write_bytes(seal_archive(partial(np.savez, **content)))
        with pytest.raises(ValueError, match=message) as error:
            load_embedding(path)
        assert "seed-0.npz" in str(error.value)


def test_what_is_not_finite_is_not_written(tmp_path):
    space = parse_space("Q3,2")
    points = torch.as_tensor(space.random(5, 5)).as_subclass(torch.Tensor)
    points[3, 1] = torch.inf
    with pytest.raises(ValueError, match="an embedding must be finite to be written, but its points are not"):
        write_embedding(tmp_path / "seed-0.npz", Embedding(points, space, np.arange(5)))
    assert list(tmp_path.iterdir()) == []


def test_a_flipped_bit_is_noticed(tmp_path):
    path, space = tmp_path / "seed-0.npz", parse_space("E2")
    write_embedding(path, Embedding(torch.ones(3, 2), space, np.arange(3)))
    whole = path.read_bytes()
    for place in range(0, len(whole), 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(Damaged, match=r"seed-0\.npz"):
            load_embedding(path)
