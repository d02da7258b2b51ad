"""Errors of qgcn itself: a file to report them with."""

import os
import platform
import sys
import tempfile
import traceback

from qgcn import __version__

__all__ = ["describe"]


def describe(error: Exception) -> str:
    """Write the traceback of an error to a file of its own, in the folder for temporary files; return a line that names it.

    The file holds the version, the platform, the arguments and the traceback, and nothing of the data.
    """
    what = f"an error of qgcn itself ({type(error).__name__}: {error})"
    lines = [
        f"qgcn {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"arguments: {sys.argv[1:]!a}",
        "",
        *traceback.format_exception(error),
    ]
    try:
        number, path = tempfile.mkstemp(prefix="qgcn-error-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(line.rstrip("\n") for line in lines) + "\n")
    except OSError as problem:
        return f"{what}; its traceback could not be written ({problem.strerror or problem})"
    return f"{what}; please report it with {path}"
