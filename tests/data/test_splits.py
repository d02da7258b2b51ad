import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qgcn.data import NegativeSampler, ring_of_trees, split_classes, split_links, split_nodes


def undirected(edges):
    return {(min(pair), max(pair)) for pair in edges.T.tolist()}


def random_graph(nodes, share, seed):
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(nodes))
    return pairs[torch.rand(len(pairs), generator=generator) < share].T


graphs = st.builds(random_graph, st.just(24), st.floats(0.2, 0.6), st.integers(0, 10**6))


@given(nodes=st.integers(2, 9), share=st.floats(0, 0.9), seed=st.integers(0, 10**6))
def test_sampler_reaches_every_allowed_pair_and_no_other(nodes, share, seed):
    forbidden = random_graph(nodes, share, seed)
    allowed = {
        (i, j) for i in range(nodes) for j in range(nodes) if i != j and (min(i, j), max(i, j)) not in undirected(forbidden)
    }
    if not allowed:
        with pytest.raises(ValueError, match="no pair"):
            NegativeSampler(nodes, forbidden)
        return
    sampler = NegativeSampler(nodes, forbidden)
    assert sampler.num_allowed == len(allowed)
    drawn = sampler.sample(2000, torch.Generator().manual_seed(seed))
    assert drawn.shape == (2, 2000)
    assert {tuple(pair) for pair in drawn.T.tolist()} == allowed


def test_sampler_is_uniform():
    sampler = NegativeSampler(6, torch.tensor([[0, 2, 4, 4], [1, 3, 5, 0]]))
    assert sampler.num_allowed == 30 - 8
    count = 220_000
    pairs = sampler.sample(count, torch.Generator().manual_seed(0))
    hits = torch.bincount(pairs[0] * 6 + pairs[1], minlength=36)
    expected = count / sampler.num_allowed
    chi_square = float(((hits[hits > 0] - expected) ** 2 / expected).sum())
    assert (hits > 0).sum() == sampler.num_allowed
    assert chi_square < 60  # 21 degrees of freedom: exceeded once in 80,000 seeds


def test_sampler_handles_directions_and_repetition_alike():
    once = NegativeSampler(5, torch.tensor([[0, 1], [1, 2]]))
    often = NegativeSampler(5, torch.tensor([[1, 0, 1, 2, 3], [0, 1, 2, 1, 3]]))
    assert once.num_allowed == often.num_allowed == 16
    drawn = [sampler.sample(50, torch.Generator().manual_seed(1)) for sampler in (once, often)]
    assert torch.equal(*drawn)


def test_sampler_numbers_pairs_of_large_graphs_without_overflow():
    nodes = 3_000_000
    sampler = NegativeSampler(nodes, torch.tensor([[0], [nodes - 1]]))
    assert sampler.num_allowed == nodes * nodes - nodes - 2
    drawn = sampler.sample(1000)
    assert drawn.min() >= 0
    assert drawn.max() < nodes
    assert (drawn[0] != drawn[1]).all()
    assert drawn.double().mean() == pytest.approx(nodes / 2, rel=0.1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_sampler_draws_on_cuda():
    sampler = NegativeSampler(5, torch.tensor([[0, 1], [1, 2]])).to("cuda")
    drawn = sampler.sample(1000, torch.Generator("cuda").manual_seed(0))
    assert drawn.is_cuda
    assert not undirected(drawn.cpu()) & {(0, 1), (1, 2)}
    assert split_links(ring_of_trees().cuda(), 180).negatives.sample(3).is_cuda


@pytest.mark.parametrize("edges", [torch.tensor([[0], [5]]), torch.tensor([[-1], [0]])])
def test_sampler_refuses_strangers(edges):
    with pytest.raises(ValueError, match=r"forbidden_edges must lie in \[0, 5\)"):
        NegativeSampler(5, edges)


@given(graph=graphs, seed=st.integers(0, 100), protocol=st.sampled_from(["leak-free", "hgcn"]))
def test_split_links_partitions_the_edges(graph, seed, protocol):
    split = split_links(graph, 24, val=0.1, test=0.2, protocol=protocol, seed=seed)
    parts = [undirected(part) for part in (split.train, split.val, split.test, split.val_negative, split.test_negative)]
    sizes = [part.shape[1] for part in (split.train, split.val, split.test, split.val_negative, split.test_negative)]
    assert [len(part) for part in parts] == sizes
    assert len(set().union(*parts)) == sum(sizes)  # pairwise disjoint
    assert parts[0] | parts[1] | parts[2] == undirected(graph)
    assert sizes[1] == sizes[3] == int(graph.shape[1] * 0.1)
    assert sizes[2] == sizes[4] == int(graph.shape[1] * 0.2)
    assert {tuple(edge) for edge in split.message.T.tolist()} == parts[0] | {(j, i) for i, j in parts[0]}
    assert split.message.shape[1] == 2 * sizes[0]
    assert all(i != j for part in parts for i, j in part)
    assert split.protocol == protocol


@given(graph=graphs, seed=st.integers(0, 100))
def test_leak_free_negatives_tell_nothing_of_held_out_pairs(graph, seed):
    split = split_links(graph, 24, val=0.1, test=0.2, seed=seed)
    held_out = undirected(torch.cat((split.val, split.test, split.val_negative, split.test_negative), dim=1))
    drawn = undirected(split.negatives.sample(20_000, torch.Generator().manual_seed(seed)))
    everything = {(i, j) for i in range(24) for j in range(i + 1, 24)}
    assert drawn == everything - held_out - undirected(split.train)


@given(graph=graphs, seed=st.integers(0, 100))
def test_hgcn_negatives_are_all_that_is_no_training_edge(graph, seed):
    split = split_links(graph, 24, val=0.1, test=0.2, protocol="hgcn", seed=seed)
    drawn = undirected(split.negatives.sample(20_000, torch.Generator().manual_seed(seed)))
    everything = {(i, j) for i in range(24) for j in range(i + 1, 24)}
    assert drawn == everything - undirected(split.train)
    assert undirected(split.test) <= drawn


def test_split_links_ignores_direction_repetition_and_loops():
    edges = ring_of_trees()
    messy = torch.cat((edges.flip(1), edges[:, :7], torch.tensor([[3], [3]])), dim=1)
    clean, same = split_links(edges, 180, seed=4), split_links(messy, 180, seed=4)
    for name in ("message", "train", "val", "test", "val_negative", "test_negative"):
        assert torch.equal(getattr(clean, name), getattr(same, name))
    assert not torch.equal(clean.train, split_links(edges, 180, seed=5).train)


def test_split_links_without_held_out_edges_keeps_all():
    split = split_links(ring_of_trees(), 180, val=0, test=0)
    assert split.val.shape == split.test_negative.shape == (2, 0)
    assert split.train.shape == (2, 180)
    assert split.negatives.num_allowed == 180 * 179 - 360


def test_split_links_moves():
    split = split_links(ring_of_trees(), 180).to("meta")
    assert split.train.is_meta
    assert split.negatives.device.type == "meta"
    assert split.protocol == "leak-free"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "hgnc"}, "unknown protocol 'hgnc': expected one of 'leak-free', 'hgcn', 'hard'"),
        ({"val": 0.6, "test": 0.5}, r"val \+ test < 1, got val=0.6 and test=0.5"),
        ({"val": -0.1}, r"val \+ test < 1, got val=-0.1"),
        ({"val": float("nan")}, r"val \+ test < 1"),
        ({"val": 0.001}, "need at least 1000 edges, got 180"),
        ({"val": 1 / 181, "test": 0.0}, "need at least 181 edges, got 180"),
        ({"val": 1 / 187, "test": 0.0}, "need at least 188 edges, got 180"),  # 187 / 187 is less than 1 in floating point
        ({"num_nodes": 100}, r"must lie in \[0, 100\), got 179"),
    ],
)
def test_split_links_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        split_links(ring_of_trees(), **{"num_nodes": 180, **options})


def test_split_links_refuses_a_graph_without_enough_non_edges():
    complete = torch.combinations(torch.arange(8)).T
    with pytest.raises(ValueError, match="5 held-out edges need as many non-edges and one more for training, got 0"):
        split_links(complete, 8, val=0.1, test=0.12)


@given(nodes=st.integers(3, 60), seed=st.integers(0, 1000), unlabelled=st.integers(0, 20))
def test_split_nodes_partitions_the_labelled(nodes, seed, unlabelled):
    y = torch.cat((torch.arange(nodes) % 4, torch.full((unlabelled,), -1)))[
        torch.randperm(nodes + unlabelled, generator=torch.Generator().manual_seed(seed))
    ]
    masks = split_nodes(y, seed=seed)
    assert torch.equal(sum(mask.long() for mask in masks), (y >= 0).long())
    sizes = [int(mask.sum()) for mask in masks]
    assert min(sizes) >= 1
    assert sizes[1] == sizes[2] == max(1, round(0.15 * nodes))
    assert all(torch.equal(*pair) for pair in zip(masks, split_nodes(y, seed=seed), strict=True))


def test_split_nodes_depends_on_the_seed():
    y = torch.zeros(100, dtype=torch.long)
    assert not torch.equal(split_nodes(y, seed=0)[0], split_nodes(y, seed=1)[0])


def test_split_nodes_may_leave_no_test():
    assert [int(mask.sum()) for mask in split_nodes(torch.zeros(10, dtype=torch.long), train=0.7, val=0.3)] == [7, 3, 0]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (torch.tensor([0, 1, -1]), {}, "at least 3 labelled nodes, got 2"),
        (torch.zeros(9), {}, "y must hold integers"),
        (torch.zeros(9, dtype=torch.long), {"train": 0.9, "val": 0.2}, "train=0.9 and val=0.2"),
        (torch.zeros(9, dtype=torch.long), {"train": 0.0}, "0 < train"),
    ],
)
def test_split_nodes_refuses(y, options, message):
    with pytest.raises(ValueError, match=message):
        split_nodes(y, **options)


@given(seed=st.integers(0, 1000), unlabelled=st.integers(0, 20), rest=st.integers(5, 60))
def test_split_classes_draws_as_many_of_each_class(seed, unlabelled, rest):
    y = torch.cat((torch.arange(4).repeat(6), torch.arange(rest) % 4, torch.full((unlabelled,), -1)))
    y = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))]
    train, val, test = split_classes(y, per_class=6, val=10, test=20, seed=seed)
    assert torch.bincount(y[train]).tolist() == [6] * 4
    assert not (train & val).any()
    assert not (train & test).any()
    assert not (val & test).any()
    assert (y[val | test] >= 0).all()
    sizes = (10, 20) if rest >= 30 else (rest // 3, rest - rest // 3)
    assert (int(val.sum()), int(test.sum())) == sizes
    assert all(map(torch.equal, (train, val, test), split_classes(y, per_class=6, val=10, test=20, seed=seed)))


def test_split_classes_is_uniform_and_depends_on_the_seed():
    y = torch.arange(2).repeat_interleave(torch.tensor([10, 30]))
    drawn = sum(split_classes(y, per_class=5, seed=seed)[0].long() for seed in range(400))
    torch.testing.assert_close(drawn[:10] / 400, torch.full((10,), 5 / 10), atol=0.11, rtol=0)
    torch.testing.assert_close(drawn[10:] / 400, torch.full((30,), 5 / 30), atol=0.09, rtol=0)


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (torch.tensor([0] * 30 + [1] * 7), {}, "class 1 has 7 labelled nodes, but per_class is 20"),
        (torch.tensor([0] * 4 + [1] * 3), {"per_class": 3}, "3 training nodes of each class leave 1 for validation and test"),
        (torch.full((9,), -1), {"per_class": 1}, "leave 0 for validation and test"),
        (torch.zeros(9), {}, "y must hold integers"),
        (torch.zeros(9, dtype=torch.long), {"per_class": 0}, "must be at least 1, got 0, 500 and 1000"),
    ],
)
def test_split_classes_refuses(y, options, message):
    with pytest.raises(ValueError, match=message):
        split_classes(y, **options)
