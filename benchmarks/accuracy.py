"""Measure the error of distances, logarithms, exponentials and transports against mpmath at 50 digits.

    python benchmarks/accuracy.py [--pairs 60] [--signature 7,3] [--markdown FILE] [--figure FILE]

First table: what a user gets. Two points of the manifold, a known length apart, are rounded to float32 or float64; the
relative error of their distance, this package's and that of the usual way (clamp the inner product, take acosh or acos).
What rounding the points does to the distance is in both.

Second table: what the maps add. The relative error against the exact value at the same rounded inputs, worst over space-like
and time-like pairs within radius 5, for pairs that are well conditioned (tests/cases.py says what that means).
"""

import argparse
import math
import statistics
import sys
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import cases
import oracle
from qgcn import geometry

RADII = (0.5, 2.0, 5.0, 8.0)
SEPARATIONS = (1e-8, 1e-5, 1e-3, 1e-1, 1.0)
DTYPES = (torch.float32, torch.float64)
BETA = -1.0


def usual_dist(x, y, time_dim):
    """Clamp and take acosh or acos, as published code does."""
    c = -geometry.inner(x, y, time_dim=time_dim) / -BETA
    tiny = 1e-7 if x.dtype == torch.float32 else 1e-15
    return torch.where(c > 1, torch.acosh(c.clamp_min(1 + tiny)), torch.acos(c.clamp(-1 + tiny, 1 - tiny)))


def exact_pairs(count, s, t, radius, separation, seed):
    """Return pairs in 50 digits, half space-like and half time-like where both exist, exactly a given length apart."""
    points, vectors, _ = cases._boosted_frame(40 * count, s, t, radius, seed)
    square = geometry.inner(vectors, vectors, time_dim=t)
    kinds = [(square * sign >= 0.5).nonzero().flatten()[: count // 2] for sign in (1, -1)]
    rows = torch.cat(kinds)
    pairs = []
    for x, v in zip(oracle.vectors(points[rows]), oracle.vectors(vectors[rows]), strict=True):
        x = oracle.project(x, oracle.mp.mpf(1), t)
        v = oracle.add(v, x, oracle.inner(v, x, t))
        v = oracle.scale(separation / oracle.mp.sqrt(abs(oracle.inner(v, v, t))), v)
        pairs.append((x, oracle.expmap(x, v, oracle.mp.mpf(1), t)))
    return pairs


def summary(errors):
    errors = [error if math.isfinite(error) else math.inf for error in errors]
    return f"{max(errors):.0e} / {statistics.median(errors):.0e}"


def distance_table(s, t, count):
    rows = []
    cells = [(radius, separation) for radius in RADII for separation in SEPARATIONS]
    for radius, separation in track(cells, description="distances", transient=True):
        pairs = exact_pairs(count, s, t, radius, separation, seed=1)
        row = [f"{radius:g}", f"{separation:g}"]
        for dtype in DTYPES:
            x, y = (oracle.to_tensor(side, dtype) for side in zip(*pairs, strict=True))
            distances = geometry.dist(x, y, beta=BETA, time_dim=t), usual_dist(x, y, t)
            row += [summary([abs(value / separation - 1) for value in each.tolist()]) for each in distances]
        rows.append(row)
    header = ["radius", "separation"]
    header += [f"{str(dtype).removeprefix('torch.')}, {way}" for dtype in DTYPES for way in ("qgcn", "usual")]
    return header, rows


def map_table(count):
    rows = []
    for s, t in track(((1, 1), (15, 1), (7, 3), (3, 7), (0, 16)), description="maps", transient=True):
        for dtype in DTYPES:
            worst = dict.fromkeys(("dist", "logmap", "expmap", "transport"), 0.0)
            for radius in (1.0, 3.0, 5.0):
                for separation in (1e-3, 1e-2, 0.3, 1.0):
                    x, y, u = cases.pairs_at_separation(count, s, t, BETA, radius, separation, dtype)
                    form = {"beta": BETA, "time_dim": t}
                    exact = list(zip(*map(oracle.vectors, (x, y, u)), strict=True))
                    size = oracle.mp.mpf(1)
                    results = {
                        "dist": (geometry.dist(x, y, **form), [oracle.dist(a, b, size, t) for a, b, _ in exact]),
                        "logmap": (geometry.logmap(x, y, **form), [oracle.logmap(a, b, size, t) for a, b, _ in exact]),
                        "expmap": (geometry.expmap(x, u, **form), [oracle.expmap(a, w, size, t) for a, _, w in exact]),
                        "transport": (geometry.transport(x, y, u, **form), [oracle.transport(*row, size, t) for row in exact]),
                    }
                    for name, (result, truth) in results.items():
                        worst[name] = max(worst[name], oracle.worst_error(result, truth))
            rows.append([f"Q{s},{t}", str(dtype).removeprefix("torch."), *(f"{error:.1e}" for error in worst.values())])
    return ["space", "type", "dist", "logmap", "expmap", "transport"], rows


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def draw(rows, path):
    """Draw the worst error of a float32 distance against the separation, one line for each radius and way."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "qgcn"  # the same file from the same figures
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 3.6), layout="constrained")
    for radius, mark in (("0.5", "o"), ("5", "s")):
        for column, way, colour, line in ((2, "qgcn", "#0072B2", "-"), (3, "clamped acosh", "#D55E00", "--")):
            points = [(float(row[1]), float(row[column].split(" / ")[0])) for row in rows if row[0] == radius]
            axes.plot(*zip(*points, strict=True), line + mark, color=colour, markersize=5, label=f"{way}, radius {radius}")
    axes.axhline(1, color="0.6", linewidth=0.8)
    axes.annotate("100 % error", (1.6, 1), xytext=(0, 3), textcoords="offset points", ha="right", color="0.35")
    axes.set(xscale="log", yscale="log", xlabel="separation", ylabel="worst relative error, float32")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--signature", default="7,3", help="space,time of the first table")
    parser.add_argument("--markdown", type=Path, help="also write the tables here")
    parser.add_argument("--figure", type=Path, help="also draw the first table's float32 columns here")
    options = parser.parse_args()
    s, t = (int(part) for part in options.signature.split(","))
    table = distance_table(s, t, options.pairs)
    if options.figure:
        draw(table[1], options.figure)
    distances = markdown(*table)
    maps = markdown(*map_table(options.pairs))
    text = f"Distances in Q{s},{t}: worst / median relative error\n\n{distances}\n\nWorst error of the maps\n\n{maps}\n"
    Console(width=160).print(text, highlight=False, markup=False)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
