"""The graph operand: normalised, thinned, restricted, moved."""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from cases import generator
from qgcn import data
from qgcn.nn import Adjacency, SparseMatrix
from tolerance import DTYPES

EDGES = torch.tensor([[0, 1, 1, 2, 0, 3, 3, 1], [1, 0, 2, 1, 3, 0, 1, 3]])  # undirected; node 4 has no neighbour
DIRECTED = torch.tensor([[0, 1, 2, 0, 3, 1], [1, 2, 0, 3, 1, 0]])
NODES = torch.tensor([1, 2])


def dense_adjacency(edges, n, weight, aggregation, self_loops):
    matrix = torch.zeros(n, n, dtype=weight.dtype)
    for (source, target), value in zip(edges.t().tolist(), weight, strict=True):
        if source == target and self_loops:
            matrix[target, source] = value
        else:
            matrix[target, source] += value
    if self_loops:
        given = matrix.diagonal()
        matrix = matrix + torch.diag(torch.where(given != 0, 0, 1).to(weight.dtype))
    degree = matrix.sum(1)
    inverse = torch.where(degree > 0, 1 / degree, 0)
    if aggregation == "mean":
        return torch.diag(inverse) @ matrix
    return torch.diag(inverse.sqrt()) @ matrix @ torch.diag(inverse.sqrt()) if aggregation == "sym" else matrix


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_adjacency_equals_the_dense_formula(aggregation, self_loops, weighted, dtype):
    """With a loop, an edge given twice, and a node without neighbours."""
    edges = torch.cat((EDGES, torch.tensor([[2, 0, 1], [2, 1, 0]])), dim=1)
    weight = torch.ones(11, dtype=dtype)
    if weighted:
        half = torch.rand(4, dtype=dtype, generator=generator(0)) + 0.1
        weight = torch.cat((half.repeat_interleave(2), torch.tensor([0.7, 0.3, 0.3], dtype=dtype)))
    matrix = Adjacency.of(edges, 5, weight, aggregation=aggregation, self_loops=self_loops)
    assert matrix.dtype == dtype
    torch.testing.assert_close(matrix.to_dense(), dense_adjacency(edges, 5, weight, aggregation, self_loops))
    assert (matrix.to_dense()[4] == torch.eye(5, dtype=dtype)[4] * self_loops).all()


def test_adjacency_of_directed_edges_has_targets_as_rows():
    matrix = Adjacency.of(torch.tensor([[0], [2]]), 3, aggregation="sum", self_loops=False).to_dense()
    assert matrix[2, 0] == 1
    assert matrix.sum() == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_adjacency_sym_equals_the_normalisation_of_pyg(weighted):
    edges, _ = data.stochastic_block((8, 8), 0.5, 0.1, seed=1)
    weight = None
    if weighted:
        weight = torch.rand(edges.shape[1], dtype=torch.float64, generator=generator(0))
    ours = Adjacency.of(edges, 18, weight)  # two nodes more than edges name
    index, values = gcn_norm(edges, weight, 18, add_self_loops=True)
    theirs = torch.zeros(18, 18, dtype=values.dtype)
    theirs[index[1], index[0]] = values
    torch.testing.assert_close(ours.to_dense(), theirs)


def test_adjacency_without_edges_is_the_loops_or_nothing():
    none = torch.empty(2, 0, dtype=torch.int64)
    assert torch.equal(Adjacency.of(none, 3).to_dense(), torch.eye(3))
    assert torch.equal(Adjacency.of(none, 3, self_loops=False).to_dense(), torch.zeros(3, 3))


def test_adjacency_does_not_mutate_or_track_its_weights():
    weight = torch.ones(8, requires_grad=True)
    edges = EDGES.clone()
    assert not Adjacency.of(edges, 5, weight).matrix.values.requires_grad
    assert torch.equal(edges, EDGES)
    assert (weight == 1).all()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: Adjacency.of(EDGES, 5, aggregation="max"), ValueError, "aggregation must be one of sum, mean, sym, got 'max'"),
        (lambda: Adjacency.of(EDGES[0], 5), ValueError, r"shape \(2, E\), got \(8,\)"),
        (lambda: Adjacency.of(EDGES.t(), 5), ValueError, r"shape \(2, E\), got \(8, 2\)"),
        (lambda: Adjacency.of(EDGES.float(), 5), TypeError, "integers, got torch.float32"),
        (lambda: Adjacency.of(EDGES, 3), ValueError, r"\[0, 3\), got 3"),
        (lambda: Adjacency.of(EDGES - 1, 5), ValueError, r"\[0, 5\), got -1"),
        (lambda: Adjacency.of(EDGES, 5, torch.ones(7)), ValueError, r"shape \(8,\), got \(7,\)"),
        (lambda: Adjacency.of(EDGES, 5).thinned(1.0, generator(0)), ValueError, r"p must be in \[0, 1\), got 1.0"),
        (lambda: Adjacency.of(EDGES, 5).thinned(-0.1, generator(0)), ValueError, r"p must be in \[0, 1\), got -0.1"),
        (lambda: Adjacency.from_matrix(torch.ones(2, 3)), ValueError, r"as many rows as columns, got shape \(2, 3\)"),
        (lambda: Adjacency.of(EDGES, 5).seen_from(NODES, 1).seen_from(NODES, 1), ValueError, "restricted already"),
        (
            lambda: Adjacency.of(EDGES, 5).seen_from(NODES, 1).hop(1),
            ValueError,
            "restricted to 1 aggregations, got one more: 1",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_a_matrix_is_taken_as_it_is():
    dense = torch.tensor([[0.0, 2, 0], [0.5, 0, 1], [0, 0, 3]])
    for given in (dense, dense.to_sparse_csr(), SparseMatrix.of(dense)):
        graph = Adjacency.from_matrix(given)
        assert torch.equal(graph.to_dense(), dense)
        found = {(i, j): w for (i, j), w in zip(graph.edge_index.t().tolist(), graph.edge_weight.tolist(), strict=True)}
        assert found == {(1, 0): 2.0, (0, 1): 0.5, (2, 1): 1.0, (2, 2): 3.0}
        assert graph.directed


def test_edges_are_kept_in_the_order_given_and_direction_is_known():
    weight = torch.arange(8.0)
    graph = Adjacency.of(EDGES, 5, weight)
    assert graph.edge_index is EDGES
    assert torch.equal(graph.edge_weight, weight)
    assert graph.num_nodes == 5
    assert graph.directed  # by its weights
    assert not Adjacency.of(EDGES, 5).directed
    assert Adjacency.of(EDGES, 5).edge_weight is None
    assert Adjacency.of(DIRECTED, 4).directed
    assert Adjacency.of(DIRECTED, 4).thinned(0.5, generator(0)).directed


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_it_multiplies_and_knows_its_transpose(aggregation):
    for edges in (EDGES, DIRECTED):
        graph = Adjacency.of(edges, 5, aggregation=aggregation).to(dtype=torch.float64)
        columns = torch.randn(5, 3, dtype=torch.float64, generator=generator(0))
        torch.testing.assert_close(graph @ columns, graph.to_dense() @ columns)
        torch.testing.assert_close(graph.t.to_dense(), graph.to_dense().t())
        assert graph.matrix is graph.matrix
        assert graph.hop(0).matrix is graph.hop(-1).matrix is graph.matrix
        assert graph.hop(7).sources is None


@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_turned_round_it_is_the_graph_of_the_edges_turned_round(aggregation):
    weight = torch.rand(DIRECTED.shape[1], generator=generator(0))
    graph = Adjacency.of(DIRECTED, 5, weight, aggregation=aggregation)
    expected = Adjacency.of(DIRECTED.flip(0), 5, weight, aggregation=aggregation)
    assert torch.equal(graph.turned.to_dense(), expected.to_dense())
    assert torch.equal(graph.turned.turned.to_dense(), graph.to_dense())
    left = graph.keeping(torch.rand(len(graph.decide(0.5, generator(1))), generator=generator(2)) >= 0.5)
    assert torch.equal(left.turned.edge_index, left.edge_index.flip(0))
    assert 0 < left.edge_index.shape[1] < DIRECTED.shape[1]
    with pytest.raises(ValueError, match="a part of a graph cannot be turned round"):
        _ = graph.seen_from(NODES, 1).turned


def test_weights_are_normalised_in_double_precision_and_rounded_once():
    edges, _ = data.stochastic_block((10, 10), 0.5, 0.1, seed=1)
    weight = torch.rand(edges.shape[1], generator=generator(0))
    exact = Adjacency.of(edges, 20, weight.double()).to_dense()
    assert torch.equal(Adjacency.of(edges, 20, weight).to_dense(), exact.float())
    assert torch.equal(Adjacency.of(edges, 20, weight).to(dtype=torch.float64).to_dense(), exact)
    torch.testing.assert_close(exact, dense_adjacency(edges, 20, weight.double(), "sym", True), rtol=1e-14, atol=0)


def test_it_moves_to_another_type_and_device():
    graph = Adjacency.of(EDGES, 5)
    assert graph.to(torch.device("cpu"), torch.float32) is graph
    restricted = graph.thinned(0.5, generator(0)).seen_from(NODES, 2)
    wide = restricted.to(dtype=torch.float64)
    assert wide.dtype == wide.hop(0).matrix.dtype == wide.thinned(0.1, generator(0)).hop(1).matrix.dtype == torch.float64
    torch.testing.assert_close(wide.hop(0).matrix.to_dense().float(), restricted.hop(0).matrix.to_dense())
    moved = graph.to(torch.device("meta"))
    assert moved.device.type == moved.edge_index.device.type == "meta"


def test_repr_says_how_large_it_is():
    assert repr(Adjacency.of(EDGES, 5)) == "Adjacency(5 nodes, 8 edges, sym)"
    seen = Adjacency.of(EDGES, 5, aggregation="mean").seen_from(NODES, 3)
    assert repr(seen) == "Adjacency(5 nodes, 8 edges, mean, seen from 2 in 3 hops)"


# --- thinned -------------------------------------------------------------------------------------------------------------


def surviving(thinned):
    """Return the edges, without loops, that a draw has left in the matrix."""
    target, source = thinned.matrix.coordinates
    kept = (thinned.matrix.values != 0) & (source != target)
    return torch.stack((source, target))[:, kept]


def pairs_of(edges):
    return {tuple(pair) for pair in edges.t().tolist()}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_the_edges_left_are_normalised_as_if_there_had_been_no_others(aggregation, weighted):
    edges, _ = data.stochastic_block((10, 10), 0.5, 0.1, seed=1)
    weight = None
    if weighted:
        symmetric = torch.rand(21, 21, dtype=torch.float64, generator=generator(0)) + 0.1
        weight = (symmetric + symmetric.t())[edges[0], edges[1]]
    whole = Adjacency.of(edges, 21, weight, aggregation=aggregation).to(dtype=torch.float64)
    source = generator(3)
    seen = set()
    for _ in range(5):
        thinned = whole.thinned(0.4, source)
        left = surviving(thinned)
        assert 0 < left.shape[1] < edges.shape[1]
        pairs = pairs_of(left)
        assert pairs == {(j, i) for i, j in pairs} == pairs_of(thinned.edge_index)
        seen.add(frozenset(pairs))
        again = Adjacency.of(thinned.edge_index, 21, thinned.edge_weight, aggregation=aggregation)
        torch.testing.assert_close(thinned.to_dense(), again.to(dtype=torch.float64).to_dense())
        assert thinned.matrix.structure is whole.matrix.structure
        if aggregation != "mean":
            assert torch.equal(thinned.to_dense(), thinned.to_dense().t())
            assert thinned.matrix.symmetric
    assert len(seen) == 5


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_its_share_of_the_edges_is_dropped_and_added_loops_stay(p):
    edges = data.grid(40, 40)
    thinned = Adjacency.of(edges, 1600).thinned(p, generator(0))
    count = edges.shape[1] // 2
    assert abs(surviving(thinned).shape[1] / 2 - (1 - p) * count) < 4 * (p * (1 - p) * count) ** 0.5
    assert (thinned.to_dense().diagonal() > 0).all()


def test_equal_generators_draw_alike_and_nothing_is_drawn_for_nothing():
    whole = Adjacency.of(data.cycle(50), 50)
    assert whole.thinned(0.0, generator(0)) is whole
    first, second, other = (whole.thinned(0.5, generator(seed)).to_dense() for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_edges_of_a_directed_graph_are_dropped_each_on_its_own():
    ring = data.cycle(400)
    weight = torch.rand(ring.shape[1], generator=generator(0)) + 0.1
    for graph, together in ((Adjacency.of(ring, 400), True), (Adjacency.of(ring, 400, weight), False)):
        assert graph.directed != together
        left = pairs_of(graph.thinned(0.5, generator(1)).edge_index)
        assert (left == {(j, i) for i, j in left}) == together
        assert abs(len(left) - 400) < 120


@pytest.mark.parametrize("self_loops", [False, True])
def test_the_list_of_edges_is_that_of_the_matrix_in_the_order_given(self_loops):
    edges = torch.cat((torch.tensor([[2, 3], [2, 3]]), data.cycle(30)), dim=1)[:, torch.randperm(62, generator=generator(0))]
    thinned = Adjacency.of(edges, 30, torch.arange(1.0, 63.0), self_loops=self_loops).thinned(0.5, generator(3))
    left = thinned.edge_index
    assert pairs_of(left[:, left[0] != left[1]]) == pairs_of(surviving(thinned))
    places = [edges.t().tolist().index(pair) for pair in left.t().tolist()]
    assert places == sorted(places)
    assert thinned.edge_weight.tolist() == [place + 1 for place in places]
    assert not self_loops or {(2, 2), (3, 3)} <= pairs_of(left)


def test_edges_without_added_loops_are_drawn_one_number_for_each_pair():
    """The numbers of a generator mean the same whatever asks for them: the matrix or the list."""
    edges = data.ring_of_trees(4, 2, 2)
    n = int(edges.max()) + 1
    number = edges.amin(0) * n + edges.amax(0)
    found, pair = torch.unique(number, return_inverse=True)
    keep = torch.rand(found.numel(), generator=generator(5)) >= 0.4
    thinned = Adjacency.of(edges, n, self_loops=False).thinned(0.4, generator(5))
    assert torch.equal(thinned.edge_index, edges[:, keep[pair]])


def test_a_thinned_graph_can_be_thinned_again():
    once = Adjacency.of(data.cycle(100), 100).thinned(0.3, generator(0))
    twice = once.thinned(0.3, generator(1))
    assert pairs_of(twice.edge_index) < pairs_of(once.edge_index)


@pytest.mark.parametrize("edges", [EDGES, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_gradients_through_a_thinned_graph_are_those_of_the_dense_one(aggregation, edges):
    whole = Adjacency.of(edges, 5, aggregation=aggregation).to(dtype=torch.float64)
    columns = torch.randn(5, 2, dtype=torch.float64, generator=generator(0), requires_grad=True)
    weights = torch.randn(5, 2, dtype=torch.float64, generator=generator(1))
    source = generator(2)
    for _ in range(3):
        thinned = whole.thinned(0.4, source)
        product = thinned @ columns
        torch.testing.assert_close(product, thinned.to_dense() @ columns)
        (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
        torch.testing.assert_close(gradient, thinned.to_dense().t() @ weights)


# --- restricted ------------------------------------------------------------------------------------------------------------

PATH = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
PATH = torch.cat((PATH, PATH.flip(0)), dim=1)
X = torch.randn(8, 5, generator=generator(0)) * (torch.rand(8, 5, generator=generator(1)) < 0.5)


def test_nodes_see_those_within_reach():
    seen = Adjacency.of(PATH, 8).seen_from(torch.tensor([5, 1]), 1)
    assert seen.hop(0).sources.rows.tolist() == [0, 1, 2, 4, 5, 6]
    assert seen.nodes.rows.tolist() == [5, 1]
    assert seen.sources is seen.hop(0).sources
    assert seen.sources.rows.dtype == torch.int64
    assert seen.nodes.total == seen.sources.total == 8
    whole = Adjacency.of(PATH, 8)
    assert whole.nodes is None
    assert whole.sources is None


@pytest.mark.parametrize("sparse", [False, True])
def test_gather_takes_the_features_that_are_seen(sparse):
    x = SparseMatrix.of(X) if sparse else X
    whole = Adjacency.of(PATH, 8)
    assert whole.gather(x) is x
    here = whole.seen_from(torch.tensor([5, 1]), 1).gather(x)
    assert torch.equal(here.to_dense(), X[[0, 1, 2, 4, 5, 6]])
    if sparse:  # the part of a sparse matrix counts entries
        assert here.part.total == len(x.values)
        assert torch.equal(x.values[here.part.rows], here.values)
    assert torch.equal(whole.seen_from(torch.tensor([3]), 0).gather(x).to_dense(), X[[3]])


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_aggregating_along_the_hops_is_aggregating_along_the_graph(hops):
    whole = Adjacency.of(PATH, 8)
    seen = whole.seen_from(torch.tensor([7, 2]), hops)
    here, everywhere = seen.gather(X), X
    for index in range(hops):
        here, everywhere = seen.hop(index).matrix @ here, whole @ everywhere
    torch.testing.assert_close(here, everywhere[[7, 2]])


def test_a_restricted_graph_is_thinned_as_the_whole_one_and_keeps_its_structure():
    whole = Adjacency.of(PATH, 8)
    nodes = torch.tensor([3, 4])
    seen = whole.seen_from(nodes, 2)
    thinned = whole.thinned(0.5, generator(2))
    for found in (seen.along(thinned), seen.thinned(0.5, generator(2))):
        expected = thinned.seen_from(nodes, 2)
        for index in range(2):
            assert torch.equal(found.hop(index).matrix.to_dense(), expected.hop(index).matrix.to_dense())
            assert found.hop(index).matrix.structure is seen.hop(index).matrix.structure
            assert found.hop(index).sources is seen.hop(index).sources
        assert found.nodes is seen.nodes
        assert torch.equal(found.edge_index, thinned.edge_index)
    assert not torch.equal(thinned.to_dense(), whole.to_dense())
    assert whole.along(thinned) is thinned


def test_what_sees_nearly_all_nodes_reads_all_of_them_and_still_follows_what_is_dropped():
    size = 60
    ring = torch.stack((torch.arange(size), (torch.arange(size) + 1) % size))
    whole = Adjacency.of(torch.cat((ring, ring.flip(0)), dim=1), size)
    nodes = torch.arange(1, size - 1)  # all but two, which their neighbours see
    seen = whole.seen_from(nodes, 2)
    assert seen.hop(0).matrix is whole.matrix
    x = torch.randn(size, 3, dtype=torch.float64)
    assert seen.gather(x) is x
    for graph in (whole, whole.thinned(0.5, generator(0))):
        here = seen if graph is whole else seen.along(graph)
        found = here.hop(1).matrix @ (here.hop(0).matrix @ x.float())
        torch.testing.assert_close(found, (graph.matrix @ (graph.matrix @ x.float()))[nodes])
    assert whole.seen_from(nodes[:20], 2).sources is not None
