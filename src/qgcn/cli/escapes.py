"""Text of files and of users for a terminal: what would steer it is written out."""

import re

__all__ = ["escaped", "shortened"]

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and newline, marks that turn the direction of writing, and bytes that are not UTF-8."""
_LONGEST = 2000


def escaped(text: str) -> str:
    r"""Write out control characters, direction marks and lone surrogates: an escape character becomes ``\x1b``.

    Law: other text, a tab and a newline stay as they are.

    Example:
        >>> escaped("a\x1b[2Jb")
        'a\\x1b[2Jb'
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(line: str) -> str:
    """Cut the middle out of a line of more than :data:`_LONGEST` characters."""
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} [...] {line[-half:]}"
