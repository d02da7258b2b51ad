"""Render every table of scores in README.md and docs/ from the lines of ``experiments/results``.

    python experiments/tables.py            # write what has changed
    python experiments/tables.py --check    # say which page is not up to date, and stop with 1

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``; what is written there by hand is lost.
"""

import argparse
import io
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import arrow_dimensions
import batches
import boundary
import dimensions
import directed
import encoders
import entailment
import frontier
import searched
import signature
from qgcn.reproduction import Store
from qgcn.reproduction.blocks import Results, blocks_of
from qgcn.reproduction.paper import NETWORKS
from qgcn.reproduction.rendering import fill, markdown, names_in, shown
from qgcn.reproduction.tables import FILES, FULL

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGES = [HERE.parent / "README.md", *sorted((HERE.parent / "docs").rglob("*.md"))]
SCALE = replace(FULL, searched=HERE / "configs")
Line = dict[str, Any]

CHANGES = {
    "": "nothing",
    "confine": "`confine=0`: the whole space from the start",
    "adam_decay": "`adam_decay=0.999`",
    "schedule": '`schedule="constant"`',
    "balance": "`balance=false`: edges count alike",
    "temperature": "`temperature=1`",
    "lr": "`lr=0.1`",
}
"""Rows of the ablation: the key that is changed, and how the manual writes it."""
DENOMINATORS = {
    "negatives": "itself and all nodes that are not neighbours (default, squared)",
    "others": "all other nodes",
    "paper": "all nodes that are not neighbours, as the paper prints",
}
README_ROWS = ("GCN", "HGCN (H16)", "Q-GCN (Q15,1)", "Q-GCN (Q1,15)")
README_COLUMNS = [("classification", data) for data in ("cora", "citeseer", "airport")]
README_COLUMNS += [("leak-free", data) for data in ("cora", "citeseer", "pubmed", "airport")]


def lines_of(name: str) -> list[Line]:
    return [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]


def lines_if_measured(name: str) -> list[Line]:
    """Return the lines of what may not have been measured yet."""
    return lines_of(name) if (RESULTS / f"{name}.jsonl").is_file() else []


def printed(print_table: Callable[[], None]) -> str:
    """Return what a function prints."""
    with redirect_stdout(io.StringIO()) as text:
        print_table()
    return text.getvalue().strip()


def percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}"


# --- reconstruction ----------------------------------------------------------------------------------------------------


def reconstruction() -> str:
    """Ten dimensions: spaces by graphs, the best on the first graph first."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines_of("reconstruction"):
        scores[line["space"]][line["graph"]].append(100 * line["map"])
    graphs = ("facebook", "web-edu", "power", "bio-wormnet")
    order = sorted(scores, key=lambda space: -fmean(scores[space]["facebook"] or [0]))
    best = order[0]
    rows = []
    for space in order:
        cells = [shown(scores[space][graph], 0) if scores[space][graph] else "" for graph in graphs]
        rows.append([space, f"**{cells[0]}**" if space == best else cells[0], *cells[1:]])
    return markdown(["space", *(frontier.NAMES[graph] for graph in graphs)], rows)


def ablation() -> str:
    """Facebook, one seed: one key changed."""
    found = {("", line["space"]): line["map"] for line in lines_of("reconstruction") if _is_first(line)}
    for line in lines_of("ablation"):
        (key,) = set(line["options"]) - {"epochs", "eval_every"}
        found[key, line["space"]] = line["map"]
    spaces = ("H10", "Q7,3", "Q3,7")
    rows = [[words, *(percent(found[key, space], 2) for space in spaces)] for key, words in CHANGES.items()]
    return markdown(["", *spaces], rows)


def _is_first(line: Line) -> bool:
    return line["graph"] == "facebook" and line["seed"] == 0 and line["epochs"] == 5000


def objective() -> str:
    """Facebook, one seed: squared or plain distances by what an edge is weighed against."""
    found = {(line["denominator"], line["squared"], line["space"]): line["map"] for line in lines_of("objective")}
    columns = [(True, "H10"), (True, "Q7,3"), (False, "H10"), (False, "Q7,3")]
    rows = [[words, *(percent(found[key, *column], 2) for column in columns)] for key, words in DENOMINATORS.items()]
    return markdown(["an edge is weighed against", "squared distances, H10", "Q7,3", "plain distances, H10", "Q7,3"], rows)


def wordnet() -> str:
    """WordNet's nouns, if they were measured."""
    lines = lines_if_measured("wordnet")
    rows = [[line["space"], f"{line['map']:.5f}", f"{line['seconds']:.0f} s"] for line in lines]
    return markdown(["space", "mAP", "training, evaluations included"], rows or [["H10", "—", "—"], ["Q8,2", "—", "—"]])


def negatives() -> str:
    """Drawn negatives and all pairs at the same time."""
    rows = []
    for line in lines_if_measured("negatives"):
        about = [f"{line['nodes']:,}", line["space"], "one H200" if line["device"] == "cuda" else "one thread of a CPU"]
        step = f"{1000 * line['step']:,.0f} ms" if line["step"] < 10 else f"{line['step']:.1f} s"
        drawn = "all pairs" if line["negatives"] == "exact" else f"{int(line['negatives']):,}"
        rows.append([*about, drawn, step, f"{line['epochs']:,}", f"{line['seconds']:.0f} s", percent(line["map"])])
    return markdown(["nodes", "space", "on", "negatives", "step", "epochs", "training", "mAP"], rows, left=4)


def block_epochs() -> str:
    """An epoch in blocks."""
    rows = []
    for line in lines_if_measured("blocks"):
        place = "one H200" if line["device"] == "cuda" else f"{line['threads']} thread{'s' if line['threads'] > 1 else ''}"
        about = [f"{line['nodes']:,}", f"{line['edges']:,}", place, line["store"], f"{line['negatives']:,}"]
        spent = line["seconds"] if line["device"] == "cuda" else line["cpu_seconds"]
        rows.append([*about, f"{spent:,.1f} s", f"{line['edges'] / spent:,.0f}", f"{line['gigabytes']:.1f} GB"])
    header = ["nodes", "edges", "on", "other blocks in", "negatives", "epoch", "edges a second", "memory"]
    return markdown(header, rows, left=4)


def ordered() -> dict[str, Callable[[], str]]:
    """Return what renders the tables of directed pairs, by name."""

    def grouped(*stages: str) -> list[list[Line]]:
        found: dict[tuple[Any, ...], list[Line]] = defaultdict(list)
        for line in lines_if_measured("ordered"):
            if line["stage"] in stages:
                key = ("nodes", "model", "numbers", "form", "negatives", "epochs", "lr", "decay")
                found[line.get("ends", "both"), *(line[name] for name in key)].append(line)
        return list(found.values())

    def scored(lines: list[Line]) -> list[str]:
        return [shown([100 * line["scores"][name] for line in lines], len(lines), 1) for name in ("map", "map_in")]

    def models() -> str:
        rows = []
        for lines in grouped("whole", "part"):
            one, spent = lines[0], fmean(line["seconds"] for line in lines)
            about = [
                f"{one['nodes']:,}",
                f"{one['pairs']:,}",
                f"`{one['model']}`",
                str(one["numbers"]),
                one.get("ends", "both"),
            ]
            training = [f"{one['negatives']:,}", f"{one['epochs']:,}", f"{spent:,.0f} s", str(len(lines))]
            rows.append([*about, *training, *scored(lines)])
        header = [
            "nodes",
            "pairs",
            "model",
            "numbers",
            "ends",
            "negatives",
            "epochs",
            "processor",
            "runs",
            "mAP",
            "mAP of sources",
        ]
        return markdown(header, rows, left=3)

    def forms() -> str:
        rows = [[lines[0]["form"], *scored(lines)] for lines in grouped("objective")]
        return markdown(["objective", "mAP", "mAP of sources"], rows)

    def steps() -> str:
        def of(line: Line) -> list[str]:
            return [f"{line['nodes']:,}", f"`{line['model']}`", *(f"{line[way]:.1f}" for way in ("kernels", "plain"))]

        rows = [of(line) for (line,) in grouped("time")]
        return markdown(["nodes", "space", "kernels, ns", "plain PyTorch, ns"], rows, left=2)

    return {"ordered": models, "ordered-objective": forms, "ordered-time": steps}


def frontiers() -> str:
    return printed(lambda: frontier.print_summary(frontier.read(RESULTS / "frontier.jsonl")))


def every_signature() -> str:
    return printed(lambda: frontier.print_signatures(frontier.read(RESULTS / "frontier.jsonl"), "facebook"))


# --- networks ----------------------------------------------------------------------------------------------------------


def start() -> str:
    """Links by signature and initial curvature; beside it, the translation as the paper prints it."""
    betas = (-1.0, -4.0, -16.0, -64.0)
    bounded, printed_form = (
        {(line["graph"], line["space"], line["beta"]): line["test"] for line in lines_of(name) if line["seed"] == 0}
        for name in ("start", "start-unbounded")
    )
    rows = []
    for graph, space in sorted({key[:2] for key in bounded}, key=lambda row: (row[0], int(row[1].split(",")[1]))):
        cells = [percent(bounded.get((graph, space, beta))) for beta in betas]
        rows.append([graph, space, cells[0], percent(printed_form.get((graph, space, -1.0))), *cells[1:]])
    header = ["graph", "space", "-1", "-1, Eq. 8 as printed", *(f"{beta:g}" for beta in betas[1:])]
    return markdown(header, rows, left=2)


def readme(results: Results) -> str:
    """A few rows: our defaults or searched settings, whichever do better on validation."""
    names = {"GCN": "GCN (PyG), E16"}
    rows = []
    for method in (method for method in NETWORKS if method.name in README_ROWS):
        cells = [_better(results, ("table2", part, data, method.name)) for part, data in README_COLUMNS]
        texts = [shown(list(scores.values()), SCALE.seeds) if scores else "" for scores in cells]
        rows.append([names.get(method.name, method.name.replace(" (", ", ").removesuffix(")")), *texts])
    titles = {"cora": "Cora", "citeseer": "CiteSeer", "airport": "Airport", "pubmed": "PubMed"}
    header = [f"{titles[data]} {'F1' if part == 'classification' else 'links'}" for part, data in README_COLUMNS]
    return markdown(["model", *header], rows)


def _better(results: Results, key: tuple[str, str, str, str]) -> dict[int, float]:
    """Return the test scores of the settings that do better on validation."""
    means = {setting: results.scores(*key, setting, split="val").values() for setting in ("ours", "searched")}
    known = {setting: fmean(values) for setting, values in means.items() if values}
    return results.scores(*key, max(known, key=lambda setting: known[setting])) if known else {}


# --- yardsticks --------------------------------------------------------------------------------------------------------


def defaults(task: str) -> str:
    """The defaults of a task beside its yardsticks, on many graphs, means over seeds."""
    rows = []
    for graph, held in _by_graph(task).items():
        metric = held[0]["metric"]
        means: dict[str, float] = {}
        for name in held[0]["yardsticks"]:
            means[name] = fmean(line["yardsticks"][name][metric] for line in held)
        together = means.pop("blend without the network", None)
        best = max(means, key=lambda name: means[name])
        model = fmean(line["scores"][metric] for line in held)
        alone = fmean(line["network"][metric] for line in held if "network" in line) if "network" in held[0] else None
        margin = f"{round(100 * (model - means[best]), 2) + 0.0:+.2f}"  # no minus before a zero
        if task == "reconstruction":
            rows.append([graph, percent(model, 2), *(percent(means[name], 2) for name in means), margin])
            continue
        about = [str(len(held)), percent(model, 2), percent(alone, 2), percent(together, 2)]
        rows.append([graph, *about, f"{best} {percent(means[best], 2)}", margin])
    if task == "reconstruction":
        return markdown(["graph", "default", "random points", "spectral embedding", "margin"], rows)
    header = ["graph", "seeds", "default", "network alone", "without the network", "best single yardstick", "margin"]
    return markdown(header, rows)


def yardsticks(task: str, graphs: tuple[str, ...], columns: dict[str, str]) -> str:
    """Cheap methods on the data sets, split of seed 0; the best of a graph is in bold."""
    held = {graph: next(line for line in lines if line["seed"] == 0) for graph, lines in _by_graph(task).items()}
    rows = []
    for graph in graphs:
        values = [held[graph]["yardsticks"][name][held[graph]["metric"]] for name in columns]
        rows.append([graph, *(f"**{percent(each, 2)}**" if each == max(values) else percent(each, 2) for each in values)])
    return markdown(["graph", *columns.values()], rows)


def _by_graph(task: str) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = defaultdict(list)
    for line in lines_of("defaults"):
        if line["task"] == task and not line["settings"]:
            found[line["graph"]].append(line)
    return found


LINK_YARDSTICKS = ("common neighbours", "Adamic-Adar", "preferential attachment", "spectral embedding", "truncated SVD")
CLASS_YARDSTICKS = {
    "majority class": "majority",
    "logistic regression on features": "regression on features",
    "logistic regression on smoothed features": "on smoothed features",
}


def links_that_point(data: str) -> str:
    """Return the results of searched settings, of default settings as long as there are none."""
    lines = lines_of("directed")
    stage = "final" if any(line["stage"] == "final" for line in lines) else "few"
    return printed(lambda: directed.table(lines, data, stage))


def tables() -> dict[str, Callable[[], str]]:
    """Return what renders each table, by name."""
    store = Store(RESULTS, FILES)
    links = ("cora", "citeseer", "airport", "facebook", "power", "web-edu", "bio-wormnet")
    found: dict[str, Callable[[], str]] = dict(blocks_of(store, SCALE))
    found |= {"reconstruction": reconstruction, "ablation": ablation, "objective": objective}
    found |= {"frontier": frontiers, "frontier-facebook": every_signature, "start": start, "wordnet": wordnet}
    found |= {"negatives": negatives, "blocks": block_epochs} | ordered()
    found["readme"] = partial(readme, Results(store, SCALE))
    found["batches"] = lambda: batches.table(lines_of("batches"))
    found |= {"sampler": sampler_table, "scale": scale_table, "reading": reading_table}
    found["boundary"] = lambda: printed(lambda: boundary.table(lines_of("boundary"))).replace(":noise=1.0", ", noise 1")
    found["encoders"] = lambda: printed(lambda: encoders.table(lines_of("encoders")))
    found["choice"] = lambda: printed(lambda: signature.table(HERE / "signature"))
    found["choice-by-coordinates"] = lambda: printed(lambda: signature.table(HERE / "signature" / "by-coordinates"))
    found["searched"] = lambda: printed(lambda: searched.table(lines_of("searched")))
    found["searched-classes"] = lambda: printed(lambda: searched.table(lines_of("searched"), classes=True))
    found["dimensions"] = lambda: printed(lambda: dimensions.table(lines_of("dimensions")))
    found["entailment"] = lambda: printed(lambda: entailment.table(lines_of("entailment")))
    found["entailment-searched"] = lambda: printed(lambda: entailment.searched_table(lines_of("entailment")))
    found["arrow-dimensions"] = lambda: printed(
        lambda: arrow_dimensions.table(lines_of("arrow-dimensions"), "citeseer-directed")
    )
    found["entailment-first"] = lambda: printed(lambda: entailment.first_table(lines_of("entailment-first")))
    found |= {f"directed-{data}": partial(links_that_point, data) for data in directed.DATA}
    found |= {f"defaults-{task}": partial(defaults, task) for task in ("links", "classification", "reconstruction")}
    found["yardsticks-links"] = partial(yardsticks, "links", links, {name: name for name in LINK_YARDSTICKS})
    found["yardsticks-classes"] = partial(
        yardsticks, "classification", ("cora", "citeseer", "pubmed", "airport"), CLASS_YARDSTICKS
    )
    return found


def sampler_table() -> str:
    """Return the speeds of samplers, beside what random reads of memory would allow, two for each edge."""
    lines = _measured("sampler")
    rows = [
        [each["way"], f"{each['edges_per_second'] / 1e6:.1f}", f"{each['milliseconds']:.1f}"]
        for each in lines
        if "edges_per_second" in each
    ]
    (reads,) = (each["reads_per_second"] for each in lines if "reads_per_second" in each)
    rows.append(["two random reads of memory for each edge", f"{reads / 2e6:.1f}", ""])
    return markdown(["sampler", "million edges a second", "ms a batch"], rows)


def reading_table() -> str:
    """Return what it takes to read edge lists: time, and memory beside that of the graph."""
    rows = []
    for each in _measured("reading"):
        memory = [f"{each['peak_mib']} MiB", f"{each['graph_mib']} MiB", f"{each['peak_mib'] / each['graph_mib']:.1f}"]
        rows.append([each["file"], f"{each['megabytes']} MB", f"{each['cpu_seconds']:.1f}", f"{each['seconds']:.1f}", *memory])
    header = ["file", "size", "seconds of the processor", "on the clock", "memory", "graph", "memory / graph"]
    return markdown(header, rows)


def scale_table() -> str:
    """Return seconds and memory of an epoch by number of nodes, with the slope of time between two of them."""
    lines, rows = _measured("scale"), []
    for way, device in dict.fromkeys((each["way"], each.get("device")) for each in lines):
        before: Line | None = None
        found = (each for each in lines if (each["way"], each.get("device")) == (way, device))
        for each in sorted(found, key=lambda each: each["nodes"]):
            slope = ""
            if before is not None:
                slope = f"{log(each['epoch_seconds'] / before['epoch_seconds']) / log(each['nodes'] / before['nodes']):.2f}"
            part = "" if each["steps_measured"] >= each["steps_of_epoch"] else " *"
            name = way if device is None else f"{way}, {device}"
            rows.append([name, f"{each['nodes']:,}", f"{each['epoch_seconds']:.3g}{part}", slope, f"{each['peak_gb']:.2f}"])
            before = each
    return markdown(["task, way", "nodes", "seconds of an epoch", "slope", "GB"], rows)


def _measured(name: str) -> list[Line]:
    path = HERE.parent / "benchmarks" / "results" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    given = parser.parse_args()
    known, stale = tables(), 0
    for page in PAGES:
        before = page.read_text()
        after = fill(before, known) if names_in(before) else before
        if after != before:
            stale += 1
            print(f"{page.relative_to(HERE.parent)}: {'not up to date' if given.check else 'written'}")
            if not given.check:
                page.write_text(after)
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
