"""The graph convolution: against formulas, against PyG, and inside PyG."""

import math

import pytest
import torch
import torch_geometric
from torch import nn

from cases import generator
from qgcn import data, parse_space
from qgcn.nn import Adjacency, QGCNConv, SparseMatrix
from tolerance import DTYPES

SPACES = ("E4", "H3", "S3", "K4", "Q3,1", "Q2,2", "Q0,4", "H2xS2", "Q2,2xE2")
CLOSE = {torch.float32: {"rtol": 1e-4, "atol": 1e-4}, torch.float64: {"rtol": 1e-9, "atol": 1e-9}}
EDGES = torch.tensor([[0, 1, 1, 2, 0, 3, 3, 1], [1, 0, 2, 1, 3, 0, 1, 3]])  # node 4 has no neighbour


def conv_of(in_space, space, dtype=torch.float64, **options):
    """Return a convolution whose bias is not zero."""
    torch.manual_seed(0)
    conv = QGCNConv(in_space, space, **options).to(dtype)
    if conv.linear.bias is not None:
        nn.init.normal_(conv.linear.bias, std=0.3)
    return conv


def features(n=5, size=3, dtype=torch.float64, seed=0):
    return torch.randn(n, size, dtype=dtype, generator=generator(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"attention": True}, {"aggregation": "mean"}], ids=str)
@pytest.mark.parametrize("name", SPACES)
def test_forward_equals_exp_of_from_tangent_of_log_and_stays_on_the_manifold(name, options, dtype):
    in_space, space = parse_space("Q3,2", beta=-0.8), parse_space(name, beta=-1.5)
    conv = conv_of(in_space, space, dtype, **options)
    x = in_space.expmap0(features(size=5, dtype=dtype))
    y = conv(x, EDGES)
    space.assert_check_point_on_manifold(y, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(y, space.expmap0(conv.from_tangent(in_space.logmap0(x), EDGES)), **CLOSE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
@pytest.mark.parametrize("name", SPACES)
def test_forward_equals_equation_6_written_with_points(name, aggregation, dtype):
    space = parse_space(name, beta=-1.5)
    conv = conv_of(3, space, dtype, aggregation=aggregation)
    x = 0.5 * features(dtype=dtype)
    dense = Adjacency.of(EDGES, 5, torch.ones(8, dtype=dtype), aggregation=aggregation).to_dense()
    moved = space.translate(space.expmap0(x @ conv.linear.weight), conv.linear.bias)
    expected = space.expmap0(dense @ space.logmap0(moved))
    torch.testing.assert_close(conv(x, EDGES), expected, **CLOSE[dtype])


@pytest.mark.parametrize("attention", [False, True])
def test_whole_turns_that_neighbours_add_up_to_are_taken_off(attention):
    space = parse_space("Q2,2")
    conv = conv_of(4, space, aggregation="sum", attention=attention, bias=False)
    with torch.no_grad():
        conv.linear.weight.copy_(torch.eye(4))
    u = torch.tensor([[0.0, 3.0, 0.1, 0.2]], dtype=torch.float64).repeat(5, 1)
    found = conv.from_tangent(u, EDGES)
    torch.testing.assert_close(found, space.logmap0(conv(u, EDGES)))
    counts = torch.ones(5) if attention else torch.tensor([3.0, 4.0, 2.0, 3.0, 1.0])
    assert (found[:, 1].abs() < math.pi).all()
    turned = (3 * counts.double() - found[:, 1]) / (2 * math.pi)
    torch.testing.assert_close(turned, turned.round())


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_flat_space_it_is_the_convolution_of_pyg(dtype):
    """PyG adds the bias after aggregating, here it is aggregated too: the same only without one."""
    conv = conv_of(3, parse_space("E4"), dtype, bias=False)
    theirs = torch_geometric.nn.GCNConv(3, 4, bias=False).to(dtype)
    with torch.no_grad():
        theirs.lin.weight.copy_(conv.linear.weight.t())
    edges, _ = data.stochastic_block((6, 6), 0.6, 0.2, seed=0)
    weight = torch.rand(edges.shape[1], dtype=dtype, generator=generator(1))
    x = features(12, dtype=dtype)
    torch.testing.assert_close(conv(x, edges), theirs(x, edges))
    torch.testing.assert_close(conv(x, edges, weight), theirs(x, edges, weight))


def test_a_path_of_three_nodes_by_hand():
    conv = conv_of(1, parse_space("E1"))
    with torch.no_grad():
        conv.linear.weight.fill_(2.0)
        conv.linear.bias.fill_(1.0)
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)  # after the linear layer: 3, 5, 7
    middle = 3 / math.sqrt(6) + 5 / 3 + 7 / math.sqrt(6)
    expected = torch.tensor([[3 / 2 + 5 / math.sqrt(6)], [middle], [5 / math.sqrt(6) + 7 / 2]], dtype=torch.float64)
    torch.testing.assert_close(conv(x, edges), expected)
    plain = conv_of(1, parse_space("E1"), aggregation="sum", self_loops=False, bias=False)
    torch.testing.assert_close(plain(x, edges), plain.linear.weight * torch.tensor([[2.0], [4.0], [2.0]], dtype=torch.float64))


@pytest.mark.parametrize("dtype", DTYPES)
def test_with_one_time_dimension_and_without_bias_it_is_euclidean_in_space(dtype):
    curved = conv_of(3, parse_space("Q4,1", beta=-2.0), dtype, bias=False)
    flat = conv_of(3, parse_space("E5"), dtype, bias=False)
    x = features(dtype=dtype)
    torch.testing.assert_close(curved(x, EDGES)[:, 1:], flat(x, EDGES)[:, 1:])


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_edge_index_and_its_adjacency_give_the_same_values_and_gradients(weighted, self_loops, aggregation, attention):
    options = {"aggregation": aggregation, "self_loops": self_loops, "attention": attention}
    conv = conv_of(3, parse_space("Q2,2"), **options)
    weight = torch.rand(8, dtype=torch.float64, generator=generator(1)) + 0.1 if weighted else None
    own = torch.ones(8, dtype=torch.float64) if weight is None else weight
    matrix = Adjacency.of(EDGES, 5, own, aggregation=aggregation, self_loops=self_loops)
    x = features()
    by_edges, by_matrix = conv(x, EDGES, weight), conv(x, matrix)
    torch.testing.assert_close(by_edges, by_matrix)
    torch.testing.assert_close(conv(x, Adjacency.from_matrix(matrix.matrix.csr)), by_matrix) if not attention else None
    found, expected = (torch.autograd.grad(y.square().sum(), list(conv.parameters())) for y in (by_matrix, by_edges))
    torch.testing.assert_close(found, expected)


def test_weights_count():
    conv = conv_of(3, parse_space("Q2,2"))
    x = features()
    one, two = conv(x, EDGES, torch.ones(8)), conv(x, EDGES, torch.full((8,), 2.0))
    torch.testing.assert_close(one, conv(x, EDGES))
    assert (one - two)[:4].abs().min() > 0
    torch.testing.assert_close(one[4], two[4])


@pytest.mark.parametrize("dtype", DTYPES)
def test_normalisation_has_the_precision_of_the_features(dtype):
    conv = conv_of(4, parse_space("E4"), dtype, bias=False)
    with torch.no_grad():
        conv.linear.weight.copy_(torch.eye(4))
    edges = data.ring_of_trees(4, 2, 1)
    n = int(edges.max()) + 1
    ones = torch.ones(n, 4, dtype=dtype)
    exact = Adjacency.of(edges, n, torch.ones(edges.shape[1], dtype=torch.float64)).to_dense().sum(1)
    error = (conv(ones, edges).double() - exact.unsqueeze(1)).abs().max().item()
    assert error < 8 * torch.finfo(dtype).eps


# --- attention -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("self_loops", [False, True])
def test_attention_takes_a_mean_with_weights_that_sum_to_one(self_loops, dtype):
    conv = conv_of(3, parse_space("E4"), dtype, attention=True, self_loops=self_loops)
    x = features(dtype=dtype)
    matrix = Adjacency.of(EDGES, 5, torch.ones(8, dtype=dtype), aggregation="sum", self_loops=self_loops)
    v = x @ conv.linear.weight + conv.linear.bias
    source, target = v @ conv.score[0], v @ conv.score[1]
    scores = nn.functional.leaky_relu(source.unsqueeze(0) + target.unsqueeze(1), 0.2)
    present = matrix.to_dense() != 0
    weight = torch.softmax(scores.masked_fill(~present, -torch.inf), dim=1).nan_to_num(0.0)
    torch.testing.assert_close(weight.sum(1), present.any(1).to(dtype))
    torch.testing.assert_close(conv(x, EDGES), weight @ v)
    # alike neighbours count alike
    same = torch.ones(5, 3, dtype=dtype)
    expected = (v_same := same @ conv.linear.weight + conv.linear.bias) * present.any(1, keepdim=True)
    torch.testing.assert_close(conv(same, EDGES), expected)
    assert v_same.abs().min() > 0


def test_attention_equals_a_mean_where_the_score_is_zero():
    attending, plain = (
        conv_of(3, parse_space("Q2,2"), **options) for options in ({"attention": True}, {"aggregation": "mean"})
    )
    with torch.no_grad():
        attending.score.zero_()
        for own, other in zip(attending.linear.parameters(), plain.linear.parameters(), strict=True):
            own.copy_(other)
    torch.testing.assert_close(attending(features(), EDGES), plain(features(), EDGES))


def test_attention_does_not_see_edges_that_were_left_out():
    conv = conv_of(3, parse_space("Q2,2"), attention=True)
    whole = Adjacency.of(data.cycle(12), 12)
    x = features(12)
    thinned = whole.thinned(0.5, generator(0))
    dense = thinned.to_dense()
    left = (dense - torch.diag(dense.diagonal())).nonzero().t().flip(0)
    assert 0 < left.shape[1] < 24
    torch.testing.assert_close(conv(x, thinned), conv(x, left))
    empty = Adjacency.of(EDGES, 5, torch.zeros(8), aggregation="sum", self_loops=False)
    torch.testing.assert_close(conv.from_tangent(features(), empty), torch.zeros(5, 4, dtype=torch.float64))


def test_attention_passes_gradcheck():
    conv = conv_of(3, parse_space("Q2,2"), attention=True)
    names = [name for name, _ in conv.named_parameters()]
    leaves = [parameter.detach().clone().requires_grad_() for parameter in conv.parameters()]
    assert "score" in names

    def function(*values):
        return torch.func.functional_call(conv, dict(zip(names, values, strict=True)), (features(), EDGES))

    assert torch.autograd.gradcheck(function, leaves, atol=1e-4)


# --- symmetries ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"attention": True}, {"aggregation": "mean"}], ids=str)
@pytest.mark.parametrize("name", ["E4", "H3", "Q2,2"])
def test_renumbering_the_nodes_renumbers_the_outputs(name, options):
    conv = conv_of(3, parse_space(name), **options)
    order = torch.randperm(5, generator=generator(0))
    place = torch.argsort(order)
    x = features()
    torch.testing.assert_close(conv(x[order], place[EDGES]), conv(x, EDGES)[order])


@pytest.mark.parametrize("dtype", DTYPES)
def test_sparse_features_give_what_dense_ones_give(dtype):
    conv = conv_of(6, parse_space("Q2,2"), dtype)
    x = features(size=6, dtype=dtype).relu()
    torch.testing.assert_close(conv(SparseMatrix.of(x), EDGES), conv(x, EDGES))


@pytest.mark.parametrize("attention", [False, True])
def test_a_batch_of_convolutions_equals_each_alone(attention):
    space = parse_space("Q2,2", learnable=True)
    conv = conv_of(3, space, attention=attention)
    names = [name for name, _ in conv.named_parameters()]
    stacked = {
        name: torch.stack([value.detach() + 0.1 * k for k in range(3)]).requires_grad_()
        for name, value in conv.named_parameters()
    }
    matrix = Adjacency.of(EDGES, 5).to(dtype=torch.float64)
    x = features()

    def one(parameters):
        return torch.func.functional_call(conv, parameters, (x, matrix))

    together = torch.vmap(one)(stacked)
    gradients = torch.autograd.grad(together.square().sum(), [stacked[name] for name in names])
    alone = torch.stack([one({name: value[k] for name, value in stacked.items()}) for k in range(3)])
    expected = torch.autograd.grad(alone.square().sum(), [stacked[name] for name in names])
    torch.testing.assert_close(together, alone)
    torch.testing.assert_close(gradients, expected)


# --- as a layer of PyG -------------------------------------------------------------------------------------------------------


class Mixed(nn.Module):
    """A model of PyG with one of our layers in its middle."""

    def __init__(self):
        super().__init__()
        self.first = torch_geometric.nn.SAGEConv(6, 8)
        self.middle = QGCNConv(8, parse_space("Q3,2", learnable=True))
        self.last = torch_geometric.nn.GATConv(5, 2)

    def forward(self, x, edge_index):
        x = self.first(x, edge_index).relu()
        return self.last(self.middle.space.logmap0(self.middle(x, edge_index)), edge_index)


def sequential():
    space = parse_space("Q3,2", learnable=True)
    return torch_geometric.nn.Sequential(
        "x, edge_index",
        [
            (torch_geometric.nn.GCNConv(6, 8), "x, edge_index -> x"),
            nn.ReLU(inplace=True),
            (QGCNConv(8, space), "x, edge_index -> x"),
            (space.logmap0, "x -> x"),
            (nn.Linear(5, 2), "x -> x"),
        ],
    )


@pytest.mark.parametrize("build", [Mixed, sequential], ids=["module", "sequential"])
def test_it_trains_inside_a_model_of_pyg(build):
    torch.manual_seed(0)
    model = build()
    edges, labels = data.stochastic_block((10, 10), 0.6, 0.05, seed=0)
    x = torch.randn(20, 6, generator=generator(0))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(15):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(x, edges), labels)
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


# --- words -----------------------------------------------------------------------------------------------------------------


def test_repr_says_the_spaces_and_how_neighbours_are_aggregated():
    assert repr(QGCNConv(7, parse_space("Q2,2"))) == "QGCNConv(7 -> Q2,2, sym)"
    assert repr(QGCNConv(parse_space("H3"), parse_space("E2"), aggregation="mean")) == "QGCNConv(H3 -> E2, mean)"
    assert repr(QGCNConv(7, parse_space("Q2,2"), attention=True)) == "QGCNConv(7 -> Q2,2, attention)"


def test_reset_parameters_draws_everything_anew():
    conv = QGCNConv(3, parse_space("Q2,2"), attention=True)
    nn.init.ones_(conv.linear.bias)
    before = [parameter.clone() for parameter in conv.parameters()]
    conv.reset_parameters()
    assert not any(torch.equal(old, new) for old, new in zip(before, conv.parameters(), strict=True))
    assert (conv.linear.bias == 0).all()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: QGCNConv(3, parse_space("Q2,2"), aggregation="max"), "aggregation must be one of sum, mean, sym, got 'max'"),
        (lambda x: QGCNConv(3, parse_space("Q2,2"))(x, EDGES + 5), r"\[0, 5\), got 8"),
        (lambda x: QGCNConv(3, parse_space("Q2,2"))(x, EDGES.t()), r"shape \(2, E\)"),
        (lambda x: QGCNConv(3, parse_space("Q2,2"))(x, EDGES, torch.ones(3)), r"shape \(8,\), got \(3,\)"),
        (lambda x: QGCNConv(3, parse_space("Q2,2"))(x, Adjacency.of(EDGES, 5), torch.ones(8)), "holds its weights"),
    ],
)
def test_what_does_not_fit_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call(features(dtype=torch.float32))


class Silenced(QGCNConv):
    """Forgets what it has heard."""

    def update(self, inputs):
        return 0 * inputs


def test_a_subclass_that_changes_a_step_of_message_passing_is_heard():
    layer = Silenced(3, parse_space("Q2,2"))
    out = layer(torch.randn(5, 3), torch.tensor([[0, 1, 2], [1, 2, 3]]))
    torch.testing.assert_close(out, layer.space.origin(4).expand(5, 4).to(out))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "options", [{}, {"attention": "gat", "edge_dim": 2}, {"attention": "gatv2", "edge_dim": 2}, {"edge_dim": 2}]
)
def test_layers_with_weights_in_half_precision_can_be_stacked(options, dtype):
    """Products run in half precision; points, which it cannot hold, are in float32 in between."""
    layers = nn.ModuleList([conv_of(3, "Q3,2", dtype, **options), conv_of("Q3,2", "Q3,2", dtype, **options)])
    attr = {"edge_attr": torch.randn(8, 2, generator=generator(3)).to(dtype)} if options else {}
    x = features(dtype=torch.float32).to(dtype)
    found = layers[1](layers[0](x, EDGES, **attr), EDGES, **attr)
    assert found.dtype == torch.float32
    found.sum().backward()
    assert all(each.grad is None or each.grad.isfinite().all() for each in layers.parameters())
    layers.float()  # the same weights, which have been rounded
    attr = {name: each.float() for name, each in attr.items()}
    exact = layers[1](layers[0](x.float(), EDGES, **attr), EDGES, **attr)
    torch.testing.assert_close(found, exact, rtol=8 * torch.finfo(dtype).eps, atol=8 * torch.finfo(dtype).eps)
