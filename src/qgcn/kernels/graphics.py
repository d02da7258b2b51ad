"""Whether Triton's kernels can run: on a GPU with the tools to compile them, or under Triton's interpreter, for tests."""

import importlib.util
import os
import shutil
import sysconfig
from functools import cache
from pathlib import Path

from torch import Tensor

from qgcn.kernels.backends import forced

__all__ = ["obstacle"]


def obstacle(x: Tensor) -> str | None:
    """Say why Triton's kernels cannot take a tensor; ``None`` if they can."""
    if not _installed():
        return "triton is not installed"
    if _interpreted():
        return None
    return _missing_tools() if x.is_cuda else f"points are on {x.device}, expected a GPU"


@cache
def _installed() -> bool:
    return importlib.util.find_spec("triton") is not None


def _interpreted() -> bool:
    """Tell whether Triton's interpreter, which runs kernels on the CPU for tests, was asked for by name."""
    if forced() != "triton":
        return False
    import triton

    return bool(triton.knobs.runtime.interpret)


@cache
def _missing_tools() -> str | None:
    """Say which of the tools that Triton compiles its launchers with are missing."""
    named = os.environ.get("CC")
    names = (named,) if named else ("gcc", "clang")
    if not any(map(shutil.which, names)):
        return f"triton needs a C compiler: looked for {', '.join(names)}{' as named by $CC' if named else ''}"
    folders = [sysconfig.get_path("include", scheme) for scheme in (sysconfig.get_default_scheme(), "posix_prefix")]
    if not any((Path(folder) / "Python.h").exists() for folder in folders):
        return f"triton needs the headers of Python: there is no {folders[-1]}/Python.h"
    return None
