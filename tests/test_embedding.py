import numpy as np
import pytest
import torch

from qgcn import parse_space
from qgcn.data import cycle, read_graph
from qgcn.embedding import Embedding, load_embedding, node_ids_of, write_embedding


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
    with pytest.raises(FileNotFoundError, match="no embedding"):
        load_embedding(path)
    np.savez(path, points=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="damaged or no embedding"):
        load_embedding(path)
    np.savez(path, points=np.zeros((2, 3)), node_ids=np.arange(2), space=np.asarray("H3"), curvature=np.asarray([-1.0]))
    with pytest.raises(ValueError, match=r"points of 2 nodes in H3 must have shape \(2, 4\), got \(2, 3\)"):
        load_embedding(path)
