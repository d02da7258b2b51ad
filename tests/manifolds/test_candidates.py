import pytest

from qgcn.manifolds import parse_space, spaces_of_dimension, spacetimes_of_dimension

DIMS = [2, 3, 4, 5, 10, 16]


@pytest.mark.parametrize("options", [{}, {"few": True}, {"twins": True}, {"few": True, "twins": True}])
@pytest.mark.parametrize("dim", DIMS)
def test_spaces_of_a_dimension_have_it(dim, options):
    names = spaces_of_dimension(dim, **options)
    assert {parse_space(name).dim for name in names} == {dim}
    assert len(names) == len(set(names))
    assert {parse_space(name).family for name in names} == {"flat", "hyperbolic", "spherical", "product", "indefinite"}


@pytest.mark.parametrize("dim", DIMS)
def test_every_indefinite_space_is_among_them(dim):
    names = spaces_of_dimension(dim)
    assert {f"Q{dim + 1 - t},{t}" for t in range(2, dim + 1)} | {f"E{dim}", f"H{dim}", f"S{dim}"} <= set(names)
    assert len(names) == dim + 5
    assert all(parse_space(name).family == "indefinite" for name in names if name[0] == "Q")


def test_a_few_are_some_of_each_kind():
    assert spaces_of_dimension(16, few=True) == ["E16", "H16", "S16", "H8xS8", "Q15,2", "Q13,4", "Q9,8", "Q1,16"]
    assert spaces_of_dimension(3, few=True) == ["E3", "H3", "S3", "H1xS2", "Q2,2", "Q1,3"]
    assert set(spaces_of_dimension(10, few=True)) < set(spaces_of_dimension(10))


def test_twins_are_the_same_spaces_with_other_maps():
    assert spaces_of_dimension(4, twins=True) == [*spaces_of_dimension(4), "Q4,1", "Q0,5"]
    assert [parse_space(name).family for name in ("Q4,1", "Q0,5")] == ["hyperbolic", "spherical"]


@pytest.mark.parametrize("dim", DIMS)
def test_spacetimes_of_a_dimension_have_it_and_are_ordered_by_light(dim):
    spaces = [parse_space(name) for name in spacetimes_of_dimension(dim)]
    assert {space.dim for space in spaces} == {dim}
    assert all(space.is_spacetime for space in spaces)
    assert [space.spatial is not None for space in spaces] == [True, False, False, True, True]


@pytest.mark.parametrize("names", [spaces_of_dimension, spacetimes_of_dimension])
def test_one_dimension_is_too_few(names):
    with pytest.raises(ValueError, match="dim must be at least 2, got 1"):
        names(1)
