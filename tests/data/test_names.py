"""Nodes by name."""

import numpy as np
import pytest

from qgcn.data import NodeNames


def test_names_are_located_whatever_their_kind():
    words, numbers = NodeNames(np.array(["bob", "ann", "cyd"])), NodeNames(np.array([30, 10, 20]))
    assert words.locate(["ann", "bob"]).tolist() == [1, 0]
    assert numbers.locate([10, 30]).tolist() == [1, 0]
    assert numbers.locate(["20", "30"]).tolist() == [2, 0]  # as a command line has them
    assert numbers.find(np.array([["10", "x"], ["30", "11"]])).tolist() == [[1, -1], [0, -1]]
    assert words.find([]).tolist() == []


def test_a_stranger_is_named_with_the_nearest_known_name():
    with pytest.raises(ValueError, match=r"no node 'anm' in the graph; did you mean 'ann'\?"):
        NodeNames(np.array(["bob", "ann"])).locate(["bob", "anm"])
