import math

import pytest
import torch

import oracle
from cases import awkward_pairs, generator, points_at_radius, settled_points
from qgcn import geometry, parse_space
from qgcn.kernels import Neighbourhoods, average_precision, backend, distances_from, nearest_neighbours, use_backend

NAMES = ("Q7,3", "Q9,1", "Q3,7", "Q0,10", "Q1,1", "E10", "H10", "S10", "H5xS5", "H5xH5", "Q4,2xE4")


def on(path, function, *arguments, **options):
    with use_backend(path):
        result = function(*arguments, **options)
        assert backend() == path
    return result


# --- distances ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_native_distances_equal_those_in_float64(name):
    space = parse_space(name)
    x = settled_points(space, 40 if name != "Q1,1" else 20)
    rows = range(5, 18)
    found = on("native", distances_from, x, rows, space)
    assert found.shape == (13, len(x))
    torch.testing.assert_close(found.double(), on("eager", distances_from, x.double(), rows, space), rtol=2e-5, atol=2e-6)
    assert torch.equal(found, on("native", distances_from, x, range(len(x)), space)[5:18])


@pytest.mark.parametrize("beta", [-0.05, -1.0, -20.0])
@pytest.mark.parametrize("radius", [0.5, 3.0, 8.0, 15.0])
@pytest.mark.parametrize(("s", "t"), [(7, 3), (3, 7), (9, 1)])
def test_points_far_out_are_as_far_from_the_pole_as_they_should_be(s, t, radius, beta):
    space = parse_space(f"Q{s},{t}", beta=beta)
    far = points_at_radius(30, s, t, beta, radius, torch.float32)
    x = torch.cat((geometry.pole(s + t, beta=beta, like=far)[None], far))
    found = on("native", distances_from, x, range(1), space)[0]
    size = oracle.mp.mpf(float(space.beta.abs().float()))
    truth = [oracle.dist(*oracle.vectors(x[[0, i]]), size, t) for i in range(1, 31)]
    assert found[0] == 0
    # next to the antipode and to the null cone the distance is a root: twice the digits are lost there
    assert oracle.worst_error(found[1:], truth) < 2e-5
    assert torch.equal(on("native", distances_from, x, range(31), space)[:, 0], found)


@pytest.mark.parametrize("separation", [1e-3, 0.1])
@pytest.mark.parametrize(("s", "t"), [(5, 3), (4, 1), (0, 6)])
def test_near_points_keep_their_digits(s, t, separation):
    # where the arccosine of an inner product would have none left
    x = points_at_radius(30, s, t, -1.0, 2.0, torch.float32)
    noise = torch.randn(x.shape, generator=generator(1))
    y = geometry.project(x + separation * noise, beta=-1.0, time_dim=t)
    points = torch.cat((x, y))
    found = on("native", distances_from, points, range(60), parse_space(f"Q{s},{t}")).diagonal(30)
    errors = [
        oracle.relative_error(mine, oracle.dist(*oracle.vectors(pair), oracle.mp.mpf(1), t))
        for mine, pair in zip(found.tolist(), torch.stack((x, y), dim=1), strict=True)
    ]
    assert sorted(errors)[24] < 1e-3  # four in five: the rest is next to the null cone


@pytest.mark.parametrize("name", NAMES)
def test_distances_are_symmetric_and_zero_to_oneself(name):
    space = parse_space(name)
    x = space.random(70, space.ambient_dim, std=2.0, generator=generator(0)).as_subclass(torch.Tensor)
    dist = on("native", distances_from, x, range(70), space)
    assert torch.equal(dist, dist.T)
    assert (dist.diagonal() == 0).all()


def test_coincident_antipodal_and_null_separated_points_by_hand():
    space = parse_space("Q2,2", beta=-4.0)
    pole = torch.tensor([2.0, 0.0, 0.0, 0.0])
    x = torch.stack((pole, pole, -pole, pole + torch.tensor([0.0, 1.0, 1.0, 0.0]), torch.tensor([0.0, 2.0, 0.0, 0.0])))
    for path in ("native", "eager"):
        found = on(path, distances_from, x, range(1), space)[0]
        torch.testing.assert_close(found, torch.tensor([0, 0, 2 * math.pi, 0, math.pi]), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("s", "t"), [(0, 4), (4, 1), (2, 2), (1, 3)])
def test_awkward_pairs_have_distances(s, t):
    points = torch.cat(awkward_pairs(60, s, t, -1.0, torch.float32))
    dist = on("native", distances_from, points, range(len(points)), parse_space(f"Q{s},{t}"))
    assert dist.isfinite().all()
    assert (dist >= 0).all()


def test_distances_that_are_no_numbers_are_refused():
    space = parse_space("Q2,2")
    x = settled_points(space, 10)
    missing = torch.where(x == x[3], math.nan, x)
    for path, bad in (("native", missing), ("native", 1e30 * x), ("eager", missing)):
        with pytest.raises(ValueError, match="distances must be numbers, got NaN"):
            on(path, distances_from, bad, range(10), space)
        with pytest.raises(ValueError, match="distances must be numbers, got NaN"):
            on(path, average_precision, bad, Neighbourhoods.of(torch.tensor([[0, 3], [1, 4]]), 10), space)


@pytest.mark.parametrize("rows", [range(-1, 3), range(3, 12), range(0, 8, 2), range(8, 3)])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(ValueError, match=r"rows must be consecutive and in \[0, 10\)"):
        distances_from(torch.zeros(10, 2), rows, parse_space("E2"))


def test_points_with_too_few_coordinates_are_refused():
    for function in (lambda x, space: distances_from(x, range(3), space), lambda x, space: nearest_neighbours(x, space, 1)):
        with pytest.raises(ValueError, match=r"10 coordinates in Q7,3, got shape \(3, 9\)"):
            function(torch.ones(3, 9), parse_space("Q7,3"))


# --- nearest neighbours ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["native", "eager"])
@pytest.mark.parametrize("chunk", [None, 1, 7])
@pytest.mark.parametrize("name", ["Q3,3", "H4", "S4", "E4", "H2xS2"])
def test_nearest_neighbours_are_those_of_a_full_sort(name, chunk, path):
    space = parse_space(name)
    x = settled_points(space, 45)
    distance, index = on(path, nearest_neighbours, x, space, 6, chunk=chunk)
    everything = space.pairwise_dist(x.double())
    everything.fill_diagonal_(math.inf)
    truth = everything.sort(dim=1).values[:, :6]
    assert distance.shape == index.shape == (45, 6)
    torch.testing.assert_close(distance.double(), truth, rtol=2e-5, atol=2e-5)
    torch.testing.assert_close(everything.gather(1, index), truth, rtol=2e-5, atol=2e-5)
    assert (index != torch.arange(45).unsqueeze(1)).all()


def test_nearest_neighbours_at_one_place_all_count():
    x = torch.zeros(5, 3)
    distance, index = nearest_neighbours(x, parse_space("E3"), 4)
    assert (distance == 0).all()
    for node in range(5):
        assert sorted([node, *index[node].tolist()]) == list(range(5))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1 and less than the number of points, 3, got 0"),
        ({"k": 3}, ValueError, "k must be at least 1 and less than the number of points, 3, got 3"),
        ({"k": 1.0}, TypeError, "k must be an int, got float"),
        ({"k": True}, TypeError, "k must be an int, got bool"),
        ({"chunk": 0}, ValueError, "chunk must be at least 1, got 0"),
        ({"x": torch.full((3, 2), math.inf)}, ValueError, "x must be finite"),
        ({"manifold": parse_space("S1")}, ValueError, "x must be points of S1: <x, x> is not -1"),
    ],
)
def test_nearest_neighbours_refuses(change, error, message):
    with pytest.raises(error, match=message):
        nearest_neighbours(**{"x": torch.zeros(3, 2), "manifold": parse_space("E2"), "k": 1, **change})
