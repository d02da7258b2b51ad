"""The implementations of an operation, and the choice among them.

``triton`` runs on a GPU and ``native`` is C++ on the CPU. ``eager`` is plain PyTorch, which needs no compiler; the others are
tested against it. All give the same results.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, Literal, ParamSpec, TypeVar, get_args

from qgcn.numerics.functions import assumed_constant

__all__ = ["Backend", "Implementation", "assumed_constant", "backend", "choose", "forced", "use_backend"]

Backend = Literal["triton", "native", "eager"]
"""``triton``: a GPU's. ``native``: compiled C++ on the CPU. ``eager``: plain PyTorch."""

_Given = ParamSpec("_Given")
_Module = TypeVar("_Module")

_forced: ContextVar[Backend | None] = ContextVar("forced", default=None)
_last: ContextVar[Backend | None] = ContextVar("last", default=None)


@dataclass(frozen=True)
class Implementation(Generic[_Given, _Module]):
    """One way to compute an operation.

    Attributes:
        name: Its backend.
        obstacle: Says why it cannot take some arguments; ``None`` if it can.
        module: Returns its functions; imported only when used.
    """

    name: Backend
    obstacle: Callable[_Given, str | None]
    module: Callable[[], _Module]


def backend() -> Backend | None:
    """Return the backend of the last all-pairs function called in this thread; ``None`` if there was none yet."""
    return _last.get()


@contextmanager
def use_backend(name: Backend) -> Iterator[None]:
    """Use this backend and no other.

    Raises:
        ValueError: There is no such backend; or, when a function is called, it cannot be used.
    """
    if name not in get_args(Backend):
        raise ValueError(f"backend must be one of {', '.join(get_args(Backend))}, got {name!r}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def forced() -> Backend | None:
    """Return the backend asked for by :func:`use_backend`; ``None`` if there is none."""
    return _forced.get()


def choose(
    implementations: Sequence[Implementation[_Given, _Module]], *args: _Given.args, **kwargs: _Given.kwargs
) -> Implementation[_Given, _Module]:
    """Return the first implementation that can take the arguments, or the one asked for, and remember it.

    Raises:
        ValueError: The one asked for cannot take them.
    """
    wanted = forced()
    if wanted is None:
        found = next(each for each in implementations if each.obstacle(*args, **kwargs) is None)
    else:
        found = next(each for each in implementations if each.name == wanted)
        if why := found.obstacle(*args, **kwargs):
            raise ValueError(f"backend {wanted} cannot be used: {why}")
    _last.set(found.name)
    return found
