"""Everything that is measured of a graph, at once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qgcn.analysis.arrows import Arrows, measure_arrows
from qgcn.analysis.curvature import Curvature, forman_curvature, sectional_curvature
from qgcn.analysis.hyperbolicity import SAMPLES, Hyperbolicity, check_exact, gromov_hyperbolicity
from qgcn.analysis.spectrum import Spectrum, distance_spectrum
from qgcn.data.hops import Shape
from qgcn.data.own import as_data
from qgcn.progress import Progress, silent

__all__ = ["Measurements", "measure"]

EXACT_SECONDS = 600.0
"""Time after which the exact search for the worst delta ends with bounds."""


@dataclass(frozen=True)
class Measurements:
    """The geometry of a graph in numbers.

    Attributes:
        shape: The graph.
        hyperbolicity: How far it is from a tree.
        curvature: Its sectional curvature; ``None`` if no node has two neighbours, so that no plane could curve.
        spectrum: The eigenvalues of its squared distances.
        forman: Forman curvature of each edge, shape ``(E,)``.
        arrows: The direction of its edges; ``None`` if they have none, or only the shape of the graph is known.
    """

    shape: Shape
    hyperbolicity: Hyperbolicity
    curvature: Curvature | None
    spectrum: Spectrum
    forman: NDArray[np.float64] = field(repr=False)
    arrows: Arrows | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return size and measurements, as JSON can hold them."""
        return {
            "graph": self.shape.name,
            "nodes": self.shape.num_nodes,
            "edges": self.shape.num_edges,
            "components": len(self.shape.components) + self.shape.isolated,
            "remarks": self.shape.remarks,
            "hyperbolicity": self.hyperbolicity.as_dict(),
            "sectional_curvature": None if self.curvature is None else self.curvature.as_dict(),
            "forman_curvature": {"mean": float(self.forman.mean()), "negative": float((self.forman < 0).mean())},
            "spectrum": self.spectrum.as_dict(),
            "arrows": None if self.arrows is None else self.arrows.as_dict(),
        }


def measure(
    graph: Any,
    dim: int = 10,
    *,
    exact: bool = False,
    samples: int = SAMPLES,
    seed: int = 0,
    root: str | Path | None = None,
    progress: Progress = silent,
) -> Measurements:
    """Measure hyperbolicity, sectional and Forman curvature and the spectrum of the distances of a graph.

    These take edges as undirected. If they have a direction, that is measured, too. What takes long on a large graph is
    sampled, unless ``exact`` is asked for; no model is trained.

    Args:
        graph: A :class:`qgcn.analysis.Shape`, or what :meth:`qgcn.analysis.Shape.of` takes.
        dim: Number of dimensions that the spectrum is asked to split.
        exact: The worst delta, all reference nodes, the whole spectrum. The search for the worst delta ends with bounds after
            ten minutes.
        samples: Quadruples for the distribution of delta.
        seed: Fixes the samples.
        root: Folder of the data sets.
        progress: Progress callback; the stages are ``spectrum``, ``sectional curvature``, ``delta`` and ``worst delta``.

    Raises:
        OSError: A file cannot be read.
        ValueError: It is no graph, has no edges, or is too large for ``exact``.
        TypeError: It is none of these.
    """
    arrows = None
    if not isinstance(graph, Shape):
        graph = as_data(graph, root)
        arrows = measure_arrows(graph)
    shape = Shape.of(graph)
    if exact:
        check_exact(shape)
    progress("spectrum")
    spectrum = distance_spectrum(shape, dim, exact=exact, seed=seed, progress=progress)
    curvature = None
    if any((component.degree >= 2).any() for component in shape.components):
        progress("sectional curvature")
        curvature = sectional_curvature(shape, exact=exact, seed=seed, progress=progress)
    progress("delta")
    delta = gromov_hyperbolicity(
        shape, samples=samples, exact=exact, seconds=EXACT_SECONDS if exact else None, seed=seed, progress=progress
    )
    return Measurements(shape, delta, curvature, spectrum, forman_curvature(shape), arrows)
