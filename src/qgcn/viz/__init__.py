"""Figures and the HTML report. Modules are imported when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn.viz import figures, projections, report

__all__ = ["figures", "projections", "report"]


if not TYPE_CHECKING:  # a type checker takes the imports above, and reports names that are not there

    def __getattr__(name: str) -> Any:
        if name in __all__:
            return import_module(f"qgcn.viz.{name}")
        raise AttributeError(f"module 'qgcn.viz' has no attribute {name!r}")
