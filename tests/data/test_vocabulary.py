"""Names numbered: the same as by a dictionary, whatever their length, their order and their hashes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgcn.data import vocabulary
from qgcn.data.vocabulary import Vocabulary

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


def encoded(names):
    return np.array([name.encode() for name in names]) if names else np.empty(0, dtype="S1")


def check(batches, made=None):
    """Add batches, and compare with a dictionary."""
    made = made or Vocabulary()
    numbers = np.concatenate([made.add(encoded(batch)) for batch in batches])
    expected = sorted({name for batch in batches for name in batch}, key=str.encode)
    assert len(made) == len(expected)
    names, place = made.ordered()
    assert names.tolist() == expected
    assert names.dtype == np.array(expected or [""]).dtype
    assert names[place[numbers]].tolist() == [name for batch in batches for name in batch]


@given(st.lists(st.lists(words, max_size=30), min_size=1, max_size=5))
def test_names_are_numbered_as_by_a_dictionary(batches):
    check(batches)


def test_numbers_are_given_in_the_order_of_batches_and_kept():
    made = Vocabulary()
    first = made.add(np.array([b"a", b"b", b"a"]))
    assert first[0] == first[2] != first[1]
    assert made.add(np.array([b"b", b"a longer name than eight bytes", b"a"])).tolist() == [first[1], 2, first[0]]


def test_many_names_need_larger_tables():
    dice = np.random.default_rng(0)
    check([[f"node{k}" for k in dice.integers(0, 60_000, 20_000)] for _ in range(4)])


@pytest.mark.parametrize("width", [4, 30])
def test_names_of_one_hash_are_told_apart(monkeypatch, width):
    calls = []
    hashed = Vocabulary._hashed

    def poor(self, words):
        calls.append(len(self._factors))
        found = hashed(self, words)
        return found | np.uint64(0xFFFFFFFFFFFFFFFE) if len(calls) < 4 else found

    monkeypatch.setattr(Vocabulary, "_hashed", poor)
    names = [f"{k:0{width}d}" for k in range(100)]
    check([names[:50], names])
    assert len(calls) > 4


def test_names_that_look_at_one_place_go_on(monkeypatch):
    monkeypatch.setattr(vocabulary, "_place", lambda hashes, size: np.full(len(hashes), size - 2))
    check([[f"{k}" for k in range(50)], [f"{k}" for k in range(100)]])


def test_hashes_differ_from_object_to_object():
    words = np.arange(1, 9, dtype=np.uint64)[None]
    assert not np.array_equal(Vocabulary()._hashed(words), Vocabulary()._hashed(words))
