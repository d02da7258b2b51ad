"""Measurements of a graph before anything is learned (hyperbolicity, curvature, spectrum), and the choice of a space for it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qgcn.analysis.arrows import Arrows, measure_arrows
    from qgcn.analysis.curvature import Curvature, forman_curvature, sectional_curvature
    from qgcn.analysis.hyperbolicity import Hyperbolicity, gromov_hyperbolicity
    from qgcn.analysis.measurements import Measurements, measure
    from qgcn.analysis.signature import Suggestion, suggest_signature
    from qgcn.analysis.spectrum import Spectrum, distance_spectrum
    from qgcn.data.hops import Shape

__all__ = [
    "Arrows",
    "Curvature",
    "Hyperbolicity",
    "Measurements",
    "Shape",
    "Spectrum",
    "Suggestion",
    "distance_spectrum",
    "forman_curvature",
    "gromov_hyperbolicity",
    "measure",
    "measure_arrows",
    "sectional_curvature",
    "suggest_signature",
]

_HOMES = {
    "analysis.arrows": ("Arrows", "measure_arrows"),
    "analysis.curvature": ("Curvature", "forman_curvature", "sectional_curvature"),
    "data.hops": ("Shape",),
    "analysis.hyperbolicity": ("Hyperbolicity", "gromov_hyperbolicity"),
    "analysis.measurements": ("Measurements", "measure"),
    "analysis.signature": ("Suggestion", "suggest_signature"),
    "analysis.spectrum": ("Spectrum", "distance_spectrum"),
}


if not TYPE_CHECKING:  # a type checker takes the imports above, and reports names that are not there

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used: a measurement does not need what trains models."""
        for home, names in _HOMES.items():
            if name in names:
                return getattr(import_module(f"qgcn.{home}"), name)
        raise AttributeError(f"module 'qgcn.analysis' has no attribute {name!r}")
