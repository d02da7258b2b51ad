"""Triton's kernels over drawn negatives: on a GPU where there is one, under the interpreter otherwise."""

import pytest
import torch

from cases import generator
from interpreter import DEVICE, interpret, runs
from sampling import case, close, close_ordered, ordered, solved

pytest.importorskip("triton")
from qgcn.kernels.sampled import gpu

# NumPy, in which the interpreter computes, warns of divisions whose result is then not chosen
pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow) encountered:RuntimeWarning")


def test_all_of_this_under_the_interpreter():
    interpret(__file__)


CASES = [  # the interpreter takes half a second for each 32 columns
    ("Q7,3", 37, {"balance": True}),
    ("Q3,7", 20, {"squared": False}),
    ("Q9,1", 20, {}),
    ("E10", 34, {"squared": False}),
    ("S10", 20, {}),
    ("H5xS5", 20, {"squared": False}),
    ("Q4,2xE4", 34, {}),
]


@runs
@pytest.mark.parametrize(("name", "count", "options"), CASES)
def test_triton_equals_eager_in_float64(name, count, options):
    space, points, graph = case(name, 40)
    columns = torch.randperm(40, generator=generator(count))[:count]
    found = solved("triton", torch.float32, space, points, graph, columns, DEVICE, **options)
    close(found, solved("eager", torch.float64, space, points, graph, columns, **options))


@runs
def test_runs_of_rows_and_columns_are_put_together(monkeypatch):
    monkeypatch.setattr(gpu, "_BLOCKS", 3)
    space, points, graph = case("Q2,2", 70)
    columns = torch.randperm(70, generator=generator(0))[:66]
    found = solved("triton", torch.float32, space, points, graph, columns, DEVICE)
    close(found, solved("eager", torch.float64, space, points, graph, columns))


@runs
@pytest.mark.parametrize(("name", "count", "options"), [("E9", 34, {}), ("H5xS5", 20, {"squared": True}), ("S3", None, {})])
def test_ordered_pairs_by_triton_equal_eager_in_float64(name, count, options, monkeypatch):
    monkeypatch.setattr(gpu, "_BLOCKS", 3)
    space, points, graph = case(name, 40)
    times = 2 * torch.randn(40, generator=generator(2))
    columns = None if count is None else torch.randperm(40, generator=generator(count))[:count]
    found = ordered("triton", torch.float32, space, points, times, graph, columns, DEVICE, **options)
    close_ordered(found, ordered("eager", torch.float64, space, points, times, graph, columns, **options))
