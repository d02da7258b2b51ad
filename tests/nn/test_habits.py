"""The habits of PyG's own tests of its convolutions, for our layer: dense, sparse, bipartite, static, lazy, explained."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, GNNExplainer
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv
from torch_geometric.transforms import ToSparseTensor
from torch_geometric.utils import to_torch_csc_tensor

from cases import generator
from qgcn import parse_space
from qgcn.nn import Adjacency, QGCNConv
from tolerance import DTYPES

EDGES = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
DIRECTED = torch.tensor([[0, 0, 1, 2, 3, 2], [1, 2, 3, 0, 2, 2]])
WEIGHT = torch.rand(6, generator=generator(3)) + 0.1
LAYERS = {
    "sym": {},
    "mean": {"aggregation": "mean"},
    "sum": {"aggregation": "sum", "self_loops": False},
    "gat": {"attention": True},
    "gatv2": {"attention": "gatv2"},
    "distance": {"attention": "distance", "heads": 2},
}
SPACES = ("E4", "H3", "Q3,1", "Q2,2", "H2xS1")
every_layer = pytest.mark.parametrize("layer", LAYERS)


def features(n=4, size=6, seed=0, dtype=torch.float32):
    return torch.randn(n, size, dtype=dtype, generator=generator(seed))


def conv_of(layer="sym", space="Q2,2", source=6, **options):
    torch.manual_seed(0)
    conv = QGCNConv(source, parse_space(space), **LAYERS[layer] | options)
    if conv.linear.bias is not None:
        nn.init.normal_(conv.linear.bias, std=0.2)
    return conv


def close(found, expected, tolerance=1e-5):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


# --- the graph: dense, sparse, weighted ---------------------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("edges", [EDGES, DIRECTED], ids=["undirected", "directed"])
def test_adj_t_gives_what_edge_index_gives(edges, weight, space, layer):
    conv, x = conv_of(layer, space), features()
    expected = conv(x, edges, weight)
    attr = None if weight is None else "edge_weight"
    data = Data(edge_index=edges.clone(), num_nodes=4) if weight is None else Data(edge_index=edges.clone(), edge_weight=weight)
    data.num_nodes = 4
    adj_t = ToSparseTensor(attr=attr)(data).adj_t
    for graph in (adj_t, adj_t.to_sparse_coo(), adj_t.to_sparse_csc(), to_torch_csc_tensor(edges, weight, (4, 4)).t()):
        close(conv(x, graph), expected)
    close(conv(x, conv.operand(edges, 4, x.dtype, weight)), expected)


LOOPS = torch.tensor([[1, 1, 2, 0], [1, 2, 2, 1]])


@pytest.mark.parametrize("edges", [EDGES, DIRECTED, LOOPS], ids=["undirected", "directed", "loops"])
def test_in_flat_space_weights_and_loops_count_as_in_pyg(edges):
    conv, theirs = conv_of(space="E4", bias=False), GCNConv(6, 4, bias=False)
    theirs.lin.weight.data = conv.linear.weight.data.t()
    weight = (torch.rand(edges.shape[1], generator=generator(0)) + 0.1).requires_grad_()
    x = features()
    twice = torch.cat((edges, torch.tensor([[2], [2]])), dim=1)
    close(conv(x, twice), theirs(x, twice))
    found, expected = conv(x, edges, weight), theirs(x, edges, weight)
    close(found, expected)
    close(*(torch.autograd.grad(y.square().sum(), weight)[0] for y in (found, expected)))


def test_without_normalisation_it_is_pyg_s():
    conv, theirs = conv_of("sum", "E4", bias=False), GCNConv(6, 4, bias=False, normalize=False)
    theirs.lin.weight.data = conv.linear.weight.data.t()
    close(conv(features(), EDGES, WEIGHT), theirs(features(), EDGES, WEIGHT))


@every_layer
def test_gradients_flow_to_weights(layer):
    conv = conv_of(layer).double()
    weight = WEIGHT.double().requires_grad_()
    x = features(dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda w: conv(x, DIRECTED, w), (weight,), atol=1e-4)
    close(conv(x, DIRECTED, weight), conv(x, DIRECTED, weight.detach()))


@pytest.mark.parametrize("layer", ["gat", "gatv2", "distance"])
def test_attention_sees_weights(layer):
    conv, x = conv_of(layer), features()
    assert (conv(x, EDGES, WEIGHT) - conv(x, EDGES)).abs().max() > 1e-3
    close(conv(x, EDGES, torch.ones(6)), conv(x, EDGES))
    doubled = torch.cat((EDGES, EDGES[:, :2]), dim=1)
    close(conv(x, EDGES, torch.tensor([2.0, 2, 1, 1, 1, 1])), conv(x, doubled))


@every_layer
def test_flow_can_be_turned_around(layer):
    conv, edges = conv_of(layer, flow="source_to_target"), torch.tensor([[0, 0, 0], [1, 2, 3]])
    expected = conv(features(), edges)
    conv.flow = "target_to_source"
    close(conv(features(), edges.flip(0)), expected)
    with pytest.raises(ValueError, match="flow target_to_source goes with an edge_index"):
        conv(features(), torch.eye(4).to_sparse())


@every_layer
def test_decomposed_layers_change_nothing(layer):
    conv = conv_of(layer)
    decomposed = copy.deepcopy(conv)
    decomposed.decomposed_layers = 2
    close(decomposed(features(), EDGES), conv(features(), EDGES))


# --- features: sparse, static, none, half precision ---------------------------------------------------------------------------


@every_layer
def test_sparse_features_of_pytorch_give_what_dense_ones_give(layer):
    conv, x = conv_of(layer), features().relu()
    for sparse in (x.to_sparse(), x.to_sparse_csr()):
        close(conv(sparse, EDGES), conv(x, EDGES))


@every_layer
@pytest.mark.parametrize("space", SPACES)
def test_a_static_batch_equals_each_graph_alone(space, layer):
    conv = conv_of(layer, space)
    x = torch.stack([features(seed=seed) for seed in range(3)])
    alone = torch.stack([conv(each, EDGES, WEIGHT) for each in x])
    close(conv(x, EDGES, WEIGHT), alone, 1e-4)
    close(conv(x.unsqueeze(1), EDGES, WEIGHT), alone.unsqueeze(1), 1e-4)
    close(conv(x, conv.operand(EDGES, 4, x.dtype, WEIGHT)), alone, 1e-4)


@every_layer
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_graph_without_nodes_or_edges_is_a_graph(dtype, layer):
    conv, none = conv_of(layer).to(dtype), torch.zeros(2, 0, dtype=torch.int64)
    for n in (0, 3):
        y = conv(features(n, dtype=dtype), none)
        assert y.shape == (n, 4)
        assert y.isfinite().all()
        y.sum().backward()


@every_layer
@pytest.mark.parametrize("space", SPACES)
def test_under_autocast_points_stay_in_the_space(space, layer):
    conv, x = conv_of(layer, space), features()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = conv(x, EDGES, WEIGHT)
        graph = conv(x, conv.operand(EDGES, 4, x.dtype, WEIGHT))
    assert y.dtype == torch.float32
    conv.space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    close(y, conv(x, EDGES, WEIGHT), 0.1)
    close(graph, y, 0.05)
    y.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in conv.parameters())


def test_a_batch_of_graphs_equals_each_alone():
    conv = conv_of()
    graphs = [Data(x=features(seed=seed), edge_index=edges) for seed, edges in enumerate((EDGES, DIRECTED))]
    batch = Batch.from_data_list(graphs)
    close(conv(batch.x, batch.edge_index), torch.cat([conv(each.x, each.edge_index) for each in graphs]))


# --- construction: lazy, named, in_space --------------------------------------------------------------------------------------


@every_layer
def test_lazy_sizes_and_names_of_spaces(layer):
    conv = QGCNConv(-1, "Q7,3", **LAYERS[layer])
    assert repr(conv).startswith("QGCNConv(-1 -> Q7,3")
    assert conv(features(), EDGES).shape == (4, 10)
    assert repr(conv).startswith("QGCNConv(6 -> Q7,3")
    again = QGCNConv(-1, "Q7,3", **LAYERS[layer])
    again.load_state_dict(conv.state_dict())
    close(again(features(), EDGES), conv(features(), EDGES))
    assert str(QGCNConv("H3", "Q7,3").linear.in_space) == "H3"


@every_layer
def test_a_standalone_layer_owns_the_space_of_its_inputs(layer):
    conv = QGCNConv(parse_space("Q2,2", learnable=True), parse_space("H3"), **LAYERS[layer])
    assert "linear.in_space.free_beta" in dict(conv.named_parameters())
    assert "linear.in_space.free_beta" in conv.state_dict()


# --- bipartite ----------------------------------------------------------------------------------------------------------------

PAIRS = torch.tensor([[0, 1, 2, 3, 3], [0, 1, 1, 0, 1]])


@every_layer
@pytest.mark.parametrize("space", SPACES)
def test_sources_and_targets_may_differ(space, layer):
    conv = conv_of(layer, space, (6, 5))
    x, weight = (features(4), features(2, 5, seed=1)), torch.rand(5, generator=generator(0))
    y = conv(x, PAIRS, weight)
    assert y.shape == (2, conv.space.ambient_dim)
    conv.space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    close(conv(x, PAIRS, weight, size=(4, 2)), y)
    adj_t = torch.sparse_coo_tensor(PAIRS.flip(0), weight, (2, 4))
    for graph in (adj_t, adj_t.to_sparse_csr(), adj_t.to_sparse_csc()):
        close(conv(x, graph), y)
    alone = conv((x[0], None), PAIRS, weight, size=(4, 2))
    close(conv((x[0], None), adj_t.to_sparse_csr()), alone)
    assert alone.shape == y.shape
    assert repr(conv).startswith(f"QGCNConv((6, 5) -> {space}")


@every_layer
def test_a_pair_of_the_same_features_is_the_features_themselves(layer):
    conv, x = conv_of(layer), features()
    close(conv((x, x), EDGES), conv(x, EDGES))


def test_targets_are_their_own_neighbours_by_hand():
    conv = conv_of("mean", "E1", (1, 1), bias=False)
    with torch.no_grad():
        conv.linear.weight.fill_(1.0)
        conv.linear_target.weight.fill_(10.0)
    x = torch.tensor([[1.0], [2.0], [3.0], [4.0]]), torch.tensor([[1.0], [2.0]])
    close(conv(x, PAIRS).flatten(), torch.tensor([(1 + 4 + 10) / 3, (2 + 3 + 4 + 20) / 4]))
    close(conv((x[0], None), PAIRS, size=(4, 2)).flatten(), torch.tensor([(1 + 4) / 2, (2 + 3 + 4) / 3]))
    with pytest.raises(ValueError, match=r"size must be \(4, 2\), as x is, got \(4, 3\)"):
        conv(x, PAIRS, size=(4, 3))


# --- attention and features of edges ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edge_dim", [None, 3])
def test_in_flat_space_attention_is_pyg_s(edge_dim):
    x, attr = features(), None if edge_dim is None else features(6, 3, seed=1)
    ours = conv_of("gat", "E4", bias=False, edge_dim=edge_dim)
    theirs = GATConv(6, 4, bias=False, edge_dim=edge_dim, fill_value=0.0)
    theirs.lin.weight.data = ours.linear.weight.data.t()
    parts = [theirs.att_src, theirs.att_dst] + ([] if edge_dim is None else [theirs.att_edge])
    for row, part in zip(ours.score.data, parts, strict=True):
        part.data = row.view(1, 1, -1)
    if edge_dim is not None:
        theirs.lin_edge.weight.data = ours.linear_edge.weight.data
    close(ours(x, EDGES, edge_attr=attr), theirs(x, EDGES, attr))

    ours = conv_of("gatv2", "E4", bias=False, edge_dim=edge_dim)
    theirs = GATv2Conv(6, 4, bias=False, edge_dim=edge_dim, fill_value=0.0)
    theirs.lin_l.weight.data, theirs.lin_r.weight.data = ours.linear.weight.data.t(), ours.listener.weight.data.t()
    theirs.lin_l.bias = theirs.lin_r.bias = None
    theirs.att.data = ours.score.data.view(1, 1, -1)
    if edge_dim is not None:
        theirs.lin_edge.weight.data = ours.linear_edge.weight.data
    close(ours(x, EDGES, edge_attr=attr), theirs(x, EDGES, attr))


@every_layer
def test_features_of_edges_count_and_receive_gradients(layer):
    conv, x = conv_of(layer, edge_dim=3), features()
    attr = features(6, 3, seed=1).requires_grad_()
    y = conv(x, EDGES, WEIGHT, attr)
    conv.space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    assert (y - conv(x, EDGES, WEIGHT, 2 * attr)).abs().max() > 1e-3
    close(conv(x, EDGES, WEIGHT, 0 * attr), conv_without_edges(conv, layer)(x, EDGES, WEIGHT))
    y.square().sum().backward()
    assert attr.grad.abs().sum() > 0
    with pytest.raises(ValueError, match=r"edge_attr: expected shape \(E, 3\), got None"):
        conv(x, EDGES)
    with pytest.raises(ValueError, match=r"edge_attr: expected none without edge_dim, got \(6, 3\)"):
        conv_of(layer)(x, EDGES, edge_attr=attr)


@every_layer
def test_features_of_edges_have_one_row_for_each(layer):
    conv, x, attr = conv_of(layer, edge_dim=1), features(), features(6, 1, seed=1)
    close(conv(x, EDGES, edge_attr=attr.squeeze(-1)), conv(x, EDGES, edge_attr=attr), 0)
    for given in (attr[:5], attr[0], features(6, 2), attr.unsqueeze(0)):
        with pytest.raises(ValueError, match=r"edge_attr must have shape \(6, 1\), got \("):
            conv(x, EDGES, edge_attr=given)


def conv_without_edges(conv, layer):
    plain = conv_of(layer)
    state = {key: value[:2] if key == "score" else value for key, value in conv.state_dict().items() if "edge" not in key}
    plain.load_state_dict(state)
    return plain


def test_features_of_edges_by_hand():
    conv = conv_of("sum", "E2", 2, bias=False, edge_dim=1)
    with torch.no_grad():
        conv.linear.weight.copy_(torch.eye(2))
        conv.linear_edge.weight.copy_(torch.tensor([[1.0], [100.0]]))
    y = conv(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0], [1]]), torch.tensor([0.5]), torch.tensor([[2.0]]))
    close(y, torch.tensor([[0.0, 0.0], [1.5, 101.0]]))


# --- hooks and explanations ---------------------------------------------------------------------------------------------------


@every_layer
@pytest.mark.parametrize("what", ["propagate", "message", "aggregate", "edge_update"])
def test_hooks_fire_and_change_nothing_by_themselves(what, layer):
    conv, fired = conv_of(layer), []
    expected = conv(features(), EDGES, WEIGHT)
    handles = [
        getattr(conv, f"register_{what}_forward_pre_hook")(lambda *given: fired.append("before")),
        getattr(conv, f"register_{what}_forward_hook")(lambda *given: fired.append("after")),
    ]
    close(conv(features(), EDGES, WEIGHT), expected)
    close(conv(features(), conv.operand(EDGES, 4, torch.float32, WEIGHT)), expected)
    attends = layer.startswith("gat") or layer == "distance"
    assert fired == (["before", "after"] * 2 if what != "edge_update" or attends else [])
    for handle in handles:
        handle.remove()
    fired.clear()
    conv(features(), EDGES)
    assert not fired


def test_hooks_of_sparse_products_fire():
    conv, fired = conv_of(), []
    adj_t = to_torch_csc_tensor(DIRECTED, WEIGHT, (4, 4)).t()
    expected = conv(features(), adj_t)
    conv.register_message_and_aggregate_forward_hook(lambda *given: fired.append(1))
    close(conv(features(), adj_t), expected)
    assert fired == [1]


def test_a_hook_can_change_messages_and_a_subclass_too():
    conv = conv_of("sum", "E4", bias=False)
    expected = 2 * conv(features(), EDGES)
    conv.register_message_forward_hook(lambda layer, given, out: 2 * out)
    close(conv(features(), EDGES), expected)

    class Doubled(QGCNConv):
        def message(self, v_j, weight, features):
            return 2 * weight * v_j

    torch.manual_seed(0)
    close(Doubled(6, "E4", aggregation="sum", self_loops=False, bias=False)(features(), EDGES), expected)


class Model(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.conv, self.linear = conv_of(layer), nn.Linear(4, 2)

    def forward(self, x, edge_index):
        return self.linear(self.conv.space.logmap0(self.conv(x, edge_index)))


@every_layer
@pytest.mark.parametrize("edges", [EDGES, DIRECTED], ids=["no loops", "a loop"])
def test_explanations_of_pyg_see_the_edges(edges, layer):
    explainer = Explainer(
        Model(layer),
        GNNExplainer(epochs=3),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    found = explainer(features(), edges, index=2).edge_mask
    assert found.shape == (6,)
    reaching = edges[1] == 2
    if LAYERS[layer].get("self_loops", True):
        reaching &= edges[0] != edges[1]  # loops are not masked, as in PyG
    assert torch.equal(found > 0, reaching)


def test_a_mask_of_zeros_takes_the_edges_away():
    conv, x = conv_of("sum"), features()
    conv.explain, conv._edge_mask, conv._loop_mask, conv._apply_sigmoid = True, torch.zeros(6), EDGES[0] != EDGES[1], False
    close(conv(x, EDGES), conv.space.origin(4, 4).as_subclass(torch.Tensor))
    conv._edge_mask = torch.ones(6)
    masked = conv(x, EDGES)
    conv.explain = False
    close(masked, conv(x, EDGES))


# --- compilers ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def tracing(test):
    """Start without what was compiled before; PyTorch's compilers warn of what they trace, which is their own affair."""
    test = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")(test)
    return pytest.mark.usefixtures("fresh")(test)


@tracing
@pytest.mark.parametrize("layer", ["sym", "sum"])
@pytest.mark.parametrize("space", ["E4", "H3", "Q3,1", "Q2,2"])
def test_it_is_compiled_as_one_graph_with_its_gradients(space, layer):
    conv, x = conv_of(layer, space), features()
    for graph in ((EDGES,), (DIRECTED, WEIGHT), (Adjacency.of(EDGES, 4),)):
        whole = not isinstance(graph[0], Adjacency)  # the matrix of an adjacency is multiplied with outside of it
        compiled = torch.compile(conv, fullgraph=whole, backend="aot_eager")
        found, expected = compiled(x, *graph), conv(x, *graph)
        close(found, expected, 1e-4)
        parameters = list(conv.parameters())
        close(*(torch.autograd.grad(y.square().sum(), parameters) for y in (found, expected)), 1e-3)


@tracing
@pytest.mark.parametrize("layer", ["gat", "gatv2"])
def test_attention_is_compiled(layer):
    conv = conv_of(layer)
    close(torch.compile(conv, backend="aot_eager")(features(), EDGES, WEIGHT), conv(features(), EDGES, WEIGHT))


@tracing
def test_compiled_code_refuses_an_index_that_is_no_node():
    compiled = torch.compile(conv_of(), fullgraph=True, backend="aot_eager")
    compiled(features(), EDGES)
    with pytest.raises(Exception, match=r"edge_index must lie in|out of bounds"):  # PyTorch 2.11 looks first
        compiled(features(), EDGES + 3)


@tracing
@every_layer
def test_it_is_exported(layer):
    conv = conv_of(layer)
    program = torch.export.export(conv, (features(), EDGES))
    assert "qgcn" not in str(program.graph)  # no operation of ours: it runs where the package is not installed
    close(program.module()(features(seed=1), EDGES), conv(features(seed=1), EDGES))


@tracing
@pytest.mark.parametrize(("space", "layer"), [*((space, "sym") for space in SPACES), ("Q2,2", "gatv2"), ("Q2,2", "distance")])
def test_what_is_exported_serves_graphs_of_any_size(space, layer):
    conv, nodes, edges = conv_of(layer, space), torch.export.Dim("nodes"), torch.export.Dim("edges")
    program = torch.export.export(conv, (features(), EDGES), dynamic_shapes=({0: nodes}, {1: edges})).module()
    size = conv.space.ambient_dim
    for n in (3, size, 9):  # as many nodes as coordinates are not taken for coordinates
        x, graph = features(n, seed=n), torch.randint(0, n, (2, 2 * n + 1), generator=generator(n))
        close(program(x, graph), conv(x, graph), 1e-4)
