"""Which path functions of all pairs take.

Three compute the same: Triton on a GPU, C++ on the CPU (both for float32 and for spaces made of flat factors and quadrics), and
plain PyTorch, a run of rows at a time, which needs no compiler and is what the others are tested against.
"""

import importlib.util
import os
import shutil
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from qgcn.kernels import cpu
from qgcn.kernels.metric import Factor, Metric

__all__ = ["Backend", "backend", "choose", "forced", "module_of", "use_backend"]

Backend = Literal["triton", "native", "eager"]
"""``triton``: a GPU's. ``native``: compiled C++ on the CPU. ``eager``: plain PyTorch."""

_forced: ContextVar[Backend | None] = ContextVar("forced", default=None)
_last: ContextVar[Backend | None] = ContextVar("last", default=None)


def backend() -> Backend | None:
    """Return which path the last function of all pairs took in this thread; ``None`` if there was none yet."""
    return _last.get()


@contextmanager
def use_backend(name: Backend) -> Iterator[None]:
    """Take this path and no other.

    Raises:
        ValueError: There is no such path; or, when a function is called, it cannot take it.
    """
    if name not in get_args(Backend):
        raise ValueError(f"backend must be one of {', '.join(get_args(Backend))}, got {name!r}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def forced() -> Backend | None:
    """Return which path was asked for; ``None`` if none was."""
    return _forced.get()


def choose(x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> Backend:
    """Return the path for points of this type on this device in this space, and remember it."""
    wanted = forced()
    if wanted is not None and (why := _obstacle(wanted, x, manifold, factors)):
        raise ValueError(f"backend {wanted} cannot be used: {why}")
    names: tuple[Backend, ...] = get_args(Backend)
    found = next(name for name in names if _obstacle(name, x, manifold, factors) is None) if wanted is None else wanted
    _last.set(found)
    return found


def _obstacle(name: Backend, x: Tensor, manifold: Metric, factors: tuple[Factor, ...] | None) -> str | None:
    if name == "eager":
        return None
    if x.dtype != torch.float32:
        return f"points are {x.dtype}, expected torch.float32"
    if factors is None:
        return f"{manifold} has a factor that is neither flat nor a quadric"
    if x.shape[1] != (expected := sum(factor.size for factor in factors)):  # kernels would read what is not there
        raise ValueError(f"x must have {expected} coordinates in {manifold}, got shape {tuple(x.shape)}")
    if name == "triton":
        if importlib.util.find_spec("triton") is None:
            return "triton is not installed"
        if _interpreted():
            return None
        return _missing_tools() if x.is_cuda else f"points are on {x.device}, expected a GPU"
    if x.device.type != "cpu":
        return f"points are on {x.device}, expected the CPU"
    if len(factors) > cpu.MOST_FACTORS:
        return f"{manifold} has {len(factors)} factors, expected at most {cpu.MOST_FACTORS}"
    return cpu.obstacle()


def _interpreted() -> bool:
    """Tell whether Triton's interpreter, which runs kernels on the CPU for tests, was asked for by name."""
    if forced() != "triton":
        return False
    import triton

    return bool(triton.knobs.runtime.interpret)


@cache
def _missing_tools() -> str | None:
    """Say what Triton, which has the launching of its kernels compiled on the spot, would not find here."""
    named = os.environ.get("CC")
    names = (named,) if named else ("gcc", "clang")
    if not any(map(shutil.which, names)):
        return f"triton needs a C compiler: looked for {', '.join(names)}{' as named by $CC' if named else ''}"
    folders = [sysconfig.get_path("include", scheme) for scheme in (sysconfig.get_default_scheme(), "posix_prefix")]
    if not any((Path(folder) / "Python.h").exists() for folder in folders):
        return f"triton needs the headers of Python: there is no {folders[-1]}/Python.h"
    return None


def module_of(path: Backend) -> Any:
    """Return the module of a path; Triton is imported only where it is used."""
    if path == "native":
        return cpu
    from qgcn.kernels import gpu

    return gpu
