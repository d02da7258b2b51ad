"""Names numbered: a table of hashes in NumPy, so that only distinct names are kept, and none is a Python object."""

from typing import Any

import numpy as np

from qgcn.data.assemble import Array
from qgcn.data.pairs import Ints

__all__ = ["Vocabulary"]

_WORD = 8  # bytes of a name that are hashed as one number
_FEWEST = 1 << 12

Words = np.ndarray[Any, np.dtype[np.uint64]]


class Vocabulary:
    """Distinct names, numbered in the order of the calls that first met them; within a call in any order.

    Names are UTF-8 fields without zero bytes. Two names of one hash are told apart, and hashes differ from object to object, so
    that no file can be made to collide: nothing depends on them but the time it takes.

    Example:
        >>> names = Vocabulary()
        >>> numbers = names.add(np.array([b"bob", b"ann", b"bob"]))
        >>> found, place = names.ordered()
        >>> found[place[numbers]].tolist()
        ['bob', 'ann', 'bob']
    """

    def __init__(self) -> None:
        self._count = 0
        self._names = np.zeros((1, _FEWEST), dtype=np.uint64)  # word by word, by number
        self._hashes = np.zeros(2 * _FEWEST, dtype=np.uint64)  # by place in the table, 0 where there is none
        self._numbers = np.zeros(2 * _FEWEST, dtype=np.int32)  # likewise
        self._dice = np.random.default_rng()
        self._factors: list[np.uint64] = []

    def __len__(self) -> int:
        return self._count

    def add(self, fields: Array) -> Ints:
        """Return the number of each of some names, int64; names not met before are added.

        Args:
            fields: Names, NumPy bytes, shape ``(R,)``.
        """
        words = _words(fields)
        width = max(len(words), len(self._names))
        self._names, words = _padded(self._names, width), _padded(words, width)
        self._reserve(words.shape[1])
        while (numbers := self._find(words)) is None:  # two names of one hash
            self._factors = []
            self._fill(len(self._hashes))
        return numbers.astype(np.int64)

    def ordered(self) -> tuple[Array, Ints]:
        """Return the names in order, NumPy strings of shape ``(N,)``, and the place of each by its number.

        Memory is given back: nothing can be added after.
        """
        self._hashes, self._numbers = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int32)
        names = self._names[:, : self._count]
        order = np.lexsort(names[::-1])
        place = np.empty(self._count, dtype=np.int64)
        place[order] = np.arange(self._count)
        fields = names[:, order].T.astype(">u8", order="C").view(f"S{_WORD * len(names)}").ravel()
        width = int(np.char.str_len(fields).max(initial=1))
        if (fields.view(np.uint8) & 0x80).any():
            return np.char.decode(fields, "utf-8"), place
        return fields.astype(f"U{width}"), place

    def _hashed(self, words: Words) -> Words:
        """Return a hash of each name that its width does not change, not zero; its first bits are evenly spread."""
        found = np.zeros(words.shape[1], dtype=np.uint64)
        for k, word in enumerate(words):
            if k == len(self._factors):
                self._factors.append(np.uint64(int(self._dice.integers(1 << 63)) * 2 + 1))
            found += word * self._factors[k]
        return np.maximum(found, np.uint64(1))

    def _find(self, words: Words) -> Array | None:
        """Return the number of each name, a new one for a new name; nothing if another name has its hash."""
        hashes = self._hashed(words)
        mask = len(self._hashes) - 1
        place = _place(hashes, len(self._hashes))
        found = self._hashes[place]
        left = np.flatnonzero(found != hashes)
        while len(left):  # look where the hash points, and go on where another one stands
            at, wanted = place[left], hashes[left]
            vacant = self._hashes[at] == 0
            if vacant.any():
                self._settle(at[vacant], wanted[vacant], words, left[vacant])
            other = self._hashes[at] != wanted
            left = left[other]
            place[left] = (at[other] + 1) & mask
        numbers = self._numbers[place]
        same = all(np.array_equal(name[numbers], word) for name, word in zip(self._names, words, strict=True))
        return numbers if same else None

    def _settle(self, at: Ints, hashes: Words, words: Words, which: Ints) -> None:
        """Give each vacant place to one of the names that look there."""
        self._numbers[at] = np.arange(len(at))  # the last one gets it
        chosen = np.flatnonzero(self._numbers[at] == np.arange(len(at)))
        end = self._count + len(chosen)
        self._names[:, self._count : end] = words[:, which[chosen]]
        self._hashes[at[chosen]], self._numbers[at[chosen]] = hashes[chosen], np.arange(self._count, end)
        self._count = end

    def _reserve(self, more: int) -> None:
        """Make room for more names: at most half of the table is taken."""
        needed = self._count + more
        if needed > self._names.shape[1]:
            longer = np.zeros((len(self._names), needed + self._count // 2), dtype=np.uint64)
            longer[:, : self._count] = self._names[:, : self._count]
            self._names = longer
        if 2 * needed > len(self._hashes):
            self._fill(1 << (2 * needed - 1).bit_length())

    def _fill(self, size: int) -> None:
        """Make a table of so many places of the names there are."""
        self._hashes, self._numbers = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.int32)
        hashes = self._hashed(self._names[:, : self._count])
        place = _place(hashes, size)
        left = np.arange(self._count)
        while len(left):
            free = self._hashes[place[left]] == 0
            self._numbers[place[left[free]]] = left[free]
            moving = self._numbers[place[left]] != left
            settled = left[~moving]
            self._hashes[place[settled]] = hashes[settled]
            left = left[moving]
            place[left] = (place[left] + 1) & (size - 1)


def _place(hashes: Words, size: int) -> Ints:
    """Return where in a table of ``size`` places, a power of two, hashes point: the first bits of each."""
    return (hashes >> np.uint64(65 - size.bit_length())).astype(np.int64)


def _words(fields: Array) -> Words:
    """Return names as numbers of eight bytes that are ordered as the names are, shape ``(W, R)``."""
    width = -(-max(1, fields.dtype.itemsize) // _WORD)
    padded = np.ascontiguousarray(fields.astype(f"S{_WORD * width}"))
    return padded.view(">u8").reshape(len(fields), width).T.astype(np.uint64, order="C")


def _padded(words: Words, width: int) -> Words:
    if len(words) == width:
        return words
    return np.concatenate((words, np.zeros((width - len(words), words.shape[1]), dtype=np.uint64)))
