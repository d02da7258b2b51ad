"""Splits from files: what they say is what is learned from, and what cannot be is refused with its line."""

import numpy as np
import pandas as pd
import pytest
import torch

from qgcn.data import load, read_graph, read_link_split, read_node_split, split_links
from qgcn.data.splits import PARTS

NAMES = ["ann", "bob", "cid", "dan", "eve"]
RING = [("ann", "bob"), ("bob", "cid"), ("cid", "dan"), ("dan", "eve"), ("eve", "ann")]


@pytest.fixture
def ring():
    """A ring of five names, one without a label."""
    return read_graph(RING, labels=None)


def nodes_of(write, text, name="split.csv", ids=NAMES, y=(0, 1, 0, 1, -1)):
    return read_node_split(write(text, name), np.array(ids), torch.tensor(y))


def links_of(write, data, text, name="split.csv", **options):
    form = {"protocol": "leak-free", "seed": 0} | options
    return read_link_split(write(text, name), data.edge_index, data.node_ids, **form)


def pairs(part):
    return {frozenset(pair) for pair in part.T.tolist()}


# --- nodes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "id,part\nann,train\nbob,val\ncid,test\n",
        "person,fold\ncid,test\nbob,val\nann,train\n",
        "ann,train\nbob,val\ncid,test\n",
        "ann train\n# of us\nbob val\ncid test\n",
        '"ann";"train"\n"bob";"val"\n"cid";"test"\n',
    ],
)
def test_nodes_are_in_the_part_that_is_listed_and_others_in_none(write, text):
    train, val, test = nodes_of(write, text)
    assert [mask.nonzero().flatten().tolist() for mask in (train, val, test)] == [[0], [1], [2]]
    assert train.dtype == torch.bool


def test_nodes_with_integer_names_and_from_parquet(write, tmp_path):
    masks = nodes_of(write, "node,part\n7,train\n3,val\n5,test\n", ids=[3, 5, 7], y=(0, 1, 0))
    assert [mask.tolist() for mask in masks] == [[False, False, True], [True, False, False], [False, True, False]]
    pd.DataFrame({"id": NAMES[:3], "part": ["test", "train", "val"]}).to_parquet(tmp_path / "s.parquet")
    masks = read_node_split(tmp_path / "s.parquet", np.array(NAMES), torch.tensor([0, 1, 0, 1, -1]))
    assert [int(mask.nonzero()) for mask in masks] == [1, 2, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,part\nann,train\nbobb,val\n", r"split\.csv, line 3: no node 'bobb' in the graph; did you mean 'bob'\?$"),
        ("ann,train\nbob,valid\n", r"split\.csv, line 2: part must be train, val or test, got 'valid'; did you mean 'val'\?$"),
        ("ann,x\nbob,val\n", r"split\.csv, line 1: part must be train, val or test, got 'x'$"),
        ("ann,train\nbob,\n", r"split\.csv, line 2: part must be train, val or test, got ''$"),
        ("ann,train\nann,val\n", r"split\.csv, line 2: node 'ann' is given a second time$"),
        ("ann,train\neve,val\n", r"split\.csv, line 2: node 'eve' has no label, and can be in no part$"),
        ("ann,train\nbob,test\n", r"split\.csv has no val nodes: expected some of each part, train, val, test$"),
        ("ann\nbob\n", r"split\.csv has 1 column: expected two, the id of a node and its part$"),
        ("ann,bob,val\n", r"split\.csv has 3 columns: expected two, the id of a node and its part$"),
        ("", r"split\.csv is empty$"),
    ],
)
def test_splits_of_nodes_that_cannot_be_are_refused(write, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        nodes_of(write, text)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_table_are_refused(write, tmp_path):
    with pytest.raises(ValueError, match=r"s\.pkl is a pickle, which is never read"):
        nodes_of(write, "", "s.pkl")
    with pytest.raises(ValueError, match=r"^cannot read a split from .*s\.npz: expected one of \.csv"):
        nodes_of(write, "", "s.npz")
    with pytest.raises(ValueError, match=r"^node ids are not unique: 'a' names 2 nodes$"):
        nodes_of(write, "a,train\n", ids=["a", "a", "b"], y=(0, 1, 0))


# --- links -------------------------------------------------------------------------------------------------------------


def test_edges_that_are_not_listed_are_for_training(write, ring):
    split = links_of(write, ring, "source,target,part\nbob,ann,val\ncid,dan,test\n")
    assert pairs(split.val) == {frozenset((0, 1))}
    assert pairs(split.test) == {frozenset((2, 3))}
    assert pairs(split.train) == {frozenset((1, 2)), frozenset((3, 4)), frozenset((0, 4))}
    assert pairs(split.message) == pairs(split.train)
    assert split.val_negative.shape == split.test_negative.shape == (2, 1)
    everything = [pairs(part) for part in split.parts().values()]
    assert len(frozenset().union(*everything)) == sum(map(len, everything))
    drawn = pairs(split.negatives.sample(500, torch.Generator().manual_seed(0)))
    assert drawn == {frozenset((a, b)) for a in range(5) for b in range(a)} - set().union(*everything)


@pytest.mark.parametrize("protocol", ["leak-free", "hgcn"])
def test_a_split_that_was_drawn_comes_back_from_its_file(write, protocol):
    data = load("stochastic-block")
    drawn = split_links(data.edge_index, data.num_nodes, val=0.1, test=0.2, protocol=protocol, seed=3)
    rows = [(a, b, part) for part in PARTS[1:] for a, b in drawn.parts()[part].T.tolist()]
    for lines in (rows, rows[::-1]):
        text = "".join(f"{a},{b},{part}\n" for a, b, part in lines)
        found = links_of(write, data, text, protocol=protocol, seed=99)
        assert found.protocol == protocol
        assert {part: pairs(found.parts()[part]) for part in PARTS} == {part: pairs(drawn.parts()[part]) for part in PARTS}
        assert found.negatives.num_allowed == drawn.negatives.num_allowed
    # in whatever order the lines come
    assert all(map(torch.equal, found.parts().values(), links_of(write, data, "a,b,part\n" + text).parts().values()))


def test_negatives_that_are_not_listed_are_drawn_by_the_seed(write):
    data = load("stochastic-block")
    drawn = split_links(data.edge_index, data.num_nodes, val=0.1, test=0.2)
    text = "".join(f"{a}\t{b}\t{part}\n" for part in ("val", "test") for a, b in drawn.parts()[part].T.tolist())
    first, again, other = (links_of(write, data, text, "s.tsv", seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.test_negative, again.test_negative)
    assert not torch.equal(first.test_negative, other.test_negative)
    assert first.val_negative.shape == first.val.shape
    assert first.test_negative.shape == first.test.shape
    edges = pairs(data.edge_index)
    assert not (pairs(first.val_negative) | pairs(first.test_negative)) & edges
    assert not pairs(first.val_negative) & pairs(first.test_negative)
    listed = text + "".join(f"{a}\t{b}\tval_negative\n" for a, b in drawn.val_negative[:, :3].T.tolist())
    some = links_of(write, data, listed, "s.tsv")
    assert pairs(some.val_negative) == pairs(drawn.val_negative[:, :3])
    assert some.test_negative.shape == some.test.shape
    assert not pairs(some.val_negative) & pairs(some.test_negative)


def test_hard_negatives_are_chosen_for_the_edges_of_a_file_and_never_read(write):
    data = load("stochastic-block")
    drawn = split_links(data.edge_index, data.num_nodes, protocol="hard", negatives=4, seed=2)
    text = "".join(f"{a}\t{b}\t{part}\n" for part in ("val", "test") for a, b in drawn.parts()[part].T.tolist())
    found = links_of(write, data, text, "s.tsv", protocol="hard", negatives=4, seed=2)
    for part in PARTS:
        assert pairs(found.parts()[part]) == pairs(drawn.parts()[part])
    a, b = drawn.test_negative[:, 0].tolist()
    with pytest.raises(ValueError, match=r"s\.tsv lists test_negative, but the protocol hard chooses non-edges itself: leave"):
        links_of(write, data, f"{text}{a}\t{b}\ttest_negative\n", "s.tsv", protocol="hard")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,part\nann,bob,val\ncid,dann,test\n", r"split\.csv, line 3: no node 'dann' in the graph; did you mean 'dan'\?$"),
        ("ann,bob,val\nbob,ann,test\n", r"split\.csv, line 2: 'bob' and 'ann' are listed a second time$"),
        ("ann,bob,val\nann,cid,test\n", r"line 2: 'ann' and 'cid' are not linked in the graph, but listed for test$"),
        ("ann,bob,val\nann,cid,train\n", r"line 2: 'ann' and 'cid' are not linked in the graph, but listed for train$"),
        (
            "ann,bob,val\ndan,cid,val_negative\n",
            r"line 2: 'dan' and 'cid' are linked in the graph, but listed for val_negative$",
        ),
        ("ann,bob,val\nann,ann,test\n", r"split\.csv, line 2: 'ann' and 'ann' are one node, and no pair$"),
        ("ann,bob,valid\n", r"line 1: part must be train, val, test, val_negative or test_negative, got 'valid'; did you mean"),
        ("ann,bob,val\n", r"split\.csv leaves no test edges: expected some for train, val and test$"),
        ("ann,bob\nbob,cid\n", r"split\.csv has 2 columns: expected three, source, target and part$"),
        (
            "ann,bob,val\nbob,cid,val\ncid,dan,test\ndan,eve,test\neve,ann,test\n",
            r"split\.csv leaves no train edges: expected some for train, val and test$",
        ),
        (
            "ann,bob,val\nbob,cid,test\nann,cid,val_negative\nann,dan,val_negative\nbob,dan,val_negative\nbob,eve,val_negative\n",
            r"^1 held-out edge need as many non-edges and one more for training, got 1$",
        ),
    ],
)
def test_splits_of_links_that_cannot_be_are_refused(write, ring, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        links_of(write, ring, text)
    assert "\n" not in str(caught.value)
