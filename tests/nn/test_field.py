"""What some nodes see of a graph."""

import pytest
import torch

from cases import generator
from qgcn.nn import adjacency, to_csr
from qgcn.nn.field import Field
from qgcn.nn.sparse import revalued

PATH = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
PATH = torch.cat((PATH, PATH.flip(0)), dim=1)
X = torch.randn(8, 5, generator=generator(0)) * (torch.rand(8, 5, generator=generator(1)) < 0.5)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_field_holds_the_nodes_within_reach_and_their_features(sparse):
    field = Field.of(torch.tensor([5, 1]), to_csr(X) if sparse else X, adjacency(PATH, 8), 1)
    assert field.hops[0].sources.rows.tolist() == [0, 1, 2, 4, 5, 6]
    assert field.nodes.rows.tolist() == [5, 1]
    assert field.hops[0].sources.rows.dtype == field.part.rows.dtype == torch.int64
    assert field.nodes.total == field.hops[0].sources.total == 8
    here = field.x.to_dense() if sparse else field.x
    assert torch.equal(here, X[[0, 1, 2, 4, 5, 6]])
    whole = to_csr(X).values() if sparse else X
    assert field.part.total == len(whole)
    assert torch.equal(whole[field.part.rows], field.x.values() if sparse else field.x)


@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_aggregating_along_the_hops_is_aggregating_along_the_graph(hops):
    matrix = adjacency(PATH, 8)
    field = Field.of(torch.tensor([7, 2]), X, matrix, hops)
    here, whole = field.x, X
    for hop in field.hops:
        here, whole = hop.matrix @ here, matrix @ whole
    torch.testing.assert_close(here, whole[[7, 2]])


def test_a_field_follows_an_adjacency_with_other_values():
    matrix = adjacency(PATH, 8)
    other = revalued(matrix, torch.rand(matrix.values().shape, generator=generator(2)))
    nodes = torch.tensor([3, 4])
    found, expected = Field.of(nodes, X, matrix, 2).along(other), Field.of(nodes, X, other, 2)
    for here, there in zip(found.hops, expected.hops, strict=True):
        assert torch.equal(here.matrix.to_dense(), there.matrix.to_dense())
