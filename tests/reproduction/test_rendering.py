import pytest

from qgcn.reproduction.rendering import fill, markdown, names_in, shown

PAGE = "text\n<!-- table: one -->\nold\n<!-- end -->\nmore\n<!-- table: two -->\n<!-- end -->\n"


def test_a_table_has_as_many_columns_in_every_line():
    lines = markdown(["a", "b", "c"], [["1", "2", "3"]], left=2).splitlines()
    assert lines == ["| a | b | c |", "| --- | --- | ---: |", "| 1 | 2 | 3 |"]


def test_fewer_seeds_than_wanted_are_told():
    assert shown([], 10) == "—"
    assert shown([1.0], 10) == "1.00 (1)"
    assert shown([1.0, 3.0], 2, 1) == "2.0 ± 1.4"


def test_all_places_of_a_page_are_filled_and_nothing_else_changes():
    filled = fill(PAGE, {"one": lambda: "new", "two": lambda: "| x |\n| --- |"})
    assert filled == PAGE.replace("old\n", "new\n").replace("two -->\n", "two -->\n| x |\n| --- |\n")
    assert fill(filled, {"one": lambda: "new", "two": lambda: "| x |\n| --- |"}) == filled
    assert names_in(filled) == ["one", "two"]


@pytest.mark.parametrize("page", ["<!-- table: one -->\n", "<!-- end -->\n", "<!-- table: a b -->\n<!-- end -->"])
def test_a_place_without_an_end_is_refused(page):
    with pytest.raises(ValueError, match="tables are begun"):
        names_in(page)


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="no table 'one'"):
        fill(PAGE, {"two": str})
