"""Sparse products and adjacencies against dense ones."""

import pytest
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from cases import generator
from qgcn import data
from qgcn.nn import EdgeDropout, adjacency, matmul, to_csr
from qgcn.nn.sparse import edges_of, revalued, select_rows
from tolerance import DTYPES

EDGES = torch.tensor([[0, 1, 1, 2, 0, 3, 3, 1], [1, 0, 2, 1, 3, 0, 1, 3]])  # undirected; node 4 has no neighbour
DIRECTED = torch.tensor([[0, 1, 2, 0, 3], [1, 2, 0, 3, 1]])


def matrices(dtype):
    symmetric = adjacency(EDGES, 5, torch.ones(8, dtype=dtype))
    uneven = adjacency(DIRECTED, 5, torch.arange(1.0, 6.0, dtype=dtype), aggregation="mean")
    wide = to_csr(torch.randn(5, 7, dtype=dtype, generator=generator(0)).relu())
    return {"symmetric": symmetric, "uneven": uneven, "wide": wide, "tall": to_csr(wide.to_dense().t().contiguous())}


def dense_with(matrix, values):
    parts = (matrix.crow_indices(), matrix.col_indices(), values)
    return torch.sparse_csr_tensor(*parts, matrix.shape, check_invariants=True).to_dense()


# --- products --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other_values", [False, True])
@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_matmul_equals_the_dense_product_value_and_gradient(kind, other_values, dtype):
    matrix = matrices(dtype)[kind]
    values = torch.randn(matrix.values().shape, dtype=dtype, generator=generator(1)) if other_values else None
    dense = matrix.to_dense() if values is None else dense_with(matrix, values)
    columns = torch.randn(matrix.shape[1], 3, dtype=dtype, generator=generator(2), requires_grad=True)
    weights = torch.randn(matrix.shape[0], 3, dtype=dtype, generator=generator(3))
    for _ in range(2):  # the second time from what was kept of the first
        product = matmul(matrix, columns, values)
        (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
        torch.testing.assert_close(product, dense @ columns)
        torch.testing.assert_close(gradient, dense.t() @ weights)


@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_matmul_passes_gradcheck(kind):
    matrix = matrices(torch.float64)[kind]
    columns = torch.randn(matrix.shape[1], 2, dtype=torch.float64, generator=generator(2), requires_grad=True)
    assert torch.autograd.gradcheck(lambda columns: matmul(matrix, columns), columns)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batched", ["columns", "values", "both", "columns, other values"])
@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_matmul_under_vmap_agrees_with_a_loop_value_and_gradient(kind, batched, dtype):
    matrix, count = matrices(dtype)[kind], 3
    columns = torch.randn(count, matrix.shape[1], 2, dtype=dtype, generator=generator(4))
    values = torch.randn(count, *matrix.values().shape, dtype=dtype, generator=generator(5))
    weights = torch.randn(count, matrix.shape[0], 2, dtype=dtype, generator=generator(6))
    many_columns, many_values = batched != "values", batched in ("values", "both")
    columns = (columns if many_columns else columns[0]).clone().requires_grad_()
    values = None if batched == "columns" else values if many_values else values[0]
    if values is None:
        product = torch.vmap(lambda each: matmul(matrix, each))(columns)
    else:
        in_dims = (0 if many_columns else None, 0 if many_values else None)
        product = torch.vmap(lambda each, own: matmul(matrix, each, own), in_dims=in_dims)(columns, values)
    (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
    twin = columns.detach().clone().requires_grad_()
    expected = []
    for k in range(count):
        own = matrix.values() if values is None else values[k] if many_values else values
        expected.append(dense_with(matrix, own) @ (twin[k] if many_columns else twin))
    expected = torch.stack(expected)
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), twin)
    torch.testing.assert_close(product, expected)
    torch.testing.assert_close(gradient, expected_gradient)


def test_matmul_takes_a_batch_along_any_axis():
    matrix = matrices(torch.float64)["uneven"]
    columns = torch.randn(5, 2, 3, dtype=torch.float64, generator=generator(4))
    product = torch.vmap(lambda each: matmul(matrix, each), in_dims=2, out_dims=2)(columns)
    torch.testing.assert_close(product, torch.einsum("ij,jnk->ink", matrix.to_dense(), columns))


@pytest.mark.parametrize(
    ("columns", "values", "match"),
    [
        (torch.ones(5, 2), None, r"columns must have shape \(7, n\), got \(5, 2\)"),
        (torch.ones(7), None, r"columns must have shape \(7, n\), got \(7,\)"),
        (torch.ones(7, 2), torch.ones(3), r"values must have shape \(\d+,\), got \(3,\)"),
    ],
)
def test_matmul_refuses_shapes_that_do_not_fit(columns, values, match):
    with pytest.raises(ValueError, match=match):
        matmul(matrices(torch.float32)["wide"], columns, values)


@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_select_rows_takes_rows_in_the_given_order(kind):
    matrix = matrices(torch.float64)[kind]
    rows = torch.tensor([4, 0, 4, 2])
    some, entries = select_rows(matrix, rows)
    assert torch.equal(some.to_dense(), matrix.to_dense()[rows])
    assert torch.equal(matrix.values()[entries], some.values())


@pytest.mark.parametrize("kind", ["symmetric", "uneven", "wide", "tall"])
def test_a_revalued_matrix_has_the_gradients_of_its_own_values(kind):
    matrix = matrices(torch.float64)[kind]
    columns = torch.randn(matrix.shape[1], 3, dtype=torch.float64, generator=generator(2), requires_grad=True)
    torch.autograd.grad(matmul(matrix, columns).sum(), columns)  # so that the transpose of the old values is known
    made = revalued(matrix, torch.randn(matrix.values().shape, dtype=torch.float64, generator=generator(1)))
    weights = torch.randn(matrix.shape[0], 3, dtype=torch.float64, generator=generator(3))
    torch.testing.assert_close(matmul(made, columns), made.to_dense() @ columns)
    (found,) = torch.autograd.grad(matmul(made, columns), columns, weights)
    torch.testing.assert_close(found, made.to_dense().t() @ weights)


@pytest.mark.parametrize("dtype", DTYPES)
def test_to_csr_keeps_the_matrix(dtype):
    dense = torch.randn(4, 6, dtype=dtype, generator=generator(0)).relu()
    for given in (dense, dense.to_sparse()):
        matrix = to_csr(given)
        assert matrix.layout == torch.sparse_csr
        assert matrix.crow_indices().dtype == torch.int32
        assert torch.equal(matrix.to_dense(), dense)


# --- adjacencies -------------------------------------------------------------------------------------------------------


def dense_adjacency(edges, n, weight, aggregation, self_loops):
    matrix = torch.zeros(n, n, dtype=weight.dtype)
    for (source, target), value in zip(edges.t().tolist(), weight, strict=True):
        if source != target or not self_loops:
            matrix[target, source] += value
    matrix = matrix + torch.eye(n, dtype=weight.dtype) if self_loops else matrix
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
    matrix = adjacency(edges, 5, weight, aggregation=aggregation, self_loops=self_loops)
    assert matrix.dtype == dtype
    torch.testing.assert_close(matrix.to_dense(), dense_adjacency(edges, 5, weight, aggregation, self_loops))
    assert (matrix.to_dense()[4] == torch.eye(5, dtype=dtype)[4] * self_loops).all()


def test_adjacency_of_directed_edges_has_targets_as_rows():
    matrix = adjacency(torch.tensor([[0], [2]]), 3, aggregation="sum", self_loops=False).to_dense()
    assert matrix[2, 0] == 1
    assert matrix.sum() == 1


@pytest.mark.parametrize("weighted", [False, True])
def test_adjacency_sym_equals_the_normalisation_of_pyg(weighted):
    edges, _ = data.stochastic_block((8, 8), 0.5, 0.1, seed=1)
    weight = None
    if weighted:
        weight = torch.rand(edges.shape[1], dtype=torch.float64, generator=generator(0))
    ours = adjacency(edges, 18, weight)  # two nodes more than edges name
    index, values = gcn_norm(edges, weight, 18, add_self_loops=True)
    theirs = torch.zeros(18, 18, dtype=values.dtype)
    theirs[index[1], index[0]] = values
    torch.testing.assert_close(ours.to_dense(), theirs)


def test_adjacency_without_edges_is_the_loops_or_nothing():
    none = torch.empty(2, 0, dtype=torch.int64)
    assert torch.equal(adjacency(none, 3).to_dense(), torch.eye(3))
    assert torch.equal(adjacency(none, 3, self_loops=False).to_dense(), torch.zeros(3, 3))


def test_adjacency_does_not_mutate_or_track_its_weights():
    weight = torch.ones(8, requires_grad=True)
    edges = EDGES.clone()
    assert not adjacency(edges, 5, weight).requires_grad
    assert torch.equal(edges, EDGES)
    assert (weight == 1).all()


def test_edges_of_undoes_adjacency():
    matrix = adjacency(DIRECTED, 4, torch.arange(1.0, 6.0), aggregation="sum", self_loops=False)
    edges, weight = edges_of(matrix)
    found = {(i, j): w for (i, j), w in zip(edges.t().tolist(), weight.tolist(), strict=True)}
    assert found == {(0, 1): 1.0, (1, 2): 2.0, (2, 0): 3.0, (0, 3): 4.0, (3, 1): 5.0}


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: adjacency(EDGES, 5, aggregation="max"), ValueError, "aggregation must be one of sum, mean, sym, got 'max'"),
        (lambda: adjacency(EDGES[0], 5), ValueError, r"shape \(2, E\), got \(8,\)"),
        (lambda: adjacency(EDGES.t(), 5), ValueError, r"shape \(2, E\), got \(8, 2\)"),
        (lambda: adjacency(EDGES.float(), 5), TypeError, "integers, got torch.float32"),
        (lambda: adjacency(EDGES, 3), ValueError, r"\[0, 3\), got 3"),
        (lambda: adjacency(EDGES - 1, 5), ValueError, r"\[0, 5\), got -1"),
        (lambda: adjacency(EDGES, 5, torch.ones(7)), ValueError, r"shape \(8,\), got \(7,\)"),
        (lambda: EdgeDropout(EDGES, 5, None, p=1.0), ValueError, r"p must be in \[0, 1\), got 1.0"),
        (lambda: EdgeDropout(EDGES, 5, None, p=-0.1), ValueError, r"p must be in \[0, 1\), got -0.1"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


# --- edge dropout --------------------------------------------------------------------------------------------------------


def surviving(thinned):
    """Return the edges, without loops, that a draw has left."""
    edges, values = edges_of(thinned)
    kept = (values != 0) & (edges[0] != edges[1])
    return edges[:, kept], kept


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_edge_dropout_normalises_the_surviving_edges_as_adjacency_does(aggregation, weighted):
    edges, _ = data.stochastic_block((10, 10), 0.5, 0.1, seed=1)
    weight = None
    if weighted:
        symmetric = torch.rand(21, 21, dtype=torch.float64, generator=generator(0)) + 0.1
        weight = (symmetric + symmetric.t())[edges[0], edges[1]]
    whole = EdgeDropout(edges, 21, weight, p=0.4, aggregation=aggregation).to(torch.device("cpu"), torch.float64)
    source = generator(3)
    seen = set()
    for _ in range(5):
        thinned = whole.draw(source)
        left, kept = surviving(thinned)
        assert 0 < left.shape[1] < edges.shape[1]
        pairs = {tuple(pair) for pair in left.t().tolist()}
        assert pairs == {(j, i) for i, j in pairs}
        seen.add(frozenset(pairs))
        own = None if weight is None else whole.weight[kept]
        own = torch.ones(left.shape[1], dtype=torch.float64) if own is None else own
        expected = adjacency(left, 21, own, aggregation=aggregation).to_dense()
        torch.testing.assert_close(thinned.to_dense(), expected)
        if aggregation != "mean":
            assert torch.equal(thinned.to_dense(), thinned.to_dense().t())
    assert len(seen) == 5


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_edge_dropout_drops_its_share_and_keeps_the_loops(p):
    edges = data.grid(40, 40)
    whole = EdgeDropout(edges, 1600, None, p=p)
    thinned = whole.draw(generator(0))
    left, _ = surviving(thinned)
    count = edges.shape[1] // 2
    assert abs(left.shape[1] / 2 - (1 - p) * count) < 4 * (p * (1 - p) * count) ** 0.5
    assert (thinned.to_dense().diagonal() > 0).all()


def test_edge_dropout_without_dropping_is_the_adjacency_and_equal_generators_draw_alike():
    whole = EdgeDropout(EDGES, 5, None, p=0.0)
    torch.testing.assert_close(whole.draw(generator(0)).to_dense(), adjacency(EDGES, 5).to_dense())
    half = EdgeDropout(data.cycle(50), 50, None, p=0.5)
    assert torch.equal(half.draw(generator(1)).to_dense(), half.draw(generator(1)).to_dense())
    assert not torch.equal(half.draw(generator(1)).to_dense(), half.draw(generator(2)).to_dense())


@pytest.mark.parametrize("edges", [EDGES, DIRECTED], ids=["undirected", "directed"])
@pytest.mark.parametrize("aggregation", ["sum", "mean", "sym"])
def test_gradients_through_a_thinned_graph_are_those_of_the_dense_one(aggregation, edges):
    whole = EdgeDropout(edges, 5, None, p=0.4, aggregation=aggregation).to(torch.device("cpu"), torch.float64)
    columns = torch.randn(5, 2, dtype=torch.float64, generator=generator(0), requires_grad=True)
    weights = torch.randn(5, 2, dtype=torch.float64, generator=generator(1))
    source = generator(2)
    for _ in range(3):
        thinned = whole.draw(source)
        product = matmul(thinned, columns)
        torch.testing.assert_close(product, thinned.to_dense() @ columns)
        (gradient,) = torch.autograd.grad((product * weights).sum(), columns)
        torch.testing.assert_close(gradient, thinned.to_dense().t() @ weights)
