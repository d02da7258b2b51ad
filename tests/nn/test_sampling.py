"""Sampled neighbourhoods: with all neighbours they are exact; with some, right on average."""

import pytest
import torch

from cases import generator
from qgcn.models import build
from qgcn.nn import Adjacency, NeighbourSampler, SparseMatrix, dropout_keys

MODELS = ["qgcn", "qgat", "qnn", "propagation", "deep", "gcn", "sage", "gat", "mlp"]


def edges(num_nodes=60, count=150, seed=0):
    pairs = torch.randint(num_nodes, (2, count), generator=generator(seed))
    pairs = pairs[:, pairs[0] != pairs[1]]
    return torch.cat((pairs, pairs.flip(0)), dim=1).unique(dim=1)


def operand(loops=True, aggregation="sym"):
    return Adjacency.of(edges(), 60, aggregation=aggregation, self_loops=loops)


def network(model):
    torch.manual_seed(0)
    space = "Q3,2" if model in ("qgcn", "qgat", "qnn", "propagation", "deep") else "E5"
    given = {"steps": 2} if model == "propagation" else {"layers": 2}
    return build(model, 7, space, **given), given


@pytest.mark.parametrize("layered", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_with_all_neighbours_outputs_are_those_of_the_whole_graph(model, layered):
    from qgcn.manifolds import parse_space
    from qgcn.models import find_model

    network_, given = network(model)
    able = find_model(model, str(network_.space)).capabilities(parse_space(str(network_.space)), given)
    assert able.reach == (0 if model in ("qnn", "mlp") else 2)
    if layered and able.hops is None:
        pytest.skip("takes one matrix for all layers")
    graph = operand(able.graph == "matrix")
    x, nodes = torch.randn(60, 7, generator=generator(2)), torch.tensor([5, 59, 0, 17])
    sampler = NeighbourSampler(graph)
    seen = sampler.operand(sampler.sample(nodes, [-1] * able.reach, 3), 4, layered=layered)
    network_.eval()
    found = network_.tangent(seen.gather(x), seen)[: len(nodes)]
    torch.testing.assert_close(found, network_.tangent(x, graph)[nodes], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_an_aggregation_along_a_sample_is_right_on_average(aggregation):
    graph = operand(aggregation=aggregation)
    x, nodes, draws = torch.randn(60, 3, generator=generator(2)), torch.arange(20), 3000
    sampler, found = NeighbourSampler(graph), []
    for key in range(draws):
        seen = sampler.operand(sampler.sample(nodes, [2], key), key, layered=True)
        found.append(seen @ seen.gather(x))
    found = torch.stack(found)
    expected = (graph @ x)[nodes]
    assert float(found.std(0).max()) > 0.1
    error = (found.mean(0) - expected).abs() / (found.std(0) / draws**0.5 + 1e-6)
    assert float(error.max()) < 4.5


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_edges_are_dropped_in_both_directions_and_the_rest_is_normalised(aggregation):
    whole, nodes = operand(aggregation=aggregation), torch.arange(60)
    sampler = NeighbourSampler(whole)
    sample = sampler.sample(nodes, [-1], 3)
    dense = sampler.operand(sample, 4, layered=False, drop=0.5).to_dense()
    kept = dense != 0
    assert torch.equal(kept, kept.t())
    assert bool(kept.diagonal().all())
    count = int((whole.to_dense() != 0).sum()) - 60
    assert abs(int(kept.sum()) - 60 - count / 2) < 4 * (count / 2) ** 0.5
    expected = Adjacency.of(kept.nonzero().t().flip(0), 60, aggregation=aggregation).to_dense()
    if aggregation == "sym":  # at the source by the degree that is left on average if this edge is
        source = 1 + (operand(aggregation="sum").to_dense().sum(1) - 1) / 2 + 1 / 2
        target = kept.sum(1).to(source.dtype)
        expected = torch.where(torch.eye(60, dtype=torch.bool), 1 / target[:, None], kept / (target[:, None] * source).sqrt())
    torch.testing.assert_close(dense, expected)
    layered = sampler.operand(sample, 4, layered=True, drop=0.5).hop(0).matrix
    torch.testing.assert_close(layered.to_dense(), dense)


@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("fanout", [-1, 4])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_what_is_left_of_a_sample_weighs_on_average_what_is_left_of_the_whole(aggregation, fanout, loops):
    star = torch.stack((torch.zeros(40, dtype=torch.long), torch.arange(1, 41)))
    more = torch.stack((torch.arange(1, 20), torch.arange(2, 21)))  # so that leaves have one to three neighbours
    edges_ = torch.cat((star, more, star.flip(0), more.flip(0)), dim=1)
    whole = Adjacency.of(edges_, 41, aggregation=aggregation, self_loops=loops)
    nodes, draws, sampler = torch.arange(41), 1000, NeighbourSampler(whole)
    samples = (sampler.operand(sampler.sample(nodes, [fanout], key), key, layered=False, drop=0.5) for key in range(draws))
    found = sum(each.to_dense() for each in samples) / draws
    expected = sum(whole.thinned(0.5, generator(key)).to_dense() for key in range(draws)) / draws
    own = torch.eye(41, dtype=torch.bool)
    for part in (own, ~own):
        mine, theirs = ((each * part).sum(1) for each in (found, expected))
        assert float((mine - theirs)[1:].abs().mean()) < 0.03  # of each leaf
        assert abs(float((mine - theirs)[0])) < 0.04 * float(expected[0].sum())  # of the hub


def test_edges_of_a_directed_graph_are_dropped_one_by_one():
    edges = torch.tensor([[k for k in range(40) for _ in range(40)], [*range(40)] * 40])
    edges = edges[:, edges[0] != edges[1]][:, 1:]  # one edge has no reverse: the graph is directed
    sampler = NeighbourSampler(Adjacency.of(edges, 40, aggregation="sum", self_loops=False))
    dense = sampler.operand(sampler.sample(torch.arange(40), [-1], 4), 4, layered=False, drop=0.5).to_dense()
    left = (dense > 0)[~torch.eye(40, dtype=torch.bool)]
    both = ((dense > 0) & (dense.t() > 0))[~torch.eye(40, dtype=torch.bool)]
    assert abs(float(left.float().mean()) - 0.5) < 0.05
    assert abs(float(both.float().mean()) - 0.25) < 0.05  # half, if both directions were dropped together


@pytest.mark.parametrize("model", ["qgcn", "qgat", "qnn", "propagation", "deep"])
def test_what_is_dropped_of_a_node_does_not_depend_on_its_batch(model):
    torch.manual_seed(0)
    given = {"steps": 2} if model == "propagation" else {"layers": 2}
    network_ = build(model, 7, "Q3,2", dropout=0.5, feature_dropout=0.3, **given)
    sampler = NeighbourSampler(operand())
    dense = torch.randn(60, 7, generator=generator(2))
    for x in (dense, SparseMatrix.of(dense * (torch.rand(60, 7, generator=generator(3)) < 0.5))):

        def outputs(nodes, x=x):
            seen = sampler.operand(
                sampler.sample(torch.tensor(nodes), [2, 2][: 0 if model == "qnn" else 2], 3), 4, layered=False
            )
            keys = dropout_keys(network_, 1, 2)
            return torch.func.functional_call(network_, keys, (seen.gather(x), seen))[: len(nodes)]

        together = outputs([5, 9, 33])
        assert not torch.equal(network_.eval()(x, operand())[[5, 9, 33]], together)
        network_.train()
        torch.testing.assert_close(outputs([33, 5])[[1, 0]], together[[0, 2]])


def test_the_sample_of_a_node_does_not_depend_on_its_batch():
    sampler = NeighbourSampler(operand())
    one, both = sampler.sample(torch.tensor([8]), [3, 3], 7), sampler.sample(torch.tensor([30, 8]), [3, 3], 7)
    assert set(one.nodes.tolist()) <= set(both.nodes.tolist())
    first = one.nodes[one.sources[: int(one.begin[1])]]
    second = both.nodes[both.sources[int(both.begin[1]) : int(both.begin[2])]]
    assert torch.equal(first, second)
    assert one.nodes.tolist() != sampler.sample(torch.tensor([8]), [3, 3], 8).nodes.tolist()


def test_a_part_has_no_arrows():
    graph = operand(aggregation="mean")
    sampler = NeighbourSampler(graph)
    sample = sampler.sample(torch.tensor([5, 59]), [-1], 3)
    for part in (sampler.operand(sample, 4, layered=layered) for layered in (True, False)):
        with pytest.raises(ValueError, match="a part of a graph has no arrows"):
            _ = part.arrows
    with pytest.raises(ValueError, match="a part of a graph has no arrows"):
        _ = graph.seen_from(torch.tensor([5]), 1).arrows
    assert len(graph.arrows) == 2
