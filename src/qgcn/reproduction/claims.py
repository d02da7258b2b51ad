"""The paper's claims, each judged by differences over seeds."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from qgcn.reproduction.paper import (
    BASELINES,
    CLASSES,
    NETWORKS,
    PERCEPTRONS,
    RECONSTRUCTED,
    RECONSTRUCTING,
    SIGNATURES,
    TIMED,
    TITLES,
    Method,
)
from qgcn.reproduction.rendering import markdown
from qgcn.reproduction.statistics import Difference, paired
from qgcn.reproduction.tables import TIMED_SETTINGS, cells_of

if TYPE_CHECKING:
    from qgcn.reproduction.blocks import Results

__all__ = ["Evidence", "claims", "verdict"]

Q = tuple(method for method in NETWORKS if method.is_indefinite)
OTHERS = tuple(method for method in NETWORKS if not method.is_indefinite)
FEW_TIMES = tuple(method for method in Q if method.space in ("Q15,1", "Q14,2", "Q13,3"))
MANY_TIMES = tuple(method for method in Q if method not in FEW_TIMES)
HYPERBOLIC = tuple(method for method in NETWORKS if method.space == "H16")
SINGLE = tuple(method for method in BASELINES if "x" not in method.space)
PRODUCTS = tuple(method for method in BASELINES if "x" in method.space)
MAP_Q = tuple(method for method in RECONSTRUCTING if method.is_indefinite)
Q_NN = tuple(method for method in PERCEPTRONS if method.is_indefinite)
RECIPES = (
    ("shallow", "our recipe"),
    ("network, neighbours", "network, our objective"),
    ("network, paper", "network, paper's objective"),
    ("Algorithm 1, paper", "paper's own"),
)
PARTS = {("table2", "leak-free"): ", links", ("table2", "classification"): ", classes"}
SETTINGS = (("ours", "our settings"), ("code", "published code's settings"), ("paper", "paper's own settings"))


class Evidence(NamedTuple):
    """What speaks for or against a claim on one graph.

    Attributes:
        text: The evidence in words.
        fits: Whether it is as the claim says; ``None`` if it was not measured.
    """

    text: str
    fits: bool | None


@dataclass(frozen=True)
class Contest:
    """The best of some methods against the best of others.

    Attributes:
        table, part: Where their scores are.
        ours, theirs: The methods.
        fits: Tells whether a difference is as the claim says.
    """

    table: str
    part: str
    ours: Sequence[Method]
    theirs: Sequence[Method]
    fits: Callable[[Difference], bool]

    def evidence(self, results: "Results", data: str, setting: str) -> Evidence:
        """Compare the best of both on a graph. Each is the best on validation, where there is one."""
        title = TITLES.get(data, data) + PARTS.get((self.table, self.part), "")
        found = [self._best(results, data, methods, setting) for methods in (self.ours, self.theirs)]
        if found[0] is None or found[1] is None:
            return Evidence(f"{title} —", None)
        scores = [results.scores(self.table, self.part, data, name, setting) for name in found if name is not None]
        difference = paired(scores[0], scores[1])
        if difference is None:
            return Evidence(f"{title} —", None)
        who = " minus ".join(_short(name) for name in found if name is not None)
        return Evidence(f"{title} {difference.shown()} ({who})", self.fits(difference) if difference.seeds > 1 else None)

    def _best(self, results: "Results", data: str, methods: Sequence[Method], setting: str) -> str | None:
        """Return the method with the best mean on validation; of reconstruction, which holds nothing out, the best mAP."""
        means = {}
        for method in methods:
            key = (self.table, self.part, data, method.name, setting)
            scores = results.scores(*key, split="val") or results.scores(*key)
            if not scores:
                return None
            means[method.name] = fmean(scores.values())
        return max(means, key=lambda name: means[name])


def _short(name: str) -> str:
    return name.split("(")[1].removesuffix(")") if "(" in name else name


def better(difference: Difference) -> bool:
    """Tell whether a difference is positive beyond chance."""
    return difference.low > 0


def not_worse(difference: Difference) -> bool:
    """Tell whether a difference is not negative beyond chance."""
    return difference.high >= 0


def verdict(evidence: Sequence[Evidence]) -> str:
    """Return whether a claim holds: everywhere, in part, or nowhere; of what was measured."""
    known = [each.fits for each in evidence if each.fits is not None]
    if not known:
        return "not measured"
    told = "holds" if all(known) else "holds in part" if any(known) else "does not hold"
    return told if len(known) == len(evidence) else f"{told} ({len(known)} of {len(evidence)} measured)"


def claims(results: "Results") -> str:
    """Render one row for each claim and setting: verdict, differences with their intervals, and the file behind them."""
    rows = [
        [claim, under, verdict(evidence), "; ".join(each.text for each in evidence), f"`{file}.jsonl`"]
        for claim, under, evidence, file in _judged(results)
    ]
    return markdown(["claim", "under", "verdict", "difference in points, 95 % interval over seeds", "file"], rows, left=5)


def _judged(results: "Results") -> Iterator[tuple[str, str, list[Evidence], str]]:
    for claim, contest, graphs in _map_claims():
        for setting, under in RECIPES:
            yield claim, under, [contest[data].evidence(results, data, setting) for data in graphs], "table1"
    for claim, contests, graphs in _network_claims():
        for setting, under in SETTINGS:
            evidence = [each.evidence(results, data, setting) for data in graphs for each in contests]
            yield claim, under, evidence, contests[0].table
    yield from _aggregation_claim(results)
    yield from _time_claims(results)
    yield from _graph_claims(results)


def _map_claims() -> Iterator[tuple[str, dict[str, Contest], Sequence[str]]]:
    """Yield the claims on Table 1 and Figure 2: what is compared on each graph."""

    def same(ours: Sequence[Method], theirs: Sequence[Method]) -> dict[str, Contest]:
        return dict.fromkeys(RECONSTRUCTED, Contest("table1", "reconstruction", ours, theirs, better))

    yield "Q-GCN has the best mAP on all four graphs", same(MAP_Q, BASELINES), RECONSTRUCTED
    yield "Products are better than a single geometry", same(PRODUCTS, SINGLE), RECONSTRUCTED
    best = {data: "Q3,7" if data == "facebook" else "Q7,3" for data in RECONSTRUCTED}
    contests = {}
    for data, space in best.items():
        ours = [method for method in MAP_Q if method.space == space]
        contests[data] = Contest("table1", "reconstruction", ours, [each for each in MAP_Q if each not in ours], better)
    yield "Of the signatures, Q7,3 is the best on three graphs, Q3,7 on Facebook", contests, RECONSTRUCTED
    yield "The best t is neither 1 nor 10", same(SIGNATURES[1:-1], (SIGNATURES[0], SIGNATURES[-1])), RECONSTRUCTED


def _network_claims() -> Iterator[tuple[str, list[Contest], Sequence[str]]]:
    """Yield the claims on Tables 2 and 3; links are those of the leak-free split."""

    def both(ours: Sequence[Method], theirs: Sequence[Method], fits: Callable[[Difference], bool]) -> list[Contest]:
        return [Contest("table2", part, ours, theirs, fits) for part in ("leak-free", "classification")]

    claim = "Few time dimensions are on par with hyperbolic space on Airport and PubMed (links, classes)"
    yield claim, both(FEW_TIMES, HYPERBOLIC, not_worse), ("airport", "pubmed")
    yield "Q-GCN is the best on CiteSeer and Cora (links, classes)", both(Q, OTHERS, better), ("citeseer", "cora")
    yield "Many time dimensions are the best on Cora (links, classes)", both(MANY_TIMES, FEW_TIMES, better), ("cora",)
    rows = Contest("table3", "classification", Q_NN, PERCEPTRONS[:2], better)
    yield "Q-NN outperforms MLP and HNN", [rows], ("pubmed", "citeseer", "cora")


def _aggregation_claim(results: "Results") -> Iterator[tuple[str, str, list[Evidence], str]]:
    """Yield the claim that compares rows of Table 2 with rows of Table 3."""
    for setting, under in SETTINGS:
        evidence = []
        for data in CLASSES[1:]:
            convolved = Contest("table2", "classification", Q, Q, better)._best(results, data, Q, setting)
            alone = Contest("table3", "classification", Q_NN, Q_NN, better)._best(results, data, Q_NN, setting)
            difference = None
            if convolved is not None and alone is not None:
                scores = results.scores("table2", "classification", data, convolved, setting)
                difference = paired(scores, results.scores("table3", "classification", data, alone, setting))
            known = difference is not None and difference.seeds > 1
            text = f"{TITLES[data]} —" if difference is None else f"{TITLES[data]} {difference.shown()}"
            evidence.append(Evidence(text, better(difference) if known and difference is not None else None))
        yield "Q-GCN is better than Q-NN", under, evidence, "table2"


def _time_claims(results: "Results") -> Iterator[tuple[str, str, list[Evidence], str]]:
    """Yield the claims on Table 4: ratios of medians in one run."""
    for setting in TIMED_SETTINGS:
        slower, product, growing = list[Evidence](), list[Evidence](), list[Evidence]()
        for cell in (cell for cell in cells_of("table4", results.scale) if cell.setting == setting):
            line, title = results.store.find(cell, 0), TITLES.get(cell.data, cell.data)
            if line is None:
                for each in (slower, product, growing):
                    each.append(Evidence(f"{title} —", None))
                continue
            flat, prod, *indefinite = [median(line["epoch_seconds"][method.name]) for method in TIMED]
            slowest, ratio = max(indefinite) / flat, max(indefinite) / prod
            slower.append(Evidence(f"{title}: the slowest Q takes {slowest:.2f} times as long as E10", slowest < 2))
            product.append(Evidence(f"{title}: the slowest Q takes {ratio:.2f} times as long as H5xS5", ratio < 1))
            ends = f"{indefinite[0] / flat:.2f} at t = 1, {indefinite[-2] / flat:.2f} at t = 9"
            growing.append(Evidence(f"{title}: {ends}", all(one <= other for one, other in pairwise(indefinite[:-1]))))
        yield "Every Q-GCN takes less than twice as long as GCN", setting, slower, "table4"
        yield "Q-GCN is faster than the product", setting, product, "table4"
        yield "The running time grows with t", setting, growing, "table4"


def _graph_claims(results: "Results") -> Iterator[tuple[str, str, list[Evidence], str]]:
    """Yield the claims on the graphs themselves."""
    signs, mean = list[Evidence](), list[Evidence]()
    trees: dict[str, dict[str, float]] = {}
    for cell in cells_of("appendix", results.scale):
        line, title = results.store.find(cell, 0), TITLES.get(cell.data, cell.data)
        bend = None if line is None else line["curvature"]
        shares = "—" if bend is None else f"{100 * bend['positive']:.1f} % > 0, {100 * bend['negative']:.1f} % < 0"
        signs.append(Evidence(f"{title} {shares}", None if bend is None else bend["positive"] > 0 and bend["negative"] > 0))
        if cell.data == "facebook":
            mean.append(Evidence("Facebook —" if bend is None else f"Facebook {bend['mean']:+.3f}", bend and bend["mean"] > 0))
        trees[cell.data] = {} if line is None else line["delta"]
    yield "Every graph curves both ways", "nodes", signs, "appendix"
    yield "The mean sectional curvature of Facebook is positive", "pairs", mean, "appendix"
    claim = "Airport and PubMed are more tree-like than CiteSeer and Cora"
    yield claim, "delta", [_trees(trees, name) for name in ("mean", "worst")], "appendix"


def _trees(trees: dict[str, dict[str, float]], name: str) -> Evidence:
    """Compare a delta of the four graphs with classes."""
    values = [trees.get(data, {}).get(name) for data in CLASSES]
    texts = ("—" if value is None else f"{value:.3g}" for value in values)
    told = ", ".join(f"{TITLES[data]} {text}" for data, text in zip(CLASSES, texts, strict=True))
    known = [value for value in values if value is not None]
    return Evidence(f"{name}: {told}", max(known[:2]) < min(known[2:]) if len(known) == len(CLASSES) else None)
