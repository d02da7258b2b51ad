"""Measure the error of distances, logarithms, transports and kernels against mpmath at 50 digits.

    python benchmarks/accuracy.py [--pairs 20] [--lines FILE] [--markdown FILE] [--figure FILE] [--read FILE]

Pairs of points of the manifold, a known length apart, space-like and time-like where both exist, none nearly null; a point of
each pair is at the given radius. Every line of results is one space, type, radius, separation, quantity and way of computing
it: worst and median relative error over the pairs (in norm, for vectors).

``given``: what a formula adds. The error against the exact value at the same rounded points. ``qgcn`` is this package,
``matrix`` its ``pairwise_dist``, ``kernel`` its compiled all-pairs kernel, ``difference`` the plain formula: the square of the
difference of two points, one of them scaled by a power of two. (It was used before, and is more exact than ``acosh`` of an
inner product.)

``whole``: what a user gets. The error against the known length; what rounding the points does to it is included. Compared with
``geoopt.Lorentz`` and, in its own coordinates, which are computed in 50 digits and then rounded, ``geoopt.PoincareBall``.

``--read`` makes tables and figure from lines that were written before.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import geoopt
import torch
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import cases
import oracle
from qgcn import PseudoHyperboloid, geometry
from qgcn.geometry.chord import separation
from qgcn.kernels import distances_from, use_backend
from qgcn.kernels.pairs import cpu
from qgcn.numerics import nearest_power_of_two

SPACES = ((15, 1), (14, 2), (3, 7), (0, 16))
RADII = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
SEPARATIONS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
DTYPES = (torch.float32, torch.float64)
ONE = oracle.mp.mpf(1)


# --- points ------------------------------------------------------------------------------------------------------------------


def exact_pairs(count, s, t, radius, apart, seed=1):
    """Return points, points a length apart from them, and tangent vectors at the first, all in 50 digits."""
    points, vectors, others = cases._boosted_frame(40 * count, s, t, radius, seed)
    points, vectors, others = (each * points[:, :1].sign() if t == 1 else each for each in (points, vectors, others))
    square = geometry.inner(vectors, vectors, time_dim=t)
    signs = (1, -1) if apart < 3 else (1,)  # no time-like geodesic is longer than pi
    rows = torch.cat([(square * sign >= 0.5).nonzero().flatten()[: count // 2] for sign in signs])
    made = []
    for x, v, u in zip(*(oracle.vectors(each[rows]) for each in (points, vectors, others)), strict=True):
        x = oracle.project(x, ONE, t)
        v, u = (oracle.add(w, x, oracle.inner(w, x, t)) for w in (v, u))
        v = oracle.scale(apart / oracle.mp.sqrt(abs(oracle.inner(v, v, t))), v)
        made.append((x, oracle.expmap(x, v, ONE, t), u))
    return made


def settled(x, y, t):
    """Tell which pairs rounding has not made nearly null: of those their parts are known, and their difference is not."""
    found, _ = separation(x.double(), y.double(), torch.ones((), dtype=torch.float64), time_dim=t)
    parts = found.ratio * (found.drop.square() + found.lever.square() * found.residual.square().sum(-1, keepdim=True))
    return (found.raw.abs() > 0.3 * parts).squeeze(-1)


# --- ways to compute ---------------------------------------------------------------------------------------------------------


def difference_chord(x, y, t):
    """Return the squared chord to the nearer of y and -y from the difference, and whether it is the latter."""
    lengths = (z[..., :t].norm(dim=-1, keepdim=True) for z in (x, y))
    scale = nearest_power_of_two(torch.div(*lengths))

    def squared(other):
        w = x - scale * other
        return ((1 - scale) ** 2 + geometry.inner(w, w, time_dim=t, keepdim=True)) / scale

    near, across = squared(y), squared(-y)
    far = torch.where(
        (x - scale * y).norm(dim=-1, keepdim=True) <= (x + scale * y).norm(dim=-1, keepdim=True), near < -2, across > -2
    )
    return torch.where(far, across, near).clamp_min(0 if t == 1 else -2), far


def difference(x, y, u, t):
    """Return squared chord, distance, logarithm and transport, all from the difference."""
    square, far = difference_chord(x, y, t)
    raw = torch.where(far, -4 - square, square)
    c = 1 + raw / 2
    dist = torch.where(raw > 0, 2 * torch.asinh(raw.clamp_min(0).sqrt() / 2), 2 * torch.asin((-raw).clamp(0, 4).sqrt() / 2))
    log = torch.where(raw == 0, 1, dist / (raw * (1 + raw / 4)).abs().sqrt()) * torch.where(
        far, y + x + square / 2 * x, y - x - square / 2 * x
    )
    overlap = geometry.inner(u, y - x, time_dim=t, keepdim=True)
    return {"q": raw, "dist": dist, "log": log, "transport": u + overlap / (1 + c) * (x + y)}


def ours(x, y, u, t):
    form = {"beta": -1.0, "time_dim": t}
    found, _ = separation(x, y, torch.ones((), dtype=x.dtype), time_dim=t)
    raw = torch.where(found.side > 0, found.raw, -4 - found.raw)
    return {
        "q": raw,
        "dist": geometry.dist(x, y, **form),
        "log": geometry.logmap(x, y, **form),
        "transport": geometry.transport(x, y, u, **form),
    }


def kernel_dist(x, y, t):
    """Return the distances of pairs by the compiled kernel over all pairs."""
    with use_backend("native"):
        rows = distances_from(torch.cat((x, y)), range(len(x)), PseudoHyperboloid(x.shape[-1] - t, t))
    return rows[:, len(x) :].diagonal()


def ball(point):
    return [value / (1 + point[0]) for value in point[1:]]


# --- measuring ---------------------------------------------------------------------------------------------------------------


def truths(x, y, u, t):
    rows = list(zip(*map(oracle.vectors, (x, y, u)), strict=True))
    return {
        "q": [2 * (oracle.cosine(a, b, ONE, t) - 1) for a, b, _ in rows],
        "dist": [oracle.dist(a, b, ONE, t) for a, b, _ in rows],
        "log": [oracle.logmap(a, b, ONE, t) for a, b, _ in rows],
        "transport": [oracle.transport(*row, ONE, t) for row in rows],
    }


def line(s, t, dtype, radius, apart, kind, what, way, errors):
    errors = [error if error < 1e9 else 1e9 for error in errors]  # NaN and infinity, too
    return {
        "space": f"Q{s},{t}",
        "type": str(dtype).removeprefix("torch."),
        "radius": radius,
        "separation": apart,
        "kind": kind,
        "what": what,
        "way": way,
        "worst": float(f"{max(errors):.2g}"),
        "median": float(f"{statistics.median(errors):.2g}"),
    }


def errors_of(results, exact):
    flat = results.flatten(1) if results.ndim > 1 and results.shape[-1] > 1 else results.flatten()
    return [oracle.relative_error(*both) for both in zip(flat.tolist(), exact, strict=True)]


def measure(s, t, dtype, radius, apart, count):
    """Yield the lines of one cell."""
    made = exact_pairs(count, s, t, radius, apart)
    x, y, u = (oracle.to_tensor(side, dtype) for side in zip(*made, strict=True))
    here = (s, t, dtype, radius, apart)
    ways = {"qgcn": geometry.dist(x, y, beta=-1.0, time_dim=t)}
    if t == 1:
        ways["geoopt.Lorentz"] = geoopt.Lorentz(k=1.0).to(dtype).dist(x, y)
        in_ball = (oracle.to_tensor([ball(row[i]) for row in made], dtype) for i in (0, 1))
        ways["geoopt.PoincareBall"] = geoopt.PoincareBall(c=1.0).to(dtype).dist(*in_ball)
    for way, found in ways.items():
        yield line(*here, "whole", "dist", way, [abs(value / apart - 1) for value in found.tolist()])
    kept = settled(x, y, t)
    if kept.sum() < 3:
        return
    x, y, u = x[kept], y[kept], geometry.project_tangent(x, u, beta=-1.0, time_dim=t)[kept]
    exact = truths(x, y, u, t)
    for way, results in (("qgcn", ours(x, y, u, t)), ("difference", difference(x, y, u, t))):
        for what, result in results.items():
            yield line(*here, "given", what, way, errors_of(result, exact[what]))
    matrix = geometry.pairwise_dist(x, y, beta=-1.0, time_dim=t).diagonal()
    yield line(*here, "given", "dist", "matrix", errors_of(matrix, exact["dist"]))
    if dtype == torch.float32 and cpu.obstacle() is None:
        yield line(*here, "given", "dist", "kernel", errors_of(kernel_dist(x, y, t), exact["dist"]))


def measured(count):
    cells = [
        (s, t, dtype, radius, apart)
        for s, t in SPACES
        for dtype in DTYPES
        for radius in (RADII if s else (0.0,))
        for apart in SEPARATIONS
        if s or apart < 3
    ]
    return [found for cell in track(cells, description="pairs", transient=True) for found in measure(*cell, count)]


# --- showing -----------------------------------------------------------------------------------------------------------------


def pick(lines, **wanted):
    found = [each for each in lines if all(each[key] == value for key, value in wanted.items())]
    return found[0]["worst"] if found else None


def short(error):
    return "" if error is None else "none" if error >= 1 else f"{error:.0e}"


def markdown(header, rows):
    text = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(text + ["| " + " | ".join(row) + " |" for row in rows])


def whole_table(lines):
    """Return what a user gets in hyperbolic space, in float32 and float64."""
    ways = ("qgcn", "geoopt.Lorentz", "geoopt.PoincareBall")
    rows = []
    for apart in (1e-3, 0.1, 1.0):
        for radius in RADII:
            cells = [
                short(pick(lines, space="Q15,1", type=name, radius=radius, separation=apart, kind="whole", way=way))
                for name in ("float32", "float64")
                for way in ways
            ]
            rows.append([f"{apart:g}", f"{radius:g}", *cells])
    return markdown(["separation", "radius", *(f"{name}, {way}" for name in ("float32", "float64") for way in ways)], rows)


def given_table(lines, what, name):
    """Return the error of one quantity at given points: this package's after that of the difference."""
    rows = []
    for s, t in SPACES:
        for radius in RADII if s else (0.0,):
            cells = []
            for apart in SEPARATIONS:
                known = {
                    "space": f"Q{s},{t}",
                    "type": name,
                    "radius": radius,
                    "separation": apart,
                    "kind": "given",
                    "what": what,
                }
                both = [short(pick(lines, **known, way=way)) for way in ("difference", "qgcn")]
                cells.append(" → ".join(both) if all(both) else "")
            rows.append([f"Q{s},{t}", f"{radius:g}", *cells])
    return markdown(["space", "radius", *(f"{apart:g}" for apart in SEPARATIONS)], rows)


def kernel_table(lines):
    """Return the error of float32 distances of all pairs at given points, times the separation: in units of length."""
    rows = []
    for s, t in SPACES[:3]:
        for radius in RADII:
            cells = []
            for apart in (1e-3, 0.1, 1.0):
                known = {
                    "space": f"Q{s},{t}",
                    "type": "float32",
                    "radius": radius,
                    "separation": apart,
                    "kind": "given",
                    "what": "dist",
                }
                found = [pick(lines, **known, way=way) for way in ("difference", "matrix", "kernel")]
                cells += ["" if error is None else f"{apart * error:.0e}" for error in found]
            rows.append([f"Q{s},{t}", f"{radius:g}", *cells])
    ways = ("difference", "`pairwise_dist`", "kernel")
    return markdown(["space", "radius", *(f"{apart:g}, {way}" for apart in (1e-3, 0.1, 1.0) for way in ways)], rows)


def draw(lines, path):
    """Draw the worst error of a float32 distance in hyperbolic space against the radius, of points and of formulas."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "qgcn"  # the same file from the same figures
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained", sharey=True)
    marks = {
        "geoopt.Lorentz": ("#D55E00", "s--"),
        "geoopt.PoincareBall": ("#CC79A7", "^--"),
        "difference": ("#999999", "v:"),
        "qgcn": ("#0072B2", "o-"),
    }
    panels_of = (
        ("whole", 0.1, "A distance of 0.1, points rounded to float32"),
        ("given", 1e-3, "A distance of 0.001, at given float32 points"),
    )
    for axes, (kind, apart, title) in zip(panels, panels_of, strict=True):
        for way, (colour, style) in marks.items():
            known = {"space": "Q15,1", "type": "float32", "separation": apart, "kind": kind, "what": "dist", "way": way}
            points = [(radius, pick(lines, radius=radius, **known)) for radius in RADII]
            points = [(radius, min(error, 1e4)) for radius, error in points if error is not None]
            if points:
                axes.plot(*zip(*points, strict=True), style, color=colour, markersize=5, label=way)
        axes.axhline(1, color="0.6", linewidth=0.8)
        axes.annotate("100 % error", (0, 1), xytext=(0, 3), textcoords="offset points", color="0.35", fontsize=8)
        axes.set(yscale="log", xlabel="radius", title=title)
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    panels[0].set_ylabel("worst relative error")
    figure.savefig(path, metadata={"Date": None})


def report(lines):
    parts = ["## What a user gets: worst relative error of a distance in Q15,1", whole_table(lines)]
    for what in ("q", "dist", "log", "transport"):
        for name in ("float32", "float64"):
            parts += [f"## {what}, {name}, at given points: difference → qgcn", given_table(lines, what, name)]
    return "\n\n".join([*parts, "## All pairs, float32: worst error in units of length", kernel_table(lines)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="of each cell")
    parser.add_argument("--read", type=Path, help="take the lines of results from here instead of measuring")
    parser.add_argument("--lines", type=Path, help="write the lines of results here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--figure", type=Path, help="draw the figure here")
    options = parser.parse_args()
    lines = [json.loads(each) for each in options.read.read_text().splitlines()] if options.read else measured(options.pairs)
    if options.lines:
        options.lines.write_text("".join(json.dumps(each) + "\n" for each in lines))
    if options.figure:
        draw(lines, options.figure)
    text = report(lines)
    if options.markdown:
        options.markdown.write_text(text)
    Console(width=200).print(text, highlight=False, markup=False)


if __name__ == "__main__":
    main()
