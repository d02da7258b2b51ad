import pytest

from qgcn.manifolds import candidate_spaces, parse_space, spaces_of_dimension

DIMS = [2, 3, 4, 5, 10, 16]


@pytest.mark.parametrize("dim", DIMS)
def test_candidates_are_those_of_the_paper(dim):
    spaces = candidate_spaces(dim)
    assert {parse_space(name).ambient_dim for name in spaces if name[0] == "Q"} == {dim}
    assert {parse_space(name).dim for name in spaces if name[0] != "Q"} == {dim}
    assert {f"Q{dim - t},{t}" for t in range(1, dim + 1)} | {f"E{dim}", f"H{dim}", f"S{dim}"} <= set(spaces)
    assert len(spaces) == len(set(spaces)) == dim + 6


def test_a_few_are_some_of_each_kind():
    assert candidate_spaces(16, few=True) == ["Q15,1", "Q14,2", "Q12,4", "Q8,8", "E16", "H16", "S16", "H8xS8"]
    assert candidate_spaces(3, few=True) == ["Q2,1", "Q1,2", "E3", "H3", "S3", "H1xS2"]
    assert set(candidate_spaces(10, few=True)) < set(candidate_spaces(10))


@pytest.mark.parametrize("dim", DIMS)
def test_spaces_of_a_dimension_have_it(dim):
    spaces = [parse_space(name) for name in spaces_of_dimension(dim)]
    assert {space.dim for space in spaces} == {dim}
    assert all(space.family == "indefinite" for space in spaces if space.kind == "Q")
    assert len(spaces) == dim + 5


@pytest.mark.parametrize("spaces", [candidate_spaces, spaces_of_dimension])
def test_one_dimension_is_too_few(spaces):
    with pytest.raises(ValueError, match="dim must be at least 2, got 1"):
        spaces(1)
