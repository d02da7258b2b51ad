"""A choice of space in words."""

from typing import TYPE_CHECKING

from qgcn.analysis.curvature import Curvature
from qgcn.analysis.hyperbolicity import Hyperbolicity
from qgcn.analysis.spectrum import Spectrum

if TYPE_CHECKING:
    from qgcn.analysis.signature import Trial

__all__ = ["explain", "kind_of"]


def kind_of(space: str) -> str:
    """Return ``H``, ``S``, ``E``, ``product`` or ``Q``; the ends of the family of ``Q`` are hyperbolic space and the sphere."""
    if "x" in space:
        return "product"
    if space[0] != "Q":
        return space[0]
    s, t = (int(part) for part in space[1:].split(","))
    return "H" if t == 1 else "S" if s == 0 else "Q"


_MEANING = {
    "H": "a hyperbolic space",
    "S": "a sphere",
    "E": "a Euclidean space",
    "product": "a product of two spaces",
    "Q": "an indefinite space, with room for hierarchies and cycles",
}


def explain(
    chosen: "Trial", best: "Trial", measured: tuple[Hyperbolicity, Curvature, Spectrum], metric: str
) -> tuple[str, tuple[str, ...]]:
    """Return what to take in one sentence, and the reasons.

    Args:
        chosen: The trial of the chosen space.
        best: The trial of the best one.
        measured: What is known about the graph.
        metric: Name of the score.
    """
    delta, curvature, spectrum = measured
    clusters = ""
    if curvature.positive > 0.3 and delta.largest > 0:
        clusters = (
            ", many nodes in dense clusters or on cycles" if curvature.positive > 0.6 else ", some dense clusters or cycles"
        )
    kind = kind_of(chosen.space)
    sentence = f"{delta.likeness.capitalize()}{clusters}: take {chosen.space}, {_MEANING[kind]}."
    if kind != "Q":
        sentence += " A Riemannian space is as good as any tried; an indefinite one is not needed."
    reasons = [
        f"Mean delta {delta.mean:.2f} at diameter {delta.diameter}: relative {delta.mean_relative:.3f} (0 for a tree).",
        f"Mean sectional curvature {curvature.mean:+.2f} over pairs of neighbours, {curvature.node_mean:+.2f} over nodes.",
        f"Negative eigenvalues hold {spectrum.negative:.0%} of the squared distances; the first {spectrum.dim} ask for "
        f"{spectrum.signature}.",
        f"{chosen.space} reached {metric} {100 * chosen.score:.1f} ± {100 * chosen.deviation:.1f} in {chosen.epochs} epochs.",
    ]
    if chosen.space != best.space:
        gap = 100 * (best.score - chosen.score)
        reasons.append(f"{best.space} reached {100 * best.score:.1f}, {gap:.1f} more, which is within the tolerance.")
    return sentence, tuple(reasons)
