"""Tables of answers."""

import numpy as np
import pytest

from qgcn.answer import Answer


def table(rows=3):
    return Answer({"node": np.array([f"n{k}" for k in range(rows)]), "value": np.arange(rows, dtype=np.float32) / 10})


def test_columns_and_rows_are_reached_by_name_and_in_order():
    found = table()
    assert found["node"].tolist() == ["n0", "n1", "n2"]
    assert list(found) == [("n0", 0.0), ("n1", 0.1), ("n2", 0.2)]  # float32 with the fewest digits
    assert list(found.rows(1, 2)) == [("n1", 0.1)]
    assert len(Answer.joined([found, found.rows(0, 1)])) == 4


def test_columns_must_have_one_length_and_a_known_name():
    with pytest.raises(ValueError, match=r"columns must have one length, got \{'a': 1, 'b': 2\}"):
        Answer({"a": np.zeros(1), "b": np.zeros(2)})
    with pytest.raises(KeyError, match="no column 'score'"):
        table()["score"]


def test_the_representation_shows_the_first_rows():
    assert repr(table(2)) == "node  value\nn0    0\nn1    0.1"
    assert repr(table(12)).endswith("... 2 more rows")


def test_to_frame_has_the_columns():
    frame = table().to_frame()
    assert list(frame.columns) == ["node", "value"]
    assert frame["value"].dtype == np.float32
