"""mAP against the number of dimensions: tables and the picture of the docs, from what ``reconstruction.py --dims`` wrote.

python experiments/frontier.py experiments/results/frontier.jsonl [--figure docs/images/frontier.svg]
"""

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path

from matplotlib.figure import Figure

from qgcn.manifolds import parse_space, spaces_of_dimension
from qgcn.viz.figures import save, styled

NAMES = {
    "facebook": "Facebook",
    "web-edu": "Web-Edu",
    "power": "Power",
    "bio-wormnet": "Bio-Worm",
    "ring-of-trees": "ring of trees",
    "torus-with-trees": "torus with trees",
    "sphere-with-trees": "sphere with trees",
}
LABELS = {"E": "E", "H": "H", "S": "S", "product": "best product", "Q": "best indefinite Q"}
COLOURS = dict(zip(LABELS, ("#8a8f96", "#0072b2", "#009e73", "#e08a00", "#d04a00"), strict=True))
SOLVED = 99.95
"""A graph is held by everybody where the worst of E, H, S, the best product and the best Q is above this: no row for it."""

Scores = dict[str, dict[int, dict[str, list[float]]]]


def read(path: Path) -> Scores:
    """Return the mAP of each seed, by graph, dimension and space."""
    scores: Scores = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for line in path.read_text().splitlines():
        run = json.loads(line)
        scores[run["graph"]][parse_space(run["space"]).dim][run["space"]].append(100 * run["map"])
    return scores


def best(spaces: dict[str, list[float]], kind: str) -> tuple[str, list[float]]:
    """Return the space of a kind with the highest mean."""
    fitting = {space: values for space, values in spaces.items() if parse_space(space).kind == kind}
    return max(fitting.items(), key=lambda item: statistics.fmean(item[1]))


def shown(values: list[float]) -> str:
    mean = statistics.fmean(values)
    return f"{mean:.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{mean:.1f}"


def print_summary(scores: Scores) -> None:
    """Print the best of each kind, in bold the best of all."""
    print("| graph | dimensions | E | H | S | best product | best Q | Q gains |\n| --- | ---: |" + " ---: |" * 6)
    for graph, dims in scores.items():
        first = NAMES[graph]
        for dim, spaces in sorted(dims.items()):
            found = [best(spaces, kind) for kind in LABELS]
            means = [statistics.fmean(values) for _, values in found]
            if min(means) > SOLVED:
                continue
            cells = [shown(values) for _, values in found]
            cells[3:] = [f"{space} {cell}" for (space, _), cell in zip(found[3:], cells[3:], strict=True)]
            top = means.index(max(means))
            cells[top] = f"**{cells[top]}**"
            gain = round(means[-1] - max(means[:-1]), 1) + 0.0  # no minus before a zero
            print(f"| {first} | {dim} | {' | '.join(cells)} | {gain:+.1f} |")
            first = ""


def print_signatures(scores: Scores, graph: str) -> None:
    """Print every Q of one graph, by dimensions and number of time dimensions."""
    most = max(scores[graph])
    print("\n| dimensions | H | " + " | ".join(f"t = {t}" for t in range(2, most + 1)) + " | S |")
    print("| ---: |" + " ---: |" * (most + 1))
    for dim, spaces in sorted(scores[graph].items()):
        names = [f"H{dim}", *(f"Q{dim + 1 - t},{t}" for t in range(2, dim + 1)), f"S{dim}"]
        cells = [f"{statistics.fmean(spaces[name]):.1f}" for name in names]
        print(f"| {dim} | " + " | ".join([*cells[:-1], *[""] * (most - dim), cells[-1]]) + " |")


@styled
def draw(scores: Scores) -> Figure:
    """Draw the best of each kind, a panel a graph; every Q is a faint line."""
    figure = Figure(figsize=(10.5, 5.2), layout="constrained")
    panels = list(figure.subplots(2, 4).flat)
    for axis, (graph, dims) in zip(panels, scores.items(), strict=False):
        shown_dims = [dim for dim in sorted(dims) if dim <= 6 or graph == "facebook"]  # beyond it the others are at 100
        for t in range(2, max(shown_dims) + 1):
            line = [(dim, statistics.fmean(dims[dim][f"Q{dim + 1 - t},{t}"])) for dim in shown_dims if dim >= t]
            axis.plot(*zip(*line, strict=True), color=COLOURS["Q"], alpha=0.3, linewidth=0.8)
        for kind, colour in COLOURS.items():
            line = [(dim, *_spread(best(dims[dim], kind)[1])) for dim in shown_dims]
            at, means, deviations = zip(*line, strict=True)
            axis.errorbar(at, means, deviations, color=colour, label=LABELS[kind], linewidth=1.6, marker="o", markersize=3)
        axis.set(title=NAMES[graph], xlabel="dimensions", xticks=shown_dims)
    for axis in panels[::4]:
        axis.set_ylabel("mAP")
    panels[-1].axis("off")
    panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center")
    return figure


def _missing(scores: Scores) -> list[str]:
    cells = [(graph, dim, space) for graph, dims in scores.items() for dim in dims for space in spaces_of_dimension(dim)]
    return [f"{space} of {graph}" for graph, dim, space in cells if space not in scores[graph][dim]]


def _spread(values: list[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--figure", type=Path, help="draw it here")
    parser.add_argument("--every", nargs="*", default=["facebook"], choices=NAMES, help="graphs of which every Q is printed")
    given = parser.parse_args()
    scores = read(given.results)
    if missing := _missing(scores):
        parser.error(f"{given.results} has no {missing[0]}; run reconstruction.py --dims for all spaces")
    print_summary(scores)
    for graph in (each for each in given.every if each in scores):
        print_signatures(scores, graph)
    if given.figure is not None:
        save(draw(scores), given.figure)


if __name__ == "__main__":
    main()
