import pytest
import torch

from cases import generator, settled_points
from qgcn import parse_space
from qgcn.kernels import Neighbourhoods, average_precision, backend, use_backend

NAMES = ("Q7,3", "Q9,1", "Q3,7", "Q0,10", "Q1,1", "E10", "H10", "S10", "H5xS5", "H5xH5", "Q4,2xE4")


def on(path, function, *arguments, **options):
    with use_backend(path):
        result = function(*arguments, **options)
        assert backend() == path
    return result


def naive_precision(dist, edges):
    """The definition: at each neighbour, neighbours as near over nodes as near."""
    result = []
    for node, row in enumerate(dist.tolist()):
        around = {v for u, v in edges.T.tolist() if u == node and v != u}
        others = [w for w in range(len(row)) if w != node]
        ranks = [sum(row[w] <= row[v] for w in around) / sum(row[w] <= row[v] for w in others) for v in around]
        result.append(sum(ranks) / len(ranks) if ranks else 0.0)
    return torch.tensor(result, dtype=torch.float64)


@pytest.mark.parametrize("name", NAMES)
def test_native_precision_equals_eager_precision(name):
    space = parse_space(name)
    x = settled_points(space, 75 if name != "Q1,1" else 20, margin=1e-4)
    n = len(x)
    star = torch.stack((torch.zeros(n - 1, dtype=torch.long), torch.arange(1, n)))
    edges = torch.cat((torch.randint(0, n - 1, (2, 4 * n), generator=generator(0)), star), dim=1)  # the last has none
    graph = Neighbourhoods.of(edges, n)
    native, eager = (on(path, average_precision, x, graph, space) for path in ("native", "eager"))
    torch.testing.assert_close(native, eager, rtol=1e-14, atol=0)  # the same ranks, added up in another order
    torch.testing.assert_close(native, naive_precision(space.pairwise_dist(x), edges), rtol=1e-12, atol=0)
    assert native[-1] == 0
    assert native[0] == 1


def test_ties_count_against_the_node_on_every_path():
    space = parse_space("E2")
    x = torch.cartesian_prod(torch.arange(7.0), torch.arange(7.0))  # a grid: distances are roots of whole numbers
    x = torch.cat((x, x[:6]))  # and some points are there twice
    edges = torch.randint(0, len(x), (2, 150), generator=generator(1))
    graph = Neighbourhoods.of(edges, len(x))
    native, eager = (on(path, average_precision, x, graph, space) for path in ("native", "eager"))
    torch.testing.assert_close(native, eager, rtol=1e-14, atol=0)
    torch.testing.assert_close(native, naive_precision(space.pairwise_dist(x), edges), rtol=1e-12, atol=0)
    assert torch.equal(on("eager", average_precision, x, graph, space, chunk=4), eager)


def test_if_all_points_coincide_a_node_is_told_from_none():
    for name in ("E3", "H3", "S3", "Q2,2"):
        space = parse_space(name)
        x = space.origin(40, space.ambient_dim).as_subclass(torch.Tensor)
        edges = torch.tensor([[0, 0, 0, 5], [1, 2, 3, 6]])
        precision = on("native", average_precision, x, Neighbourhoods.of(edges, 40), space)
        assert precision[0].item() == pytest.approx(3 / 39)
        assert precision[5].item() == pytest.approx(1 / 39)


@pytest.mark.parametrize("name", ["E10", "H10", "S10", "Q4,2xE4"])
def test_a_lead_counts_as_nearer_on_every_path(name):
    space = parse_space(name)
    x = settled_points(space, 40, margin=1e-4)
    leads = (torch.randn(40, generator=generator(seed)) for seed in range(2000))
    gaps = ((lead, (space.pairwise_dist(x) - lead).sort().values.diff().min()) for lead in leads)
    lead = next(lead for lead, gap in gaps if gap > 2e-5)  # rounding ties nothing
    graph = Neighbourhoods.of(torch.randint(0, 39, (2, 160), generator=generator(0)), 40)
    native, eager = (on(path, average_precision, x, graph, space, lead=lead) for path in ("native", "eager"))
    torch.testing.assert_close(native, eager, rtol=1e-14, atol=0)
    edges = torch.stack((graph.source, graph.target))
    torch.testing.assert_close(native, naive_precision(space.pairwise_dist(x) - lead, edges), rtol=1e-12, atol=0)
    same = on("native", average_precision, x, graph, space, lead=torch.full((40,), 0.5))
    torch.testing.assert_close(same, on("native", average_precision, x, graph, space), rtol=1e-3, atol=0)  # but for rounding
    assert not torch.allclose(native, same)
    few = on("eager", average_precision, x, graph, space, lead=lead, chunk=4, count=9)
    assert torch.equal(few, eager[:9])


def test_a_lead_that_is_tied_counts_against_the_node():
    space, graph = parse_space("E1"), Neighbourhoods.of(torch.tensor([[0], [1]]), 4)
    x = torch.tensor([[0.0], [1.0], [3.0], [4.0]])
    for path in ("native", "eager"):
        found = [
            on(path, average_precision, x, graph, space, lead=torch.tensor(lead))[0].item()
            for lead in ([9.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, -1.0, 2.0, 2.5])
        ]
        assert found == [1, 1 / 2, 1 / 3]
