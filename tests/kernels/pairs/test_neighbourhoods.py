import pytest
import torch

from cases import points_at_radius
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods
from qgcn.kernels.pairs.neighbourhoods import CHUNK_ENTRIES, WORD, Words, check_on_manifold, rows_at_once


def test_neighbourhoods_are_sorted_sets_without_loops():
    edges = torch.tensor([[3, 0, 0, 2, 0, 3], [1, 2, 1, 2, 2, 0]])
    graph = Neighbourhoods.of(edges, 5)
    assert torch.stack((graph.source, graph.target)).tolist() == [[0, 0, 3, 3], [1, 2, 0, 1]]
    assert graph.degree.tolist() == [2, 0, 0, 2, 0]
    assert graph.start.tolist() == [0, 2, 2, 2, 4, 4]
    assert (graph.num_nodes, graph.num_edges) == (5, 4)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9])
def test_chunks_cover_every_node_and_edge_once(rows):
    graph = Neighbourhoods.of(torch.tensor([[3, 0, 0, 3], [1, 2, 1, 0]]), 5)
    chunks = list(graph.chunks(rows))
    nodes = [node for chunk in chunks for node in range(chunk.first, chunk.first + chunk.rows)]
    assert nodes == list(range(5))
    for chunk in chunks:
        inside = (graph.source >= chunk.first) & (graph.source < chunk.first + chunk.rows)
        assert graph.source[chunk.edges].tolist() == graph.source[inside].tolist()


@pytest.mark.parametrize("num_nodes", [1, 10, 4096, 5000, 10**6, 10**9])
def test_rows_at_once_bound_the_entries(num_nodes):
    rows = rows_at_once(num_nodes)
    assert 1 <= rows <= num_nodes
    assert rows * num_nodes <= max(CHUNK_ENTRIES, num_nodes)
    assert rows_at_once(num_nodes, 7) == 7


@pytest.mark.parametrize(
    ("edges", "error", "message"),
    [
        ([[0, 1], [1, 0]], TypeError, "edge_index must be a torch.Tensor, got list"),
        (torch.zeros(2, 3), TypeError, "edge_index must hold integers, got torch.float32"),
        (torch.zeros(2, 3, dtype=torch.bool), TypeError, "edge_index must hold integers, got torch.bool"),
        (torch.zeros(3, 2, dtype=torch.long), ValueError, r"edge_index must have shape \(2, E\), got \(3, 2\)"),
        (torch.zeros(2, 0, dtype=torch.long), ValueError, "edge_index must have at least one column"),
        (torch.tensor([[0], [4]]), ValueError, r"edge_index must lie in \[0, 4\).* got values from 0 to 4"),
        (torch.tensor([[-1], [2]]), ValueError, r"edge_index must lie in \[0, 4\).* got values from -1 to 2"),
        (torch.tensor([[1, 2], [1, 2]]), ValueError, "at least one edge between two nodes, got 2 loops"),
    ],
)
def test_edges_that_are_none_are_refused(edges, error, message):
    with pytest.raises(error, match=message):
        Neighbourhoods.of(edges, 4)


def test_rows_at_once_refuses_what_is_no_number_of_rows():
    with pytest.raises(ValueError, match="chunk must be at least 1, got 0"):
        rows_at_once(5, 0)
    with pytest.raises(TypeError, match="chunk must be an int or None, got float"):
        rows_at_once(5, 2.0)


@pytest.mark.parametrize("n", [1, 5, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_words_hold_exactly_the_pairs_given(n, share):
    matrix = torch.rand(n, n, generator=torch.Generator().manual_seed(n)) < share
    row, column = matrix.nonzero().T if share else (torch.arange(n), torch.arange(n))
    words = Words.of(row, column, n)
    assert (words.start.dtype, words.word.dtype, words.bits.dtype) == (torch.int32,) * 3
    found = torch.zeros(n, n, dtype=torch.bool)
    for node in range(n):
        own = slice(int(words.start[node]), int(words.start[node + 1]))
        assert words.word[own].tolist() == sorted(set(words.word[own].tolist()))
        assert 2**words.steps > own.stop - own.start
        for word, bits in zip(words.word[own].tolist(), words.bits[own].tolist(), strict=True):
            assert bits != 0
            for place in range(WORD):
                if bits >> place & 1:
                    found[node, word * WORD + place] = True
    expected = torch.zeros(n, n, dtype=torch.bool)
    expected[row, column] = True
    assert torch.equal(found, expected)


def test_symmetric_graphs_share_their_words():
    there = torch.tensor([[0, 1, 2], [1, 2, 3]])
    both = Neighbourhoods.of(torch.cat((there, there.flip(0)), dim=1), 4)
    assert both.symmetric
    assert both.itself_and_neighbours[0] is both.itself_and_neighbours[1]
    one = Neighbourhoods.of(there, 4)
    assert not one.symmetric
    words, back = one.itself_and_neighbours
    assert words.bits.tolist() == [0b0011, 0b0110, 0b1100, 0b1000]
    assert back.bits.tolist() == [0b0001, 0b0011, 0b0110, 0b1100]
    assert one.itself.bits.tolist() == [1, 2, 4, 8]


@pytest.mark.parametrize("name", ["Q2,2", "H3", "S3", "H2xS2", "Q2,2xE2"])
def test_points_off_the_manifold_are_refused_and_rounded_ones_are_not(name):
    space = parse_space(name)
    x = space.random(20, space.ambient_dim, std=3.0, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    check_on_manifold(x, space)
    with pytest.raises(ValueError, match=rf"x must be points of {name}: <x, x> is not -1"):
        check_on_manifold(1.01 * x, space)
    with pytest.raises(ValueError, match=rf"{space.ambient_dim} coordinates in {name}, got shape \(20, 2\)"):
        check_on_manifold(x[:, :2], space)


def test_points_far_out_are_on_the_manifold_up_to_rounding():
    for radius in (5.0, 15.0, 30.0):
        check_on_manifold(points_at_radius(20, 3, 3, -1.0, radius, torch.float32), parse_space("Q3,3"))


def test_a_metric_that_is_no_manifold_of_geoopt_says_nothing_of_its_points():
    class Metric:
        pass

    check_on_manifold(torch.zeros(2, 2), Metric())


def test_turned_edges_lead_back():
    graph = Neighbourhoods.of(torch.tensor([[3, 0, 0, 3], [1, 2, 1, 0]]), 5)
    back = graph.turned
    assert torch.stack((back.source, back.target)).tolist() == [[0, 1, 1, 2], [3, 0, 3, 0]]
    assert back.degree.tolist() == [1, 2, 1, 0, 0]
    assert torch.equal(back.turned.source, graph.source)
    assert torch.equal(back.turned.target, graph.target)


@pytest.mark.parametrize("nodes", [[3, 0], [0], [4, 3, 1]])
def test_edges_that_leave_some_nodes_are_theirs_under_other_names(nodes):
    edges = torch.tensor([[3, 0, 0, 3, 2], [1, 2, 1, 0, 4]])
    order, leaving = Neighbourhoods.of(edges, 5).leaving(torch.tensor(nodes))
    assert order.tolist() == nodes + [node for node in range(5) if node not in nodes]
    found = {tuple(pair) for pair in order[torch.stack((leaving.source, leaving.target))].T.tolist()}
    assert found == {tuple(pair) for pair in edges.T.tolist() if pair[0] in nodes}
    assert leaving.degree.tolist() == [int((edges[0] == node).sum()) for node in nodes] + [0] * (5 - len(nodes))
    assert torch.equal(leaving.start.diff(), leaving.degree)


def test_a_compact_graph_has_nodes_with_neighbours_first():
    graph = Neighbourhoods.of(torch.tensor([[3, 1], [1, 2]]), 5)
    assert graph.joined.tolist() == [1, 3]
    order, renamed = graph.compact
    assert order.tolist() == [1, 3, 0, 2, 4]
    assert torch.stack((renamed.source, renamed.target)).tolist() == [[0, 1], [3, 0]]
