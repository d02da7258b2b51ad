"""New nodes among points that stay where they are."""

import torch

from qgcn import metrics, parse_space
from qgcn.data import load
from qgcn.kernels import Neighbourhoods, reconstruction_loss
from qgcn.tasks import Config
from qgcn.tasks.placement import _depth, _Rows, _Scene, place_nodes
from qgcn.training import Run


def test_new_nodes_are_placed_beside_their_neighbours_and_nobody_else_moves():
    values = {"task": "reconstruction", "data": "ring-of-trees", "space": "Q2,2", "epochs": 300, "yardsticks": False}
    run = Run(Config.checked(values | {"device": "cpu"}))
    run.train()
    points, space, _ = run.embedding()
    data = load("ring-of-trees")
    graph = Neighbourhoods.of(data.edge_index, data.num_nodes)
    new = torch.zeros(data.num_nodes, dtype=torch.bool)
    new[torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0))[:9]] = True
    lost = points.clone()
    lost[new] = space.origin(space.ambient_dim).float()
    placed = place_nodes(lost, new, graph, space, 10.0)
    assert torch.equal(placed[~new], points[~new])
    assert space.check_point_on_manifold(placed)
    before = metrics.node_precision(lost, data.edge_index, space)[new].mean()
    after = metrics.node_precision(placed, data.edge_index, space)[new].mean()
    assert after > 0.5
    assert after > before + 0.3


def test_without_new_nodes_points_are_returned_as_they_are():
    space = parse_space("H2")
    points = space.random(3, space.ambient_dim).as_subclass(torch.Tensor)
    graph = Neighbourhoods.of(torch.tensor([[0, 1], [1, 2]]), 3)
    assert torch.equal(place_nodes(points, torch.zeros(3, dtype=torch.bool), graph, space, 1.0), points)


def test_the_cost_of_placing_nodes_is_the_loss_of_the_whole_graph():
    space = parse_space("Q2,2")
    data = load("ring-of-trees")
    points = space.random(data.num_nodes, space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor)
    graph = Neighbourhoods.of(data.edge_index, data.num_nodes)
    new = torch.arange(data.num_nodes) % 5 == 0
    rows = _Rows(_Scene(points.clone(), ~new, graph, space, 1.5), new.nonzero().squeeze(1))
    cost, _ = rows.costs(points[new])
    loss = reconstruction_loss(points, graph, space, temperature=1.5, balance=True)
    torch.testing.assert_close(rows.share @ cost / data.num_nodes, loss)


def test_a_new_node_starts_at_the_mean_of_neighbours_that_are_nearer_to_known_ones():
    space = parse_space("E2")
    links = torch.tensor([[0, 1, 2, 2, 3, 5], [2, 3, 3, 4, 4, 6]])  # 2 and 3 beside known ones, 4 behind
    graph = Neighbourhoods.of(torch.cat((links, links.flip(0)), dim=1), 7)
    points = torch.tensor([[4.0, 0.0], [0.0, 2.0], *[[9.0, 9.0]] * 5])
    new = torch.arange(7) > 1
    scene = _Scene(points.clone(), ~new, graph, space, 1.0)
    start = scene._start(torch.arange(2, 7), _depth(new, graph))
    assert start.tolist() == [[4, 0], [0, 2], [2, 1], [0, 0], [0, 0]]  # no path leads to the last two
