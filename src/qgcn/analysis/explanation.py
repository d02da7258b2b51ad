"""A choice of space in words."""

from collections.abc import Sequence

from qgcn.analysis.measurements import Measurements
from qgcn.analysis.trials import Trial
from qgcn.manifolds import Family, parse_space

__all__ = ["explain", "explain_fewest", "explain_target", "list_scores"]

MOST_LISTED = 6
"""Spaces whose scores are listed in a sentence."""

_MEANING: dict[Family, str] = {
    "hyperbolic": "a hyperbolic space",
    "spherical": "a sphere",
    "flat": "a Euclidean space",
    "stereographic": "a space of constant curvature",
    "product": "a product of spaces",
    "indefinite": "an indefinite space, with room for hierarchies and cycles",
    "other": "a space of its own kind",
}


def explain(chosen: Trial, best: Trial, measured: Measurements, metric: str) -> tuple[str, list[str]]:
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
    space = parse_space(chosen.space)
    meaning = "a spacetime, ordered by light" if space.is_spacetime else _MEANING[space.family]
    sentence = f"{delta.likeness.capitalize()}{clusters}: take {chosen.space}, {meaning}."
    reasons = [
        f"Mean delta {delta.mean:.2f} at diameter {delta.diameter}: relative {delta.mean_relative:.3f} (0 for a tree).",
        "No node has two neighbours, so that nothing curves."
        if curvature is None
        else f"Mean sectional curvature {curvature.mean:+.2f} over pairs of neighbours, {curvature.node_mean:+.2f} over nodes.",
        f"Negative eigenvalues hold {spectrum.negative:.0%} of the squared distances; the first {spectrum.dim} ask for "
        f"{spectrum.signature}.",
        f"{chosen.space} reached {metric} {100 * chosen.score:.1f} ± {100 * chosen.deviation:.1f} in {chosen.epochs} epochs.",
    ]
    if best.score > chosen.score:
        gap = 100 * (best.score - chosen.score)
        reasons.append(f"{best.space} reached {100 * best.score:.1f}, {gap:.1f} more, which is within the tolerance.")
    return sentence, reasons


def explain_fewest(chosen: Trial, fewest: Trial, tried: int) -> str:
    """Say that all spaces hold a graph, and which one holds it with fewer dimensions.

    Args:
        chosen: The trial of the chosen space.
        fewest: That of the space with the fewest dimensions that does as well; the chosen one if there is none.
        tried: Number of spaces that were tried.
    """
    said = f"All {tried} spaces of {chosen.dim} dimensions that were tried do as well"
    if fewest.dim == chosen.dim:
        return f"{said}; none of fewer dimensions did as well."
    return (
        f"{said}: {fewest.dim} dimensions in {fewest.space} hold what {chosen.dim} in {chosen.space} hold, so take "
        f"{fewest.space} if dimensions count."
    )


def explain_target(chosen: Trial, target: float, metric: str, most: int, reached: float | None) -> str:
    """Say whether a score was reached.

    Args:
        chosen: The trial of the chosen space.
        target: The score.
        metric: Its name.
        most: Number of dimensions that were allowed.
        reached: Score of a training in full; ``None`` if there was none.
    """
    wanted = f"{metric} {100 * target:g}"
    if chosen.score < target:
        return f"No space of up to {most} dimensions reached {wanted} in trials; it came closest with {100 * chosen.score:.1f}."
    said = f"Its {chosen.dim} dimensions are the fewest found to reach {wanted} in trials"
    if reached is None:
        return f"{said}."
    return f"{said}; trained in full, it reached {'' if reached >= target else 'no more than '}{100 * reached:.1f}."


def list_scores(ranking: Sequence[Trial]) -> str:
    """List the scores of spaces of one dimension, the best first."""
    listed = ", ".join(f"{trial.space} {100 * trial.score:.1f}" for trial in ranking[:MOST_LISTED])
    return f"With {ranking[0].dim} dimensions: {listed}{', ...' if len(ranking) > MOST_LISTED else '.'}"
