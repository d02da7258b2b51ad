import pytest

from qgcn.models import lives_in
from qgcn.reproduction import paper

TABLES = {
    "PRINTED_MAP": (paper.RECONSTRUCTING, paper.RECONSTRUCTED),
    "PRINTED_LINKS": (paper.NETWORKS, paper.CLASSES),
    "PRINTED_CLASSES": (paper.NETWORKS, paper.CLASSES),
    "PRINTED_PERCEPTRONS": (paper.PERCEPTRONS, paper.CLASSES[1:]),
    "PRINTED_SECONDS": (paper.TIMED, ("web-edu", "facebook")),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_printed_table_has_a_figure_for_every_row_and_graph(name):
    methods, graphs = TABLES[name]
    figures = getattr(paper, name)
    assert tuple(figures) == graphs
    assert {len(column) for column in figures.values()} == {len(methods)}


def test_every_method_lives_in_its_space():
    for method in (*paper.RECONSTRUCTING, *paper.NETWORKS, *paper.PERCEPTRONS, *paper.TIMED, *paper.SIGNATURES):
        assert lives_in(method.model, method.space)


def test_the_tables_have_the_rows_of_the_paper():
    assert [len(rows) for rows in (paper.RECONSTRUCTING, paper.NETWORKS, paper.PERCEPTRONS, paper.TIMED)] == [11, 14, 8, 8]
    assert [method.space for method in paper.SIGNATURES][::9] == ["Q9,1", "Q0,10"]
    assert sum(method.is_indefinite for method in paper.NETWORKS) == 6


def test_printed_scores_are_percentages():
    for name in ("PRINTED_MAP", "PRINTED_LINKS", "PRINTED_CLASSES", "PRINTED_PERCEPTRONS"):
        assert all(40 < score <= 100 for column in getattr(paper, name).values() for score in column)
