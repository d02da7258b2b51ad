"""One network for every space: equal to its layers one after the other, point by point."""

import pytest
import torch
from torch import nn

from cases import generator
from qgcn import data, parse_space
from qgcn.models import QGCN, QNN, build
from qgcn.nn import ACTIVATIONS, Adjacency, QGCNConv, QLinear, SparseMatrix, dropout_keys
from qgcn.tasks import Config
from tolerance import DTYPES

SPACES = ("E5", "H4", "S4", "K5", "Q4,1", "Q3,2", "Q2,3", "Q0,5", "H2xS1", "Q2,2xE1")
CLOSE = {torch.float32: {"rtol": 1e-3, "atol": 1e-4}, torch.float64: {"rtol": 1e-8, "atol": 1e-8}}
EDGES = data.ring_of_trees(3, 1, 1)
N = 6


def network(space="Q3,2", dtype=torch.float64, convolve=True, **options):
    """Return a network whose biases are not zero and whose curvatures differ."""
    torch.manual_seed(0)
    net = (QGCN if convolve else QNN)(4, space, **options)
    with torch.no_grad():
        for index, (name, parameter) in enumerate(net.named_parameters()):
            if name.endswith("free_beta"):
                parameter.add_(0.1 * index)
            elif name.endswith("bias"):
                parameter.normal_(std=0.2)
    for name, parameter in net.named_parameters():
        if not name.endswith("free_beta"):
            parameter.data = parameter.data.to(dtype)
    return net


def features(dtype=torch.float64, size=4):
    return torch.randn(N, size, dtype=dtype, generator=generator(0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("convolve", [True, False])
@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
@pytest.mark.parametrize("space", SPACES)
def test_the_network_equals_its_layers_one_after_the_other_through_points(space, activation, convolve, dtype):
    net = network(space, dtype, layers=3, activation=activation, convolve=convolve).eval()
    graph = (EDGES,) if convolve else ()
    x = 0.5 * features(dtype)
    points = x
    for index, layer in enumerate(net.layers):
        points = layer(net.activations[index - 1](points) if index else points, *graph)
    result = net(x, *graph)
    net.space.assert_check_point_on_manifold(result, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(result, points, **CLOSE[dtype])
    torch.testing.assert_close(net.tangent(x, *graph), net.space.logmap0(points), **CLOSE[dtype])


def test_layers_of_two_sizes_and_kinds_follow_each_other():
    net = network("H2", hidden="Q4,2", layers=3).eval()
    assert [str(layer.space) for layer in net.layers] == ["Q4,2", "Q4,2", "H2"]
    x = 0.5 * features()
    points = net.layers[0](x, EDGES)
    points = net.layers[1](net.activations[0](points), EDGES)
    points = net.layers[2](net.activations[1](points), EDGES)
    torch.testing.assert_close(net(x, EDGES), points)
    # as many coordinates, but of another kind: none of them is lost on the way
    net = network("H4", hidden="E5", layers=2, activation="tanh")
    hidden = net.layers[0](x, EDGES)
    torch.testing.assert_close(net(x, EDGES), net.layers[1](net.activations[0](hidden), EDGES))
    (gradient,) = torch.autograd.grad(net(x, EDGES).sum(), net.layers[1].linear.weight)
    assert (gradient[0] != 0).any()


@pytest.mark.parametrize("space", SPACES)
def test_with_a_skip_connection_it_returns_the_mean_of_all_layers(space):
    net = network(space, layers=3, skip=True)
    x = 0.5 * features()
    outputs, u = [], x
    for index, layer in enumerate(net.layers):
        u = layer.from_tangent(torch.relu(u) if index else u, EDGES)
        outputs.append(u)
    torch.testing.assert_close(net.tangent(x, EDGES), sum(outputs) / 3)
    torch.testing.assert_close(net(x, EDGES), net.space.expmap0(sum(outputs) / 3))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_stand_between_layers_and_not_behind_the_last(activation):
    net = network("E3", layers=2, activation=activation, bias=False, convolve=False)
    x = features()
    first, second = (layer.weight for layer in net.layers)
    torch.testing.assert_close(net(x), ACTIVATIONS[activation](x @ first) @ second)


@pytest.mark.parametrize("space", [name for name in SPACES if name != "E5"])
def test_every_layer_has_a_curvature_of_its_own_that_receives_a_gradient(space):
    net = network(space, layers=3, activation="tanh")
    curvatures = {name: value for name, value in net.named_parameters() if name.endswith(("free_beta", ".k"))}
    assert len(curvatures) == 3 * space.replace("E1", "").rstrip("x").count("x") + 3
    loss = net.space.pairwise_dist(net(features(), EDGES)).square().sum()
    for name, gradient in zip(curvatures, torch.autograd.grad(loss, list(curvatures.values()), allow_unused=True), strict=True):
        assert gradient is not None, name
        assert gradient.isfinite().all(), name
        circle = space == "H2xS1" and name.endswith("manifolds.1.free_beta")  # whose translations are additions at any radius
        assert gradient.abs().sum() > 0 or circle, name


def test_curvatures_can_be_fixed_and_start_where_they_are_told():
    net = network("Q3,2", learnable=False, beta=-3.0)
    assert not any(name.endswith("free_beta") for name, _ in net.named_parameters())
    assert [layer.space.beta.item() for layer in net.layers] == [-3.0, -3.0]
    torch.testing.assert_close(QGCN(4, "Q3,2", beta=-3.0).space.beta.item(), -3.0)


def test_spaces_given_as_objects_keep_their_curvature_and_are_not_shared_between_layers():
    space, hidden = parse_space("Q3,2", beta=-4.0), parse_space("Q3,2", beta=-9.0, learnable=True)
    net = QGCN(4, space, hidden=hidden, layers=3)
    assert [round(layer.space.beta.item(), 9) for layer in net.layers] == [-9.0, -9.0, -4.0]
    assert net.space is space
    assert len({id(layer.space) for layer in net.layers}) == 3
    assert [round(layer.space.beta.item(), 9) for layer in QGCN(4, space).layers] == [-4.0, -4.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [{}, {"attention": True}, {"convolve": False}, {"projection": True}], ids=str)
def test_sparse_features_give_what_dense_ones_give(options, dtype):
    net = network(dtype=dtype, **options)
    x = features(dtype).relu()
    graph = () if options.get("convolve") is False else (EDGES,)
    torch.testing.assert_close(net(SparseMatrix.of(x), *graph), net(x, *graph), **CLOSE[dtype])


def test_an_edge_index_and_its_adjacency_give_the_same():
    for options in ({}, {"aggregation": "mean"}, {"aggregation": "sum"}, {"attention": True}):
        net = network(**options)
        weight = torch.rand(EDGES.shape[1], dtype=torch.float64, generator=generator(1)) + 0.1
        matrix = Adjacency.of(EDGES, N, weight, aggregation=options.get("aggregation", "sym"))
        torch.testing.assert_close(net(features(), EDGES, weight), net(features(), matrix))


@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_acts_on_features_and_between_layers_in_training_only(sparse):
    x = features().abs() + 0.1
    given = SparseMatrix.of(x) if sparse else x
    net = network("E3", layers=2, convolve=False, bias=False, dropout=0.5, feature_dropout=0.25, activation="identity")
    assert [dropout.p for dropout in net.dropouts] == [0.25, 0.5]
    first, second = (layer.weight for layer in net.layers)
    torch.testing.assert_close(net.eval()(given), x @ first @ second)
    keys = dropout_keys(net, 3, 0)
    masks = []
    for index, size in ((0, (N, 4)), (1, (N, 3))):
        ones = torch.ones(size, dtype=torch.float64)
        flat = ones.flatten() if sparse and index == 0 else ones
        own = {"key": keys[f"dropouts.{index}.key"]}
        masks.append(torch.func.functional_call(net.dropouts[index].train(), own, (flat,)).view(size))
    result = torch.func.functional_call(net.train(), keys, (given,))
    torch.testing.assert_close(result, ((x * masks[0]) @ first * masks[1]) @ second)
    assert (masks[0] == 0).any()
    assert (masks[1] == 0).any()


def test_projection_enters_the_space_by_algorithm_1():
    net = network("Q3,2", projection=True, layers=1).eval()
    entry = net.features.space
    assert str(entry) == "Q2,2"
    x = features()
    torch.testing.assert_close(net(x, EDGES), net.layers[0](entry.projx(x), EDGES))
    noisy = network("Q3,2", projection=True, perturbation=0.1, layers=1)
    assert torch.equal(noisy.train()(x, EDGES), noisy.eval()(x, EDGES))
    assert not torch.equal(noisy(x, EDGES), noisy.layers[0](noisy.features.space.projx(x), EDGES))
    assert str(network("H3", projection=True).features.space) == "Q3,1"
    assert str(QGCN(2, "Q0,5", projection=True).features.space) == "Q0,2"
    assert str(network("Q2,2xE1", projection=True).features.space) == "Q3,1"
    assert any(name.startswith("features.") for name, _ in net.named_parameters())


@pytest.mark.parametrize("convolve", [True, False])
def test_renumbering_the_nodes_renumbers_the_outputs(convolve):
    net = network(layers=3, convolve=convolve)
    order = torch.randperm(N, generator=generator(0))
    x = features()
    there, here = ((torch.argsort(order)[EDGES],), (EDGES,)) if convolve else ((), ())
    torch.testing.assert_close(net(x[order], *there), net(x, *here)[order])


@pytest.mark.parametrize("space", ["E5", "H4", "S4", "Q4,1", "Q3,2", "Q0,5", "H2xS1"])
@pytest.mark.parametrize(
    "options", [{}, {"attention": True}, {"skip": True}, {"learnable": False}, {"projection": True}], ids=str
)
def test_a_batch_of_networks_equals_each_alone_gradients_included(space, options):
    torch.manual_seed(0)
    nets = [QGCN(4, space, layers=2, **options).double().eval() for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(nets)
    matrix, x = Adjacency.of(EDGES, N).to(dtype=torch.float64), features()
    skeleton = nets[0]

    def one(parameters, buffers):
        return torch.func.functional_call(skeleton, (parameters, buffers), (x, matrix))

    together = torch.vmap(one)(parameters, buffers)
    alone = torch.stack([net(x, matrix) for net in nets])
    torch.testing.assert_close(together, alone)
    weights = torch.randn(together.shape, dtype=torch.float64, generator=generator(1))
    names = list(parameters)
    grad = {"allow_unused": True, "materialize_grads": True}
    found = torch.autograd.grad((together * weights).sum(), [parameters[name] for name in names], **grad)
    each = [
        torch.autograd.grad((net(x, matrix) * weights[k]).sum(), list(net.parameters()), **grad) for k, net in enumerate(nets)
    ]
    order = [name for name, _ in skeleton.named_parameters()]
    for name, gradient in zip(names, found, strict=True):
        expected = torch.stack([gradients[order.index(name)] for gradients in each])
        torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)


def test_layers_are_what_was_asked_for_and_the_repr_shows_the_path():
    net = QGCN(7, "H2", hidden="Q3,2", layers=3, attention=True, bias=False)
    assert all(isinstance(layer, QGCNConv) and layer.score is not None and layer.linear.bias is None for layer in net.layers)
    assert all(isinstance(layer, QLinear) for layer in QNN(7, "H2").layers)
    assert "7 -> Q3,2 -> Q3,2 -> H2" in repr(net)
    state = net.state_dict()
    twin = QGCN(7, "H2", hidden="Q3,2", layers=3, attention=True, bias=False)
    twin.load_state_dict(state)
    x = torch.randn(N, 7, generator=generator(0))
    torch.testing.assert_close(twin(x, EDGES), net(x, EDGES))


def test_it_learns():
    torch.manual_seed(0)
    net = QGCN(4, "Q3,2", layers=2)
    head = nn.Linear(5, 2)
    optimiser = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=0.05)
    target = torch.tensor([0, 1, 1, 0, 1, 1])
    losses = []
    for _ in range(30):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(head(net.tangent(features(torch.float32), EDGES)), target)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: QGCN(4, "Q3,2", layers=0), "layers must be at least 1, got 0"),
        (lambda: QGCN(0, "Q3,2"), "in_features must be at least 1, got 0"),
        (lambda: QGCN(4, "Q3,2", hidden="H2", skip=True), "skip connection needs layers of one size, got H2 -> Q3,2"),
        (lambda: QGCN(4, "Q3,2", activation="rleu"), "activation must be one of"),
        (lambda: QGCN(4, "Q3,2", aggregation="max"), "aggregation must be one of"),
        (lambda: QGCN(4, "Q3,2", dropout=1.0), r"dropout must be in \[0, 1\)"),
        (lambda: QGCN(4, "Z3"), "unknown space 'Z3'"),
        (lambda: QGCN(4, "Q3,2", beta=1.0), "beta must be negative"),
        (lambda: QGCN(4, "Q3,2")(torch.ones(N, 3), EDGES), r"expected 4 features, got shape \(6, 3\)"),
        (lambda: QGCN(4, "Q3,2")(torch.ones(N, 4)), "a convolution needs edge_index, got None"),
        (lambda: QGCN(4, "Q3,2", projection=True, perturbation=-1.0), "perturbation must not be negative"),
    ],
)
def test_what_does_not_fit_is_refused(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_curvatures_start_where_the_space_has_room_unless_one_is_asked_for():
    for asked, expected in ((None, -16.0), (-2.0, -2.0)):
        model = QGCN(5, "Q2,2", hidden="H3", beta=asked)
        assert float(model.layers[-1].space.beta.detach()) == pytest.approx(expected)
        assert float(model.layers[0].space.beta.detach()) == pytest.approx(-1.0 if asked is None else asked)


# --- attention as an option ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kind"), [(True, "gat"), (False, None), ("none", None), ("gatv2", "gatv2"), ("distance", "distance")]
)
def test_attention_is_a_choice_and_yes_and_no_are_still_read(given, kind):
    config = Config.checked({"task": "links", "data": "cycle", "attention": given})
    assert config.attention == (kind or "none")
    network = config.model_entry.build(3, "Q2,2", config.options)
    assert {layer.attention for layer in network.layers} == {kind}
    assert (config.capabilities.hops is None) == (kind is not None)


def test_attention_by_distance_has_heads_and_no_other_has():
    network = build("qgat", 3, "Q2,2", heads=4)
    assert [len(layer.distance.temperature) for layer in network.layers] == [4, 4]
    assert Config.checked({"task": "links", "data": "cycle", "model": "qgat"}).capabilities.hops is None
    with pytest.raises(ValueError, match="several heads are for attention by distance, got attention gat"):
        Config.checked({"task": "links", "data": "cycle", "attention": "gat", "heads": 2})


def test_as_many_hops_as_layers_are_seen_two_if_none_are_asked_for():
    space = parse_space("Q3,2")
    assert len(QGCN(4, "Q3,2").layers) == QGCN.capabilities(space, {}).hops == 2
    assert QGCN.capabilities(space, {"layers": 5}).hops == 5
    assert QNN.capabilities(space, {}).hops is None
