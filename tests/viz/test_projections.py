import math
import sys

import numpy as np
import pytest
import torch

from qgcn.kernels import nearest_neighbours
from qgcn.manifolds import parse_space
from qgcn.viz import projections
from qgcn.viz.projections import beside_time, disk_of, exact_view, umap_hyperboloid, umap_sphere
from reports import points_of


@pytest.fixture(scope="module")
def clusters():
    """Three clusters of a pseudo-hyperboloid, far apart by its own distance."""
    space = parse_space("Q3,2")
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[0, 0.0, 3, 0, 0], [0, 0.0, -3, 0, 0], [0, 0.0, 0, 3, 0]])
    u = centres.repeat_interleave(20, dim=0) + 0.05 * torch.randn(60, 5, generator=generator)
    return space, space.expmap0(u), np.repeat(range(3), 20)


def test_umap_lays_out_what_is_near_in_the_space(clusters):
    pytest.importorskip("umap")
    space, x, label = clusters
    on_sphere, hyperboloid = umap_sphere(x, space), umap_hyperboloid(x, space)
    np.testing.assert_allclose(np.linalg.norm(on_sphere, axis=1), 1)
    np.testing.assert_allclose(hyperboloid[:, 2] ** 2 - (hyperboloid[:, :2] ** 2).sum(axis=1), 1, rtol=1e-9)
    assert (np.linalg.norm(disk_of(hyperboloid), axis=1) < 1).all()
    angle = np.arccos(np.minimum(1, on_sphere @ on_sphere.T))
    length = np.arccosh(np.maximum(1, hyperboloid @ (hyperboloid * [-1, -1, 1]).T))
    for distance in (angle, length):
        nearest = np.argsort(distance + 99 * np.eye(60), axis=1)[:, :3]
        assert (label[nearest] == label[:, None]).mean() > 0.95
    np.testing.assert_array_equal(umap_sphere(x, space, neighbours=nearest_neighbours(x, space, 15)), on_sphere)


def test_umap_is_given_the_distances_of_the_space(clusters, monkeypatch):
    """Neighbours that Euclidean distances would not give: what UMAP returns depends on them and on nothing else."""
    umap = pytest.importorskip("umap")
    seen = {}

    class Spy(umap.UMAP):
        def __init__(self, **options):
            seen.update(options)
            super().__init__(**options)

    monkeypatch.setattr(umap, "UMAP", Spy)
    space, x, _ = clusters
    distance, index = nearest_neighbours(x, space, 15)
    umap_hyperboloid(x, space, seed=3)
    given, lengths = seen["precomputed_knn"]
    np.testing.assert_array_equal(given[:, 0], np.arange(60))
    np.testing.assert_array_equal(given[:, 1:], index[:, :14].numpy())
    np.testing.assert_array_equal(lengths[:, 1:], distance[:, :14].numpy())
    assert seen["output_metric"] == "hyperboloid"


def test_centring_is_an_isometry_that_brings_the_mean_to_the_middle():
    rng = np.random.default_rng(0)
    plane = rng.normal(loc=5, size=(50, 2))
    x = np.column_stack((plane, np.sqrt(1 + (plane**2).sum(axis=1))))
    moved = projections._centred(x)
    form = np.array([-1, -1, 1])
    np.testing.assert_allclose((moved * form) @ moved.T, (x * form) @ x.T, rtol=1e-6)
    mean = (x / x[:, 2:]).mean(axis=0)
    assert np.abs(disk_of(moved).mean(axis=0)).max() < 0.2 < np.linalg.norm(mean[:2])


def test_layouts_refuse_what_cannot_be_laid_out():
    space = parse_space("H2")
    with pytest.raises(ValueError, match="at least 4 points, got 3"):
        umap_sphere(points_of(space, 3), space)
    x = points_of(space, 9)
    x[3] = torch.nan
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 9 points"):
        umap_sphere(x, space)


def test_a_umap_that_is_missing_or_broken_is_told(monkeypatch, tmp_path):
    space = parse_space("H2")
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ImportError, match=r"umap-learn is not installed: pip install 'qgcn\[viz\]'"):
        umap_sphere(points_of(space, 5), space)
    monkeypatch.delitem(sys.modules, "umap")
    (tmp_path / "umap.py").write_text("raise ImportError('Numba needs another NumPy')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"cannot be imported \(Numba needs another NumPy\): pip install"):
        umap_sphere(points_of(space, 5), space)


@pytest.mark.parametrize(
    ("name", "shape", "size"),
    [
        *(("Q3,2", "ring", 2), ("Q3,3", "shell", 3)),
        *((name, "disk", 3) for name in ("Q2,1", "Q2,2", "Q2,4", "H2")),
        *((name, "plane", 2) for name in ("Q4,1", "Q3,4", "Q0,5", "H4", "S3", "E4", "K3", "H2xS2")),
    ],
)
def test_exact_view_is_finite_and_named_in_every_space(name, shape, size):
    space = parse_space(name)
    view = exact_view(points_of(space, 20), space)
    assert view.shape == shape
    assert view.coordinates.shape == (20, size)
    assert np.isfinite(view.coordinates).all()
    assert all(view.axes)


def test_exact_view_of_known_points():
    root = math.sqrt(2)  # beta = -2
    space = parse_space("Q1,2", beta=-2.0)
    x = torch.tensor([[root, 0, 0], [0, root * math.cosh(1), root * math.sinh(1)]])
    np.testing.assert_allclose(exact_view(x, space).coordinates, [[1, 0], [0, 2]], atol=1e-6)  # radius 1, on the second axis
    flat = parse_space("Q1,4")
    y = torch.tensor([[0, math.cosh(0.5), 0, 0, math.sinh(0.5)]])
    np.testing.assert_allclose(exact_view(y, flat).coordinates, [[math.pi / 2, 0.5]], atol=1e-6)
    sheets = parse_space("Q1,1")
    z = torch.tensor([[-math.cosh(2), math.sinh(2)], [math.cosh(2), math.sinh(2)]])
    np.testing.assert_allclose(exact_view(z, sheets).coordinates, [[0, -2], [0, 2]], atol=1e-5)


def test_exact_view_of_two_space_dimensions_holds_all_of_a_point():
    space = parse_space("Q2,2", beta=-4.0)
    points = [(0.0, 0.0, 0.0), (1.0, 0.7, 2.0), (2.0, -0.4, -1.0)]  # radius, direction in space, angle of time
    x = [[math.cosh(r) * math.cos(a), math.cosh(r) * math.sin(a), math.sinh(r) * math.cos(d), math.sinh(r) * math.sin(d)]
         for r, d, a in points]  # fmt: skip
    expected = [[math.tanh(r / 2) * math.cos(d), math.tanh(r / 2) * math.sin(d), a / math.pi] for r, d, a in points]
    np.testing.assert_allclose(exact_view(2 * torch.tensor(x), space).coordinates, expected, atol=1e-6)
    plane = exact_view(torch.tensor([[math.cosh(1), 0.0, math.sinh(1)]]), parse_space("H2"))
    np.testing.assert_allclose(plane.coordinates, [[0, math.tanh(0.5), 0]], atol=1e-6)


def test_beside_time_keeps_time_and_leaves_it_out_of_the_place():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(50, 3, generator=generator, dtype=torch.float64) * torch.tensor([5.0, 3.0, 0.1])
    space = parse_space("M3")
    found = beside_time(x, space, x[:, 0].numpy())
    assert np.array_equal(found[:, 1], x[:, 0].numpy())
    assert abs(np.corrcoef(found.T)[0, 1]) < 1e-9
    assert abs(np.corrcoef(found[:, 0], x[:, 1].numpy())[0, 1]) > 0.95
    still = beside_time(x, space, np.zeros(50))  # no time to leave out
    assert abs(np.corrcoef(still[:, 0], x[:, 0].numpy())[0, 1]) > 0.95
