"""A choice of space in words."""

from typing import TYPE_CHECKING

from qgcn.analysis.measurements import Measurements
from qgcn.manifolds import Family, parse_space

if TYPE_CHECKING:
    from qgcn.analysis.signature import Trial

__all__ = ["explain"]


_MEANING: dict[Family, str] = {
    "hyperbolic": "a hyperbolic space",
    "spherical": "a sphere",
    "flat": "a Euclidean space",
    "stereographic": "a space of constant curvature",
    "product": "a product of spaces",
    "indefinite": "an indefinite space, with room for hierarchies and cycles",
    "other": "a space of its own kind",
}


def explain(chosen: "Trial", best: "Trial", measured: Measurements, metric: str) -> tuple[str, tuple[str, ...]]:
    """Return what to take in one sentence, and the reasons.

    Args:
        chosen: The trial of the chosen space.
        best: The trial of the best one.
        measured: What is known about the graph.
        metric: Name of the score.
    """
    delta, curvature, spectrum = measured.hyperbolicity, measured.curvature, measured.spectrum
    clusters = ""
    if curvature is not None and curvature.positive > 0.3 and delta.largest > 0:
        clusters = (
            ", many nodes in dense clusters or on cycles" if curvature.positive > 0.6 else ", some dense clusters or cycles"
        )
    family = parse_space(chosen.space).family
    sentence = f"{delta.likeness.capitalize()}{clusters}: take {chosen.space}, {_MEANING[family]}."
    if family not in ("indefinite", "other"):
        sentence += " A Riemannian space is as good as any tried; an indefinite one is not needed."
    reasons = [
        f"Mean delta {delta.mean:.2f} at diameter {delta.diameter}: relative {delta.mean_relative:.3f} (0 for a tree).",
        "No node has two neighbours, so that nothing curves."
        if curvature is None
        else f"Mean sectional curvature {curvature.mean:+.2f} over pairs of neighbours, {curvature.node_mean:+.2f} over nodes.",
        f"Negative eigenvalues hold {spectrum.negative:.0%} of the squared distances; the first {spectrum.dim} ask for "
        f"{spectrum.signature}.",
        f"{chosen.space} reached {metric} {100 * chosen.score:.1f} ± {100 * chosen.deviation:.1f} in {chosen.epochs} epochs.",
    ]
    if chosen.space != best.space:
        gap = 100 * (best.score - chosen.score)
        reasons.append(f"{best.space} reached {100 * best.score:.1f}, {gap:.1f} more, which is within the tolerance.")
    return sentence, tuple(reasons)
