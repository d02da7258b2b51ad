import math
from collections import deque

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from cases import awkward_pairs, generator
from qgcn import geometry, metrics, parse_space
from qgcn.data import ring_of_trees
from qgcn.kernels import Neighbourhoods
from tolerance import DTYPES

NAMES = ("E5", "H4", "S4", "K4", "Q3,3", "Q0,5", "Q4,1", "H2xS2", "Q2,2xE2")

LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=30)
SCORES = st.lists(st.integers(-3, 3).map(lambda k: k / 4), min_size=1, max_size=25)


def draw(space, n, dtype=torch.float64, std=0.5, seed=0):
    x = space.random(n, space.ambient_dim, dtype=dtype, std=std, generator=generator(seed))
    return x.detach().as_subclass(torch.Tensor)


# --- labels ----------------------------------------------------------------------------------------------------------


@given(LABELS)
def test_labels_are_scored_as_by_sklearn(labels):
    prediction, y = torch.tensor(labels).T
    assert metrics.accuracy(prediction, y).item() == pytest.approx(sklearn.metrics.accuracy_score(y, prediction))
    for average in ("micro", "macro"):
        expected = sklearn.metrics.f1_score(y, prediction, average=average)
        assert metrics.f1(prediction, y, average=average).item() == pytest.approx(expected, abs=1e-15)


def test_scores_of_classes_stand_for_the_highest():
    scores = torch.randn(50, 4, generator=generator(0))
    y = torch.randint(4, (50,), generator=generator(1), dtype=torch.int32)
    labels = scores.argmax(-1)
    assert metrics.accuracy(scores, y) == metrics.accuracy(labels, y)
    assert metrics.f1(scores, y, average="macro") == metrics.f1(labels, y, average="macro")
    assert metrics.accuracy(labels, labels) == 1
    assert metrics.accuracy(scores, y).dtype == torch.float64


@pytest.mark.parametrize(
    ("prediction", "y", "error", "message"),
    [
        (torch.zeros(3), torch.zeros(3, dtype=torch.long), TypeError, "prediction must hold integer labels, or scores"),
        (torch.zeros(3, dtype=torch.long), torch.zeros(3), TypeError, "y must hold integer labels, got torch.float32"),
        (
            torch.zeros(2, dtype=torch.long),
            torch.zeros(3, dtype=torch.long),
            ValueError,
            r"shape \(3,\) or \(3, C\), got \(2,\)",
        ),
        (torch.zeros(3, 0), torch.zeros(3, dtype=torch.long), ValueError, r"shape \(3,\) or \(3, C\), got \(3, 0\)"),
        (torch.zeros(0, 2), torch.zeros(0, dtype=torch.long), ValueError, r"y must have shape \(N,\) with N at least 1"),
        (torch.full((3, 2), math.nan), torch.zeros(3, dtype=torch.long), ValueError, "must not contain NaN, got 6 of 6"),
        ([0, 1], torch.zeros(2, dtype=torch.long), TypeError, "prediction must be a torch.Tensor, got list"),
    ],
)
def test_labels_that_do_not_fit_are_refused(prediction, y, error, message):
    for metric in (metrics.accuracy, metrics.f1):
        with pytest.raises(error, match=message):
            metric(prediction, y)


def test_f1_refuses_an_unknown_average():
    with pytest.raises(ValueError, match="average must be 'micro' or 'macro', got 'weighted'"):
        metrics.f1(torch.zeros(1, dtype=torch.long), torch.zeros(1, dtype=torch.long), average="weighted")


# --- scores ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@given(positive=SCORES, negative=SCORES)
def test_rankings_are_scored_as_by_sklearn(dtype, positive, negative):
    y = [1] * len(positive) + [0] * len(negative)
    scores = positive + negative
    positive, negative = torch.tensor(positive, dtype=dtype), torch.tensor(negative, dtype=dtype)
    auc = metrics.roc_auc(positive, negative).item()
    assert auc == pytest.approx(sklearn.metrics.roc_auc_score(y, scores), abs=1e-14)
    precision = metrics.average_precision(positive, negative).item()
    assert precision == pytest.approx(sklearn.metrics.average_precision_score(y, scores), abs=1e-14)


@given(positive=SCORES, negative=SCORES, k=st.integers(1, 30))
def test_reciprocal_ranks_and_hits_are_their_definitions(positive, negative, k):
    inverse = []
    for score in positive:  # its rank if tied negatives come first, and if they come last
        last = 1 + sum(other >= score for other in negative)
        first = 1 + sum(other > score for other in negative)
        inverse.append(2 / (first + last))
    bar = sorted(negative, reverse=True)[k - 1] if k <= len(negative) else -math.inf
    hits = [score > bar for score in positive]
    positive, negative = torch.tensor(positive), torch.tensor(negative)
    assert metrics.mean_reciprocal_rank(positive, negative).item() == pytest.approx(np.mean(inverse), rel=1e-14)
    assert metrics.hits_at(positive, negative, k).item() == pytest.approx(np.mean(hits), rel=1e-14)


def test_rankings_by_hand():
    positive, negative = torch.tensor([3.0, 1.0]), torch.tensor([2.0, 1.0, 0.0])
    assert metrics.roc_auc(positive, negative).item() == pytest.approx((3 + 1.5) / 6)
    assert metrics.average_precision(positive, negative).item() == pytest.approx((1 + 2 / 4) / 2)
    assert metrics.mean_reciprocal_rank(positive, negative).item() == pytest.approx((1 + 1 / 2.5) / 2)
    assert [metrics.hits_at(positive, negative, k).item() for k in (1, 2, 3, 4)] == [0.5, 0.5, 1, 1]


METRICS = (
    metrics.roc_auc,
    metrics.average_precision,
    metrics.mean_reciprocal_rank,
    lambda positive, negative: metrics.hits_at(positive, negative, 3),
)


@pytest.mark.parametrize("metric", METRICS)
def test_rankings_are_batched_over_leading_axes(metric):
    positive = torch.randint(5, (2, 3, 7), generator=generator(0)).double()
    negative = torch.randint(5, (3, 11), generator=generator(1)).float()
    together = metric(positive, negative)
    assert together.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            assert together[i, j] == metric(positive[i, j], negative[j])


def test_roc_auc_is_exact_for_more_pairs_than_float32_can_count():
    positive, negative = torch.arange(10_000), torch.arange(10_000) - 1
    wins = sum(p + 1 for p in range(10_000))  # over -1 .. p - 1; p itself is among the negatives, but for the last
    expected = (wins + 9_999 / 2) / 10**8
    assert metrics.roc_auc(positive, negative).item() == pytest.approx(expected, rel=1e-15)


def test_scores_of_two_types_are_compared_in_the_wider_one():
    positive, negative = torch.tensor([1.0]), torch.tensor([1 + 2**-40], dtype=torch.float64)
    assert metrics.roc_auc(positive, negative) == 0
    assert metrics.roc_auc(negative, positive) == 1


def test_infinite_scores_are_ranked():
    positive, negative = torch.tensor([math.inf, 0.0]), torch.tensor([-math.inf, math.inf])
    assert metrics.roc_auc(positive, negative).item() == pytest.approx((1.5 + 1) / 4)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("positive", "negative", "error", "message"),
    [
        (torch.zeros(0), torch.zeros(2), ValueError, r"positive must hold at least one score, got shape \(0,\)"),
        (torch.zeros(2), torch.tensor(0.0), ValueError, r"negative must hold at least one score, got shape \(\)"),
        (torch.zeros(2), torch.tensor([0.0, math.nan]), ValueError, "negative must not contain NaN, got 1 of 2"),
        (torch.zeros(2, 4), torch.zeros(3, 4), ValueError, r"do not broadcast: positive \(2, 4\), negative \(3, 4\)"),
        (torch.zeros(2, dtype=torch.bool), torch.zeros(2), TypeError, "positive must hold real numbers, got torch.bool"),
        ([1.0], torch.zeros(2), TypeError, "positive must be a torch.Tensor, got list"),
    ],
)
def test_scores_that_are_none_are_refused(metric, positive, negative, error, message):
    with pytest.raises(error, match=message):
        metric(positive, negative)


def test_hits_at_refuses_what_is_no_rank():
    scores = torch.zeros(2)
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        metrics.hits_at(scores, scores, 0)
    with pytest.raises(TypeError, match="k must be an int, got float"):
        metrics.hits_at(scores, scores, 1.0)


# --- mean average precision ------------------------------------------------------------------------------------------


class Table:
    """A space whose points are numbers of rows of a table of distances."""

    def __init__(self, dist):
        self.dist = dist

    def pairwise_dist(self, x, y=None):
        return self.dist[x[:, 0].long()][:, y[:, 0].long()]


def naive_map(dist, edges):
    dist = dist.tolist()
    n, precisions = len(dist), []
    neighbours = [{v for u, v in edges.T.tolist() if u == node != v} for node in range(n)]
    for u in range(n):
        terms = []
        for v in neighbours[u]:
            within = {w for w in range(n) if w != u and dist[u][w] <= dist[u][v]}
            terms.append(len(within & neighbours[u]) / len(within))
        if terms:
            precisions.append(sum(terms) / len(terms))
    return sum(precisions) / len(precisions)


@st.composite
def tables(draw):
    """Distances full of ties, not symmetric, some infinite, and edges with loops and repetitions; at least one is neither."""
    n = draw(st.integers(2, 9))
    values = st.sampled_from([0.0, 0.5, 1.0, 2.0, math.inf])
    dist = draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=n, max_size=n))
    node = st.integers(0, n - 1)
    edges = [(0, 1), *draw(st.lists(st.tuples(node, node), max_size=30))]
    return torch.tensor(dist), torch.tensor(edges).T


@given(tables(), st.integers(1, 10))
@example((torch.zeros(3, 3), torch.tensor([[2], [0]])), 1)
def test_mean_average_precision_is_its_definition_ties_included(table, chunk):
    dist, edges = table
    x = torch.arange(len(dist), dtype=torch.float64).unsqueeze(-1)
    value = metrics.mean_average_precision(x, edges, Table(dist), chunk=chunk)
    assert value.item() == pytest.approx(naive_map(dist, edges), rel=1e-14)
    assert value.dtype == torch.float64
    assert value.shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_mean_average_precision_in_every_space(name, dtype):
    space = parse_space(name)
    edges = ring_of_trees(5, 2, 2)
    x = draw(space, int(edges.max()) + 1, dtype)
    expected = naive_map(space.pairwise_dist(x), edges)
    assert metrics.mean_average_precision(x, edges, space).item() == pytest.approx(expected, rel=1e-12)
    assert metrics.mean_average_precision(x, edges, space, chunk=4).item() == pytest.approx(expected, rel=1e-12)


def test_nodes_are_ranked_by_how_far_they_are_from_the_future():
    spacetime = parse_space("M1xH3")
    events = draw(spacetime, 35, torch.float64)
    times, places = spacetime.times_and_places(events)
    edges = ring_of_trees(5, 2, 2)
    expected = naive_map(spacetime.light_margin(events[:, None], events[None]), edges)
    found = metrics.mean_average_precision(places, edges, spacetime.spatial, lead=times)
    assert found.item() == pytest.approx(expected, rel=1e-12)
    assert found != metrics.mean_average_precision(places, edges, spacetime.spatial)
    for wrong in (times[:9], times.clone().fill_(torch.nan)):
        with pytest.raises(ValueError, match="lead must hold a number for each of 35 points"):
            metrics.mean_average_precision(places, edges, spacetime.spatial, lead=wrong)


def test_null_separated_nodes_are_not_told_apart():
    space = parse_space("Q1,2")
    # 0, 1 and 2 lie on one null line, at distance zero from each other; 3 is elsewhere
    x = torch.tensor([[1, 0, 0], [1, 0.75, 0.75], [1, -0.5, -0.5], [0, 1, 0]], dtype=torch.float64)
    dist = space.pairwise_dist(x)
    assert (dist[:3, :3] == 0).all()
    edge = torch.tensor([[0], [1]])
    assert metrics.mean_average_precision(x, edge, space).item() == pytest.approx(1 / 2)
    both = torch.tensor([[0, 0], [1, 2]])
    assert metrics.mean_average_precision(x, both, space).item() == 1
    assert naive_map(dist, edge) == pytest.approx(1 / 2)


def test_awkward_points_of_a_pseudo_hyperboloid_are_ranked():
    x, y = awkward_pairs(20, 2, 2, -1.0, torch.float64)
    points = torch.cat((x, y))
    ends = torch.arange(len(points))
    edges = torch.stack((torch.cat((ends, ends)), torch.cat((ends.roll(len(x)), ends.roll(1)))))
    space = parse_space("Q2,2")
    expected = naive_map(space.pairwise_dist(points), edges)
    assert metrics.mean_average_precision(points, edges, space).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_coincident_points_score_their_share_of_neighbours(name):
    space = parse_space(name)
    x = space.origin(6, space.ambient_dim, dtype=torch.float64).as_subclass(torch.Tensor)
    edges = torch.tensor([[0, 0, 1, 1, 1], [1, 2, 0, 2, 3]])  # node 5 is in no edge
    assert metrics.mean_average_precision(x, edges, space).item() == pytest.approx((2 / 5 + 3 / 5) / 2)


def test_node_precision_is_the_mean_of_each_node_and_nan_without_neighbours():
    space = parse_space("H2")
    x = space.random(6, 3, generator=torch.Generator().manual_seed(0)).as_subclass(torch.Tensor)
    edges = torch.tensor([[0, 1, 2, 3, 3, 4], [1, 0, 3, 2, 4, 3]])
    precision = metrics.node_precision(x, edges, space)
    assert precision.shape == (6,)
    assert precision.isnan().tolist() == [False] * 5 + [True]
    torch.testing.assert_close(precision.nanmean(), metrics.mean_average_precision(x, edges, space))
    rank = space.pairwise_dist(x)[0, 1:].argsort().argsort()[0] + 1
    torch.testing.assert_close(precision[0], 1 / rank.double())  # node 0 has one neighbour
    torch.testing.assert_close(metrics.node_precision(x, edges, space, chunk=2), precision, equal_nan=True)


def test_mean_average_precision_is_one_where_neighbours_are_nearest():
    x = torch.arange(8, dtype=torch.float32).unsqueeze(-1)
    x[4:] += 10
    edges = torch.tensor([(u, v) for u in range(8) for v in range(8) if u // 4 == v // 4]).T
    assert metrics.mean_average_precision(x, edges, parse_space("E1")) == 1
    assert metrics.mean_average_precision(x, Neighbourhoods.of(edges, 8), parse_space("E1"), chunk=3) == 1


def test_nodes_without_neighbours_cost_no_distances():
    asked = []

    class Watched(Table):
        def pairwise_dist(self, x, y=None):
            asked.append(x.flatten().tolist())
            return super().pairwise_dist(x, y)

    x = torch.arange(5.0).unsqueeze(-1)
    dist = (x - x.T).abs()
    assert metrics.mean_average_precision(x, torch.tensor([[3], [2]]), Watched(dist), chunk=1).item() == pytest.approx(1 / 2)
    assert asked == [[3.0]]


def test_mean_average_precision_keeps_no_graph_and_changes_nothing():
    space = parse_space("Q2,2")
    edges = ring_of_trees(4, 2, 1)
    x = draw(space, int(edges.max()) + 1).requires_grad_()
    before = x.detach().clone(), edges.clone()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(kept.append, lambda _: None):
        assert not metrics.mean_average_precision(x, edges, space).requires_grad
    assert kept == []
    assert torch.equal(x.detach(), before[0])
    assert torch.equal(edges, before[1])


@pytest.mark.parametrize("metric", [metrics.mean_average_precision, metrics.distortion])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": torch.full((3, 2), math.nan)}, ValueError, "x must be finite, got NaN or infinity in 3 of 3 points"),
        ({"x": torch.zeros(3, 2, dtype=torch.long)}, TypeError, "x must be float32 or float64, got torch.int64"),
        ({"x": torch.zeros(2)}, ValueError, r"x must have shape \(N, d\)"),
        ({"edge_index": torch.tensor([[0], [3]])}, ValueError, r"edge_index must lie in \[0, 3\).* got values from 0 to 3"),
        ({"edge_index": torch.tensor([[-1], [2]])}, ValueError, r"edge_index must lie in \[0, 3\)"),
        ({"edge_index": torch.zeros(2, 0, dtype=torch.long)}, ValueError, "edge_index must have at least one column"),
        ({"edge_index": torch.tensor([[1], [1]])}, ValueError, "at least one edge between two nodes, got 1 loops"),
        ({"chunk": 0}, ValueError, "chunk must be at least 1, got 0"),
        ({"manifold": Table(torch.full((3, 3), math.nan))}, ValueError, "distances must be numbers, got NaN"),
    ],
)
def test_embeddings_that_are_none_are_refused(metric, change, error, message):
    arguments = {"x": torch.zeros(3, 2), "edge_index": torch.tensor([[0], [1]]), "manifold": parse_space("E2"), **change}
    with pytest.raises(error, match=message):
        metric(**arguments)


# --- distortion ------------------------------------------------------------------------------------------------------


def steps_between(edges, n):
    """Graph distances by breadth-first search, in either direction of the edges; None where there is no path."""
    around = [set() for _ in range(n)]
    for u, v in edges.T.tolist():
        around[u].add(v)
        around[v].add(u)
    table = [[None] * n for _ in range(n)]
    for start in range(n):
        table[start][start], queue = 0, deque([start])
        while queue:
            u = queue.popleft()
            for v in around[u]:
                if table[start][v] is None:
                    table[start][v] = table[start][u] + 1
                    queue.append(v)
    return table


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_distortion_is_its_definition(name, dtype, scale):
    space = parse_space(name)
    ring = ring_of_trees(4, 2, 1)
    n = int(ring.max()) + 1
    one_way = ring[:, : ring.shape[1] // 2]
    edges = torch.cat((one_way, ring + n, torch.tensor([[2 * n], [2 * n]])), dim=1)  # two components and a lone node
    x = draw(space, 2 * n + 1, dtype)
    dist, steps = space.pairwise_dist(x).tolist(), steps_between(edges, 2 * n + 1)
    stretch = np.array([dist[u][v] / steps[u][v] for u in range(len(x)) for v in range(len(x)) if steps[u][v]])
    by = (stretch**2).sum() / stretch.sum() if scale else 1.0
    for chunk in (None, 5, 1):
        result = metrics.distortion(x, edges, space, scale=scale, chunk=chunk)
        assert result.average.item() == pytest.approx(np.abs(stretch / by - 1).mean(), rel=1e-5)
        assert result.worst.item() == pytest.approx(stretch.max() / stretch.min(), rel=1e-4)


def test_distortion_from_some_nodes_is_that_of_their_rows():
    edges = ring_of_trees(4, 2, 1)
    space, n = parse_space("Q2,2"), int(edges.max()) + 1
    edges = torch.cat((edges, edges + n), dim=1)
    x = draw(space, 2 * n + 3, torch.float64)  # two components and lone nodes
    dist, steps = space.pairwise_dist(x).tolist(), steps_between(edges, len(x))
    rows = [np.array([dist[u][v] / steps[u][v] for v in range(len(x)) if steps[u][v]]) for u in range(2 * n)]
    one = metrics.distortion(x, edges, space, sources=1)
    assert any(one.average.item() == pytest.approx(np.abs(row - 1).mean(), rel=1e-12) for row in rows)
    assert any(one.worst.item() == pytest.approx(row.max() / row.min(), rel=1e-12) for row in rows)
    assert metrics.distortion(x, edges, space, sources=1) == one
    whole = metrics.distortion(x, edges, space, scale=True)
    for enough in (2 * n, 1000):
        assert metrics.distortion(x, edges, space, scale=True, sources=enough) == whole
    assert metrics.distortion(x, edges, space, sources=n).worst <= whole.worst
    with pytest.raises(ValueError, match="sources must be at least 1, got 0"):
        metrics.distortion(x, edges, space, sources=0)


def test_distortion_by_hand():
    x = torch.tensor([[0.0], [2.0], [3.0]], dtype=torch.float64)
    path = torch.tensor([[0, 1], [1, 2]])
    average, worst = metrics.distortion(x, path, parse_space("E1"))  # stretches 2, 1, 3/2
    assert average.item() == pytest.approx(0.5)
    assert worst.item() == pytest.approx(2)
    scaled = metrics.distortion(x, path, parse_space("E1"), scale=True)
    by = (4 + 1 + 2.25) / 4.5
    assert scaled.average.item() == pytest.approx((2 / by - 1 + 1 - 1 / by + 1 - 1.5 / by) / 3)
    assert scaled.worst.item() == pytest.approx(2)


def test_a_path_on_a_line_has_no_distortion_up_to_scale():
    x = 7 * torch.arange(6, dtype=torch.float64).unsqueeze(-1)
    path = torch.stack((torch.arange(5), torch.arange(1, 6)))
    average, worst = metrics.distortion(x, path, parse_space("E1"), scale=True)
    assert average.item() == pytest.approx(0, abs=1e-14)
    assert worst.item() == pytest.approx(1)
    assert metrics.distortion(x, path, parse_space("E1")).average.item() == pytest.approx(6)


@pytest.mark.parametrize("scale", [False, True])
def test_distortion_of_coincident_points_is_one_and_infinite(scale):
    average, worst = metrics.distortion(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]), parse_space("E2"), scale=scale)
    assert average == 1
    assert worst == math.inf


def test_the_best_scale_is_the_best():
    space = parse_space("H3")
    edges = ring_of_trees(5, 2, 1)
    x = draw(space, int(edges.max()) + 1)
    steps = torch.tensor(steps_between(edges, len(x)), dtype=torch.float64)
    apart = steps > 0
    stretch = space.pairwise_dist(x)[apart] / steps[apart]
    by = (stretch.square().sum() / stretch.sum()).item()
    best = (stretch / by - 1).square().mean()
    for other in (0.9 * by, 1.1 * by):
        assert (stretch / other - 1).square().mean() > best
    expected = (stretch / by - 1).abs().mean().item()
    assert metrics.distortion(x, edges, space, scale=True).average.item() == pytest.approx(expected, rel=1e-12)


def test_isometries_change_neither():
    space = parse_space("Q3,3")
    edges = ring_of_trees(4, 2, 2)
    x = draw(space, int(edges.max()) + 1)
    moved = geometry.apply_isometry(geometry.random_isometry(3, 3, dtype=torch.float64, generator=generator(3)), x, time_dim=3)
    for metric in (metrics.mean_average_precision, lambda *arguments: metrics.distortion(*arguments).average):
        assert metric(moved, edges, space).item() == pytest.approx(metric(x, edges, space).item(), rel=1e-8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_metrics_agree_on_a_gpu():
    edges = ring_of_trees(6, 2, 2)
    here, there = parse_space("Q2,3"), parse_space("Q2,3").cuda()
    x = draw(here, int(edges.max()) + 1)
    value = metrics.mean_average_precision(x.cuda(), edges, there, chunk=7)
    assert value.is_cuda
    assert value.item() == pytest.approx(metrics.mean_average_precision(x, edges, here).item(), rel=1e-9)
    torch.testing.assert_close(
        metrics.distortion(x.cuda(), edges, there).average.cpu(), metrics.distortion(x, edges, here).average
    )
    scores = torch.randn(2, 3, 20, generator=generator(0))
    for metric in METRICS:
        torch.testing.assert_close(metric(*scores.cuda()).cpu(), metric(*scores))
