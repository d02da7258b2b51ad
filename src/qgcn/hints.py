"""Hints at what a user may have meant."""

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: object, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``"; did you mean 'cora'?"`` for a name close to a known one, else nothing.

    Args:
        name: What was given.
        known: Names that could have been meant.
        cutoff: Similarity from which a name counts as close, between 0 and 1 (default: 0.6).
    """
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]!r}?" if close else ""
