"""Pairs of nodes: read, known, and the best of all."""

import numpy as np
import pytest
import torch

from qgcn.data import NodeNames
from qgcn.training.pairs import KnownPairs, asked_nodes, best_of_rows, best_pairs, check_count, read_pairs

NAMES = NodeNames(np.array(["ann", "bob", "cyd", "dan"]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("ann", "eve")], "no node 'eve' in the graph"),
        ([("ann",)], r"pairs must name two nodes each, got \('ann',\)"),
        (np.array([["ann", "bob", "cyd"]]), r"shape \(P, 2\), got shape \(1, 3\)"),
        (torch.tensor([[0, 4], [1, 1]]), r"positions must lie in \[0, 4\)"),
        (torch.zeros(2, 3), "must hold positions"),
    ],
)
def test_what_is_no_pair_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(given, NAMES)


def test_a_table_of_one_column_or_with_a_stranger_names_its_place(tmp_path):
    (tmp_path / "one.csv").write_text("ann\nbob\n")
    with pytest.raises(ValueError, match=r"one\.csv has 1 column: expected two"):
        read_pairs(tmp_path / "one.csv", NAMES)
    (tmp_path / "two.csv").write_text("ann,bob\ncyd,dam\n")
    with pytest.raises(ValueError, match=r"two\.csv, line 2: no node 'dam' in the graph; did you mean 'dan'\?"):
        read_pairs(tmp_path / "two.csv", NAMES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,whom\nann,eve\n", "line 2: no node 'eve'"),
        ("who,whom\nann,bob\neve,cyd\n", "line 3: no node 'eve'"),
        ("who,ann\nann,bob\n", "line 1: no node 'who'"),
        ("who,whom\neve,fay\n", "line 1: no node 'who'"),
        ("who,whom\n", "line 1: no node 'who'"),
        ("source,target\neve,fay\nann,bob\n", "line 2: no node 'eve'"),
    ],
)
def test_a_header_of_other_words_is_not_what_is_unknown(tmp_path, text, message):
    (tmp_path / "pairs.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_pairs(tmp_path / "pairs.csv", NAMES)
    (tmp_path / "good.csv").write_text("who,whom\nann,bob\ncyd,ann\n")
    assert read_pairs(tmp_path / "good.csv", NAMES).tolist() == [[0, 2], [1, 0]]


def test_nodes_are_asked_for_once_in_order():
    assert asked_nodes(["dan", "ann", "dan"], NAMES).tolist() == [3, 0]
    assert asked_nodes("cyd", NAMES).tolist() == [2]
    assert asked_nodes(None, NAMES).tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="at least one node"):
        asked_nodes([], NAMES)
    with pytest.raises(ValueError, match="positive integer, got True"):
        check_count(True)


def test_known_pairs_hold_both_directions():
    known = KnownPairs.of(torch.tensor([[0, 2], [1, 3]]), 4)
    assert known.holds(np.array([1, 0, 2]), np.array([0, 2, 3])).tolist() == [True, False, True]
    which, other = known.of_nodes(np.array([3, 0]))
    assert (which.tolist(), other.tolist()) == ([0, 1], [2, 1])


@pytest.mark.parametrize("entries", [10**6, 50 * 4])
def test_the_best_are_those_of_a_sort(entries, monkeypatch):
    monkeypatch.setattr("qgcn.training.pairs.BLOCK_ENTRIES", entries)
    g = torch.Generator().manual_seed(0)
    scores = torch.rand(50, 50, generator=g)
    scores = (scores + scores.T) / 2
    known = KnownPairs.of(torch.randint(50, (2, 40), generator=g), 50)
    masked = scores.clone()
    masked.fill_diagonal_(-torch.inf)
    masked[tuple(torch.from_numpy(np.stack((known.keys // 50, known.keys % 50))))] = -torch.inf
    asked = np.array([40, 3, 4, 5, 20])
    parts = list(best_of_rows(lambda nodes: scores[nodes].clone(), asked, 50, 6, known))
    which, others = (np.concatenate(each) for each in zip(*parts, strict=True))
    assert others.reshape(5, 6).tolist() == masked[torch.from_numpy(asked)].topk(6).indices.tolist()
    assert which.tolist() == np.repeat(np.arange(5), 6).tolist()
    pairs = best_pairs(lambda nodes: scores[nodes].clone(), 50, 9, known)
    best = masked.triu(1).masked_fill(torch.ones(50, 50).tril().bool(), -torch.inf).flatten().topk(9).values
    assert sorted(scores[pairs[0], pairs[1]].tolist(), reverse=True) == best.tolist()


def test_few_partners_are_returned_where_there_are_no_more():
    everyone = KnownPairs.of(torch.tensor([[0, 0], [1, 2]]), 3)
    ((which, others),) = best_of_rows(lambda nodes: torch.zeros(len(nodes), 3), np.arange(3), 3, 5, everyone)
    assert (which.tolist(), others.tolist()) == ([1, 2], [2, 1])
    assert best_pairs(lambda nodes: torch.zeros(len(nodes), 3), 3, 5, everyone).T.tolist() == [[1, 2]]
