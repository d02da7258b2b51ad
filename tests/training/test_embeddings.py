import numpy as np
import pytest
import torch

from qgcn import parse_space
from qgcn.data import cycle, read_graph
from qgcn.training.embeddings import write_embedding


@pytest.mark.parametrize(
    ("name", "curvature"), [("Q3,2", [-0.25]), ("H3", [-0.25]), ("S3", [0.25]), ("E4", [0.0]), ("H2xS2", [-0.25, 0.25])]
)
def test_a_file_is_enough_to_measure_the_embedding_again(tmp_path, name, curvature):
    space = parse_space(name, beta=-4.0)
    points = torch.as_tensor(space.random(5, space.ambient_dim)).as_subclass(torch.Tensor)
    write_embedding(tmp_path / "seed-0.npz", points, space, read_graph(cycle(5)))
    with np.load(tmp_path / "seed-0.npz", allow_pickle=False) as content:
        assert content["curvature"].tolist() == curvature
        again = parse_space(str(content["space"]), beta=-1 / abs(content["curvature"][0]) if curvature[0] else -1.0)
        expected = space.pairwise_dist(points)
        torch.testing.assert_close(again.pairwise_dist(torch.from_numpy(content["points"])), expected)
