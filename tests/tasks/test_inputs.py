"""Layouts of features and graphs, each made once."""

import torch

from qgcn.nn import SparseMatrix
from qgcn.tasks.inputs import Inputs


def test_layouts_are_made_once_and_as_asked_for():
    edges = torch.tensor([[0, 1], [1, 0]])
    inputs = Inputs(edges, None, torch.eye(8)[:, :6], 8)
    cpu = torch.device("cpu")
    sparse = inputs.features(True, cpu, torch.float64)
    assert isinstance(sparse, SparseMatrix)
    assert sparse.dtype == torch.float64
    assert inputs.features(True, cpu, torch.float64) is sparse
    assert torch.equal(inputs.features(False, cpu, torch.float32), torch.eye(8)[:, :6])
    plain, looped = (inputs.graph(loops, "sum", cpu, torch.float32) for loops in (False, True))
    assert plain.matrix.to_dense().trace() == 0
    assert looped.matrix.to_dense().trace() == 8
    assert inputs.graph(True, "sum", cpu, torch.float32) is looped
