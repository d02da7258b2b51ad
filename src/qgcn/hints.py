"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]

_LONGEST = 200
"""Characters of a name that is compared with others, at most: the time grows with their square."""


def nearest(name: object, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``"; did you mean 'cora'?"`` for a name close to a known one, and an empty string otherwise.

    Args:
        name: The name that was given.
        known: The known names.
        cutoff: Similarity from which a name counts as close, between 0 and 1 (default: 0.6).
    """
    if len(str(name)) > _LONGEST:
        return ""
    close = difflib.get_close_matches(str(name), list(known), n=1, cutoff=cutoff)
    return f"; did you mean {close[0]!r}?" if close else ""
