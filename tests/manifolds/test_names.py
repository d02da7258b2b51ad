import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgcn import parse_space
from qgcn.manifolds import Euclidean, register_space
from qgcn.manifolds import names as module

factors = st.one_of(
    st.builds("{}{}".format, st.sampled_from("EHSK"), st.integers(1, 300)),
    st.builds("Q{},{}".format, st.integers(0, 300), st.integers(1, 300)),
)


@given(st.lists(factors, min_size=1, max_size=4).map("x".join))
def test_names_are_read_and_written_alike(name):
    assert str(parse_space(name)) == name


@pytest.mark.parametrize(
    ("name", "dim", "coordinates"),
    [("E10", 10, 10), ("H10", 10, 11), ("S10", 10, 11), ("Q7,3", 9, 10), ("H5xS5", 10, 12), ("Q4,2xE4", 9, 10)],
)
def test_sizes_follow_from_the_name(name, dim, coordinates):
    space = parse_space(name)
    assert (space.dim, space.ambient_dim) == (dim, coordinates)


def test_case_and_white_space_do_not_matter():
    assert str(parse_space(" h5 x\ts5 ")) == "H5xS5"
    assert str(parse_space("q7, 3")) == "Q7,3"


@pytest.mark.parametrize(
    "name",
    ["", "x", "Q7", "Q7,", "Q-1,3", "q", "E10xx", "H5*S5", "Q1,1xQ", "E1.5", "H\u0663", "\u017f5", "Q7;3", "E9999999", "10"],
)
def test_unknown_names_are_refused_with_what_was_given_and_what_is_known(name):
    with pytest.raises(ValueError, match=r"unknown space .*: expected E10, H10, S10, K10, Q7,3"):
        parse_space(name)


@pytest.mark.parametrize("name", ["Q0,0", "Q3,0", "E0", "H0", "S0", "H5xE0"])
def test_impossible_spaces_are_refused(name):
    with pytest.raises(ValueError, match=r"no space .*must be at least 1, got 0"):
        parse_space(name)


def test_something_that_is_no_name_is_refused():
    with pytest.raises(TypeError, match="named by a string, got int"):
        parse_space(7)


class Grid(Euclidean):
    kind = "Grid"

    def __init__(self, rows, columns):
        super().__init__(rows * columns)
        self.rows, self.columns = rows, columns

    def __str__(self):
        return f"Grid{self.rows},{self.columns}"


@pytest.fixture
def forms(monkeypatch):
    monkeypatch.setattr(module, "_FORMS", dict(module._FORMS))


def build_grid(rows, columns, **_):
    return Grid(rows, columns)


@pytest.mark.usefixtures("forms")
def test_a_registered_space_is_read_alone_and_in_products():
    register_space("Grid", build_grid, numbers=2)
    assert str(parse_space("grid2,3")) == "Grid2,3"
    assert str(parse_space("Grid2,3 x H2")) == "Grid2,3xH2"
    with pytest.raises(
        ValueError, match=r"unknown space 'Grid2': expected E10, .*Q7,3 \(space,time\), .*dS10, Grid10,10 or a product"
    ):
        parse_space("Grid2")
    register_space("GRID", build_grid, numbers=2)  # a notebook's cell that is run again


@pytest.mark.parametrize("kind", ["", "X", "Box", "T4", "\u017f"])
@pytest.mark.usefixtures("forms")
def test_letters_that_could_be_mistaken_are_refused(kind):
    with pytest.raises(ValueError, match="letters other than x"):
        register_space(kind, build_grid)


@pytest.mark.usefixtures("forms")
def test_a_name_that_is_taken_is_refused():
    with pytest.raises(ValueError, match="spaces q are known already, such as Q7,3"):
        register_space("q", build_grid, numbers=2)


@pytest.mark.parametrize(
    ("name", "betas"),
    [("Q7,1", [-1.0]), ("Q7,3", [-16.0]), ("Q0,4", [-16.0]), ("H4", [-1.0]), ("S4", [-16.0]), ("H2xS3xQ1,2", [-1, -16, -16])],
)
def test_without_a_beta_each_factor_has_the_one_that_networks_start_with(name, betas):
    space = parse_space(name, beta=None, learnable=True)
    found = [float(part.beta.detach()) for part in space.parts if hasattr(part, "beta")]
    assert found == pytest.approx(betas)
    assert all(part.learnable for part in space.parts if hasattr(part, "beta"))
