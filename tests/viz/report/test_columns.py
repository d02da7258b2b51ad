import numpy as np
import pytest

from qgcn.viz.report.columns import read_columns

NAMES = np.array(["a", "b", "c"])


def test_columns_are_numbers_or_categories(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("node,age,team\nc,3.5,red\na,,blue\n")
    age, team = read_columns(path, NAMES)
    assert (age.name, team.name) == ("age", "team")
    np.testing.assert_array_equal(age.values, [np.nan, np.nan, 3.5])
    assert age.labels == ()
    assert team.labels == ("blue", "red")
    np.testing.assert_array_equal(team.values, [0, -1, 1])
    assert team.select(np.array([True, False, True])).values.tolist() == [0, 1]


def test_ids_may_be_integers(tmp_path):
    path = tmp_path / "nodes.tsv"
    path.write_text("id\tx\n20\t1\n10\t2\n")
    (x,) = read_columns(path, np.array([10, 20]))
    assert x.values.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node\na\n", "has 1 column"),
        ("node,age\n", "has a header only"),
        ("node,age\nz,1\n", "line 2: no node 'z' in the graph"),
        ("node,age\na,1\na,2\n", "given a second time"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, expected):
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=expected):
        read_columns(path, NAMES)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read_columns(tmp_path / "none.csv", NAMES)
