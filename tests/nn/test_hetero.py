"""Several types of nodes and edges: what is combined stays in the space."""

import pytest
import torch
import torch_geometric
from torch import nn

from cases import generator
from qgcn import parse_space
from qgcn.nn import QGCNConv, QHeteroConv, to_hetero
from qgcn.nn.hetero import combined

NODES = ["paper", "author"]
RELATIONS = [("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "by", "author")]
EDGES = {
    RELATIONS[0]: torch.tensor([[0, 1, 2], [1, 2, 0]]),
    RELATIONS[1]: torch.tensor([[0, 1, 1], [0, 0, 2]]),
    RELATIONS[2]: torch.tensor([[0, 0, 2], [0, 1, 1]]),
}


def features():
    return {"paper": torch.randn(3, 5, generator=generator(0)), "author": torch.randn(2, 4, generator=generator(1))}


def convs(name, **options):
    torch.manual_seed(0)
    sizes = {"paper": 5, "author": 4}
    return {
        key: QGCNConv(sizes[key[0]] if key[0] == key[2] else (sizes[key[0]], sizes[key[2]]), parse_space(name), **options)
        for key in RELATIONS
    }


@pytest.mark.parametrize("aggr", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("name", ["E4", "H3", "Q3,1", "Q2,2", "H2xS1"])
def test_a_hetero_convolution_adds_up_tangent_vectors(name, aggr):
    layer = QHeteroConv(convs(name), aggr)
    x = features()
    found = layer(x, EDGES)
    space = parse_space(name)
    assert {kind: tuple(y.shape) for kind, y in found.items()} == {kind: (len(x[kind]), space.ambient_dim) for kind in NODES}
    for y in found.values():
        space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    own = convs(name)
    cites = own[RELATIONS[0]](x["paper"], EDGES[RELATIONS[0]])
    writes = own[RELATIONS[1]]((x["author"], x["paper"]), EDGES[RELATIONS[1]])
    logs = torch.stack((space.logmap0(cites), space.logmap0(writes)))
    reduced = {"sum": logs.sum(0), "mean": logs.mean(0), "max": logs.amax(0), "min": logs.amin(0)}[aggr]
    torch.testing.assert_close(found["paper"], space.expmap0(reduced), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found["author"], own[RELATIONS[2]]((x["paper"], x["author"]), EDGES[RELATIONS[2]]))


def test_relations_without_edges_and_named_arguments_are_as_in_pyg():
    layer = QHeteroConv(convs("Q2,2"))
    some = {key: EDGES[key] for key in RELATIONS[:1]}
    found = layer(features(), edge_index_dict=some, edge_weight_dict={RELATIONS[0]: torch.rand(3, generator=generator(0))})
    assert set(found) == {"paper"}


class Model(nn.Module):
    def __init__(self, space):
        super().__init__()
        self.first = QGCNConv((-1, -1), space)
        self.second = QGCNConv(space, parse_space(str(space)), aggregation="mean")

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index), edge_index)


@pytest.mark.parametrize("aggr", ["sum", "mean"])
def test_a_converted_model_stays_in_the_space_and_trains(aggr):
    space = parse_space("Q2,2", learnable=True)
    model = to_hetero(Model(space), (NODES, RELATIONS), aggr)
    found = model(features(), EDGES)
    for y in found.values():
        parse_space("Q2,2").assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    sum(y.square().sum() for y in found.values()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    assert model.first["paper__cites__paper"].linear.weight.grad.abs().sum() > 0
    # the first layer by hand
    first = model.first
    x = features()
    cites = first["paper__cites__paper"](x["paper"], EDGES[RELATIONS[0]])
    writes = first["author__writes__paper"]((x["author"], x["paper"]), EDGES[RELATIONS[1]])
    spaces = [first["paper__cites__paper"].space, first["author__writes__paper"].space]
    papers = combined([cites, writes], spaces, aggr)
    authors = first["paper__by__author"]((x["paper"], x["author"]), EDGES[RELATIONS[2]])
    again = model.second["paper__by__author"]((papers, authors), EDGES[RELATIONS[2]])
    torch.testing.assert_close(found["author"], again, rtol=1e-4, atol=1e-4)


def test_nothing_is_combined_where_one_relation_ends():
    model = to_hetero(Model(parse_space("Q2,2")), (NODES, RELATIONS))
    assert [name for name, _ in model.named_modules() if "combined" in name] == [
        f"{layer}.combined__paper" for layer in ("first", "second")
    ]


def test_other_layers_are_converted_as_pyg_does():
    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch_geometric.nn.SAGEConv((-1, -1), 4)

        def forward(self, x, edge_index):
            return self.conv(x, edge_index)

    torch.manual_seed(0)
    ours = to_hetero(Plain(), (NODES, RELATIONS))
    theirs = torch_geometric.nn.to_hetero(Plain(), (NODES, RELATIONS))
    ours(features(), EDGES)
    theirs(features(), EDGES)
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(ours(features(), EDGES), theirs(features(), EDGES))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="aggr must be one of sum, mean, max, min, got 'cat'"):
        QHeteroConv(convs("Q2,2"), "cat")
    x = torch.ones(2, 3), torch.ones(2, 4)
    with pytest.raises(ValueError, match="spaces of one size, got E3, E4"):
        combined(x, [parse_space("E3"), parse_space("E4")])
    with pytest.raises(ValueError, match="aggr must be one of"):
        combined(x, [parse_space("E3"), parse_space("E4")], "mul")


@pytest.mark.parametrize("given", [{}, {"author": None}])
def test_a_node_type_without_features_that_edges_start_at_is_named(given):
    layer = QHeteroConv(convs("Q2,2"))
    x = {"paper": features()["paper"], **given}
    expected = r"edges \('author', 'writes', 'paper'\) start at 'author', which has no features; got those of paper"
    with pytest.raises(ValueError, match=expected):
        layer(x, EDGES)
    with pytest.raises(ValueError, match="got those of none"):
        layer({}, EDGES)


def test_a_node_type_that_edges_only_end_at_needs_no_features():
    found = QHeteroConv(convs("Q2,2"))({"paper": features()["paper"]}, {RELATIONS[2]: EDGES[RELATIONS[2]]})
    assert found["author"].shape == (3, 4)


def test_edges_under_another_name_are_refused_in_one_line():
    class Unnamed(Model):
        def forward(self, x, graph):
            return self.first(x, graph)

    with pytest.raises(TypeError, match=r"edge_index must be a tensor of shape \(2, E\), got NoneType"):
        to_hetero(Unnamed(parse_space("Q2,2")), (NODES, RELATIONS))(features(), EDGES)
    found = to_hetero(Unnamed(parse_space("Q2,2")), (NODES, RELATIONS), input_map={"x": "node", "graph": "edge"})
    assert set(found(features(), EDGES)) == set(NODES)
