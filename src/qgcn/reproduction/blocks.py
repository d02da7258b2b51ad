"""The tables of the manual: every number from a line of the store, or as the paper prints it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

from qgcn.reproduction import paper
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.paper import CLASSES, NETWORKS, PERCEPTRONS, RECONSTRUCTED, RECONSTRUCTING, TIMED, TITLES, Method
from qgcn.reproduction.rendering import markdown, shown
from qgcn.reproduction.settings import ABLATIONS
from qgcn.reproduction.statistics import paired
from qgcn.reproduction.store import Line, Store
from qgcn.reproduction.tables import ABLATED, ABLATED_MAP, FULL, TIMED_SETTINGS, Scale, cells_of

__all__ = ["MAP_SETTINGS", "Results", "blocks_of"]

Scores = dict[int, float]
"""Scores by seed, in per cent."""
Key = tuple[str, str, str, str, str]
MISSING = "—"
MAP_SETTINGS = {
    "shallow": "shallow",
    "network": "network, neighbours",
    "objective": "network, paper",
    "paper": "Algorithm 1, paper",
}
"""Settings of Table 1, by the names of its blocks."""
NEAR = 0.002
"""Difference of two shares beyond which the printed one is shown, too."""
_HEADERS = {
    "sizes": ["nodes", "edges", "classes", "features", "diameter"],
    "delta": ["0", "0.5", "1", "1.5", "2", "2.5", "mean"],
    "worst": ["worst delta", "paper, Table 2", "largest sampled", "diameter", "2 delta / diameter"],
    "curvature": ["over pairs", "over nodes", "nodes > 0", "nodes < 0", "paper"],
}


class Results:
    """Scores of all cells of some tables.

    Args:
        store: The lines.
        scale: What was to be measured.
        tables: Names of the tables.
    """

    def __init__(self, store: Store, scale: Scale = FULL, tables: Sequence[str] = ("table1", "table2", "table3")) -> None:
        self.store, self.scale = store, scale
        self._cells: dict[Key, Cell] = {}
        for table in tables:
            for cell in cells_of(table, scale):
                self._cells[table, _part(cell), cell.data, cell.method, cell.setting] = cell

    def lines(self, table: str, part: str, data: str, method: str, setting: str) -> list[Line]:
        """Return the lines of a cell, with the settings that were chosen for it; ``part`` is a task, or its protocol."""
        cell = self._cells.get((table, part, data, method, setting))
        chosen = None if cell is None else self.store.choice(cell)
        return [] if chosen is None else self.store.lines(chosen, self.scale.seeds)

    def scores(self, table: str, part: str, data: str, method: str, setting: str, split: str = "test") -> Scores:
        """Return the scores of a cell by seed; the main one of its task."""
        found = self.lines(table, part, data, method, setting)
        return {line["seed"]: 100 * line[split][line["metric"]] for line in found if split in line}

    def diverged(self, table: str, part: str, data: str, method: str, setting: str) -> int:
        """Return how many seeds of a cell diverged."""
        return sum("error" in line for line in self.lines(table, part, data, method, setting))


def _part(cell: Cell) -> str:
    return str(cell.values.get("protocol", cell.task))


def blocks_of(store: Store, scale: Scale = FULL) -> dict[str, Callable[[], str]]:
    """Return what renders each table, by name."""
    from qgcn.reproduction.claims import claims

    results = Results(store, scale)
    found: dict[str, Callable[[], str]] = {}
    for name, setting in MAP_SETTINGS.items():
        graphs = scale.of("table1", RECONSTRUCTED)
        rows = partial(_grid, results, "table1", "reconstruction", RECONSTRUCTING, graphs, setting)
        found[f"table1-{name}"] = rows
        found[f"figure2-{name}"] = partial(_signatures, results, graphs, setting)
    for part, title in (("leak-free", "links"), ("hgcn", "hgcn"), ("classification", "classes")):
        graphs = scale.of("table2", CLASSES)
        for setting in ("ours", "paper") if title == "hgcn" else ("ours", "code", "paper"):
            found[f"table2-{title}-{setting}"] = partial(_grid, results, "table2", part, NETWORKS, graphs, setting)
    for part, title in (("leak-free", "links"), ("classification", "classes")):
        found[f"table2-{title}-searched"] = partial(_searched, results, part, scale.of("table2", CLASSES))
    for setting in ("ours", "code", "paper"):
        graphs = scale.of("table3", ("pubmed", "citeseer", "cora"))
        found[f"table3-{setting}"] = partial(_grid, results, "table3", "classification", PERCEPTRONS, graphs, setting)
    deviations = (("table1", "table1", "reconstruction"), ("table2-links", "table2", "links"))
    for title, table, task in (*deviations, ("table2-classes", "table2", "classification")):
        usual, methods = (RECONSTRUCTED, ABLATED_MAP) if table == "table1" else (CLASSES, ABLATED)
        found[f"{title}-deviations"] = partial(_deviations, results, table, task, methods, scale.of(table, usual))
    found |= {f"table4-{setting.split()[0].lower()}": partial(_times, store, scale, setting) for setting in TIMED_SETTINGS}
    found |= {f"appendix-{name}": partial(_graphs, store, scale, name) for name in _HEADERS}
    found |= _printed()
    found["claims"] = partial(claims, results)
    return found


def _printed() -> dict[str, Callable[[], str]]:
    """Return what renders the paper's tables as they are printed."""
    tables: dict[str, tuple[Sequence[Method], Mapping[str, Sequence[float]], int]] = {
        "table1-printed": (RECONSTRUCTING, paper.PRINTED_MAP, 2),
        "table2-links-printed": (NETWORKS, paper.PRINTED_LINKS, 2),
        "table2-classes-printed": (NETWORKS, paper.PRINTED_CLASSES, 2),
        "table3-printed": (PERCEPTRONS, paper.PRINTED_PERCEPTRONS, 2),
    }
    return {name: partial(_as_printed, *about) for name, about in tables.items()}


def _as_printed(methods: Sequence[Method], figures: Mapping[str, Sequence[float]], digits: int) -> str:
    rows = [
        [method.name, *(f"{column[index]:.{digits}f}" for column in figures.values())] for index, method in enumerate(methods)
    ]
    return markdown(["method", *(TITLES[data] for data in figures)], rows)


def _grid(results: Results, table: str, part: str, methods: Sequence[Method], graphs: Sequence[str], setting: str) -> str:
    """Render methods by graphs; the best mean of a graph is in bold."""
    columns = [[_entry(results, table, part, data, method, setting) for method in methods] for data in graphs]
    bold = [_bolded([text for text, _ in column], [mean for _, mean in column]) for column in columns]
    rows = [[method.name, *(column[index] for column in bold)] for index, method in enumerate(methods)]
    return markdown(["method", *(TITLES.get(data, data) for data in graphs)], rows)


def _entry(results: Results, table: str, part: str, data: str, method: Method, setting: str) -> tuple[str, float | None]:
    key = (table, part, data, method.name, setting)
    scores = results.scores(*key)
    lost = results.diverged(*key)
    text = shown(list(scores.values()), results.scale.seeds - lost)
    note = f"{lost} diverged" if lost else ""
    mean = sum(scores.values()) / len(scores) if scores else None
    return (note if note and not scores else f"{text}, {note}" if note else text), mean


def _bolded(texts: list[str], means: list[float | None]) -> list[str]:
    known = [mean for mean in means if mean is not None]
    top = f"{max(known):.2f}" if len(known) > 1 else None
    return [
        f"**{text}**" if mean is not None and f"{mean:.2f}" == top else text for text, mean in zip(texts, means, strict=True)
    ]


def _signatures(results: Results, graphs: Sequence[str], setting: str) -> str:
    """Render mAP against the number of time dimensions."""
    rows = []
    for method in paper.SIGNATURES:
        entries = (_entry(results, "table1", "reconstruction", data, method, setting)[0] for data in graphs)
        rows.append([method.space.split(",")[1], *entries])
    return markdown(["t", *(TITLES.get(data, data) for data in graphs)], rows)


def _searched(results: Results, part: str, graphs: Sequence[str]) -> str:
    """Render the methods that a search has chosen settings for."""
    rows = []
    for method in NETWORKS:
        entries = [_entry(results, "table2", part, data, method, "searched")[0] for data in graphs]
        if any(entry != MISSING for entry in entries):
            rows.append([method.name, *entries])
    return markdown(["method", *(TITLES.get(data, data) for data in graphs)], rows)


def _deviations(results: Results, table: str, task: str, methods: Sequence[Method], graphs: Sequence[str]) -> str:
    """Render what each of the paper's choices changes, alone, seed by seed."""
    base = MAP_SETTINGS["network"] if table == "table1" else "ours"
    part = "leak-free" if task == "links" else task
    rows = []
    for change in ABLATIONS[task]:
        for method in methods:
            entries = []
            for data in graphs:
                common = (table, part, data, method.name)
                difference = paired(results.scores(*common, f"{base}; {change}"), results.scores(*common, base))
                entries.append(MISSING if difference is None else difference.shown(1))
            rows.append([change, method.name, *entries])
    return markdown(["changed", "method", *(TITLES.get(data, data) for data in graphs)], rows, left=2)


def _times(store: Store, scale: Scale, setting: str) -> str:
    """Render milliseconds of an epoch, median over rounds, and their ratio to the first row; beside the paper's ratios."""
    cells = [cell for cell in cells_of("table4", scale) if cell.setting == setting]
    header, columns = ["method"], []
    for cell in cells:
        line = store.find(cell, 0)
        device = "" if line is None else f" ({line['machine']['device'].split(':')[0]})"
        header += [f"{TITLES.get(cell.data, cell.data)}, ms{device}", "ratio", "printed ratio"]
        columns.append((cell.data, None if line is None else line["epoch_seconds"]))
    rows = []
    for index, method in enumerate(TIMED):
        row = [method.name]
        for data, seconds in columns:
            printed = paper.PRINTED_SECONDS.get(data)
            row += [MISSING, MISSING] if seconds is None else _time(seconds, method.name)
            row.append(MISSING if printed is None else f"{printed[index] / printed[0]:.2f}")
        rows.append(row)
    return markdown(header, rows)


def _time(seconds: Mapping[str, Sequence[float]], name: str) -> list[str]:
    own, first = median(seconds[name]), median(seconds[TIMED[0].name])
    return [f"{1000 * own:.2f}", f"{own / first:.2f}"]


def _graphs(store: Store, scale: Scale, what: str) -> str:
    """Render sizes, shares of delta or curvature of the graphs."""
    rows = []
    for cell in cells_of("appendix", scale):
        line = store.find(cell, 0)
        rows.append([TITLES.get(cell.data, cell.data), *_about(line, what, cell.data)])
    return markdown(["graph", *_HEADERS[what]], rows)


def _about(line: Line | None, what: str, data: str) -> list[str]:
    if line is None:
        return [MISSING] * len(_HEADERS[what])
    if what == "sizes":
        return [f"{line['sizes'][name]:,}" for name in ("nodes", "edges", "classes", "features", "diameter")]
    if what == "delta":
        return [_shares(line, data, at) for at in range(6)] + [f"{line['delta']['mean']:.3f}"]
    if what == "worst":
        delta, printed, diameter = line["delta"], paper.DELTAS.get(data), line["sizes"]["diameter"]
        low, high = delta["worst"], delta["worst_at_most"]
        known = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        share = f"{2 * low / diameter:.2f}" if low == high else f"at least {2 * low / diameter:.2f}"
        return [known, "" if printed is None else f"{printed:.1f}", f"{delta['largest']:g}", str(diameter), share]
    bend, told = line["curvature"], paper.CURVATURES.get(data)
    low, high = bend["interval"]
    shares = [f"{100 * bend[sign]:.1f} %" for sign in ("positive", "negative")]
    mean = f"{bend['mean']:+.2f}" if low == high else f"{bend['mean']:+.2f} ({low:+.2f} to {high:+.2f})"
    return [mean, f"{bend['node_mean']:+.2f}", *shares, "" if told is None else f"{told:.1f}"]


def _shares(line: Line, data: str, at: int) -> str:
    """Return the share of quadruples with a delta of so many halves, and the printed one if they differ."""
    here, printed = line["delta"]["shares"].get(str(at / 2), 0.0), paper.PRINTED_SHARES.get(data)
    differs = printed is not None and abs(here - printed[at]) > NEAR
    return f"**{here:.4f}** ({printed[at]:.4f})" if printed is not None and differs else f"{here:.4f}"
