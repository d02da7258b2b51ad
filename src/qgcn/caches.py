"""The user's cache folder."""

import os
from pathlib import Path

__all__ = ["user_cache"]


def user_cache() -> Path:
    """Return ``$XDG_CACHE_HOME/qgcn``, or ``~/.cache/qgcn``; a relative variable is ignored, as its specification asks.

    Raises:
        RuntimeError: The user has no home folder.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "qgcn"
