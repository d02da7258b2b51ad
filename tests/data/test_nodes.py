"""The nodes of a graph, as files refer to them."""

import numpy as np
import pytest

from qgcn.data.nodes import Nodes, quoted
from qgcn.data.tables import read_table


def test_a_stranger_is_told_with_the_nearest_name():
    nodes = Nodes(np.array(["london", "paris", "rome"]), "all")
    assert nodes.stranger(np.str_("pariss")) == "no node 'pariss' in the graph; did you mean 'paris'?"
    assert nodes.stranger("oslo") == "no node 'oslo' in the graph"
    assert Nodes(np.array([4, 7]), "all").stranger(np.int64(9)) == "no node 9 in the graph, whose nodes are 4 to 7"


def test_names_in_a_table_are_found(write):
    table = read_table(write("b,a\na,c\n"))
    nodes = Nodes(np.array(["a", "b", "c"]), "all")
    assert nodes.places_of(table).tolist() == [1, 0]
    assert nodes.places_of(table, 1).tolist() == [0, 2]
    assert nodes.unique_ids_of(table).tolist() == ["b", "a"]
    with pytest.raises(ValueError, match=r"graph\.csv, line 2: no node 'c' in the graph$"):
        Nodes(np.array(["a", "b"]), "all").places_of(table, 1)
    with pytest.raises(ValueError, match=r"graph\.csv, line 2: column 1 is empty$"):
        nodes.ids_of(read_table(write("a,b\n,c\n")))


def test_names_are_quoted_and_numbers_are_not():
    assert [quoted(value) for value in ("a", np.str_("b"), 3, np.int64(4))] == ["'a'", "'b'", "3", "4"]


@pytest.mark.parametrize(("ids", "odd"), [([0, 2, 5], 5), ([0, 3], 3), ([-2, 1], -2), ([-1, 7], -1)])
def test_a_node_without_a_row_is_named(ids, odd):
    with pytest.raises(ValueError, match=f"^features has 3 rows, for nodes 0 to 2, but the graph has a node {odd}$"):
        Nodes(np.array(ids), "index").with_rows(3, "features")


@pytest.mark.parametrize(
    ("ids", "content", "header"),
    [
        ([0, 1], "node,7\n0,3\n1,4\n", True),  # an id that cannot be one
        ([0, 1], "0,red\n1,blue\n", False),
        (["a", "b"], "id,red\na,blue\n", True),  # a word that is no node
        (["id", "b"], "id,red\nb,blue\n", False),
        (["b", "id"], "id,red\nb,blue\n", False),
    ],
)
def test_a_first_row_is_a_header_if_its_id_is_none(write, ids, content, header):
    table = Nodes(np.array(ids), "all").skip_header(read_table(write(content)), numeric=False)
    assert (table.head is not None) == header
    assert len(table) == content.count("\n") - header


def test_nodes_that_a_table_names_beside_those_of_edges_are_added(write):
    table = read_table(write("a\nc\n"))
    seen = Nodes(np.array(["a", "b"]), "seen")
    assert seen.with_ids(np.array(["b", "a"]), table) is seen
    assert seen.with_ids(np.array(["a", "c"]), table).ids.tolist() == ["a", "b", "c"]
    index = Nodes(np.arange(3), "index")
    assert index.with_ids(np.array([0, 2]), table) is index
    assert index.with_ids(np.array([0, 4]), table).ids.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"graph\.csv, line 2: no node 'c' in the graph"):
        Nodes(np.array(["a", "b"]), "all").with_ids(np.array(["a", "c"]), table)
