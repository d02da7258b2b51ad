"""The boundary of the Fermi-Dirac decoder: learned, fixed, or learned and drawn to its start.

    QGCN_DATA=... python experiments/boundary.py --graphs spreading-tree --dropped 0.5 0
    QGCN_DATA=... python experiments/boundary.py --graphs cora citeseer airport
    QGCN_DATA=... python experiments/boundary.py --graphs spreading-tree:noise=1.0
    python experiments/boundary.py --table

One line of ``results/boundary.jsonl`` for each graph, space, boundary, dropout and seed, networks alone, leak-free split; what
is there is not computed again. Dropout is that of features and of edges; all settings not named are the task's defaults.
"""

import argparse
import json
import multiprocessing
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

RESULTS = Path(__file__).parent / "results" / "boundary.jsonl"
KEYS = ("graph", "space", "boundary", "dropped")
SPACES = ("E16", "H16", "Q15,1", "Q14,2")
PULLS = {"learned": 0.0, "fixed": 0.0, "pulled 0.01": 0.01, "pulled 0.1": 0.1}
"""Weight of the squared deviation of (r, log tau) from (2, 0) in the loss, by the name of a boundary."""
Case = tuple[str, str, str, float]


def measure(job: tuple[Case, int]) -> list[dict[str, Any]]:
    """Train one case for all its seeds, as one batch; return a line for each."""
    import torch

    from qgcn import __version__
    from qgcn.data import load
    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    case, seeds = job
    named = dict(zip(KEYS, case, strict=True))
    graph, _, option = str(named["graph"]).partition(":")
    options = {name: float(value) for name, _, value in [option.partition("=")] if name}
    settings: dict[str, Any] = {"task": "links", "data": graph, "space": named["space"], "seeds": seeds}
    settings |= {"feature_dropout": named["dropped"], "edge_dropout": named["dropped"]}
    settings |= {"degree_features": True, "feature_dropout": 0.0} if graph == "airport" else {}
    settings |= {"learn_boundary": named["boundary"] != "fixed", "yardsticks": False, "blend": False}
    began = time.monotonic()
    run = Run(Config.checked(settings), data=load(graph, **options))
    _pull(PULLS[named["boundary"]])
    run.train()
    about = {"seconds": round((time.monotonic() - began) / seeds, 2), "version": __version__, "torch": torch.__version__}
    lines = []
    for each in run.results:
        values = run.predictor(each["seed"]).decoder.values  # type: ignore[union-attr]
        end = {"r": float(values[0]), "tau": float(values[1].exp())}  # type: ignore[index]
        scores = {"val": each["val"]["roc_auc"], "test": each["test"], "best_epoch": each["best_epoch"]}
        lines.append(named | {"seed": each["seed"]} | scores | end | about)
    return lines


def _pull(weight: float) -> None:
    """Draw the boundary to its start in the loss of every model that is built from now on in this process."""
    from torch import tensor

    from qgcn.tasks.links import LinkPredictor

    plain = getattr(LinkPredictor, "plain_loss", LinkPredictor.loss)

    def loss(self: Any, *arguments: Any) -> Any:
        return plain(self, *arguments) + weight * (self.decoder.values - tensor([2.0, 0.0])).square().sum()

    LinkPredictor.plain_loss = plain  # type: ignore[attr-defined]
    LinkPredictor.loss = loss if weight else plain  # type: ignore[method-assign]


def table(lines: list[dict[str, Any]]) -> None:
    """Print validation and test scores, one row for each graph, space and dropout, one column for each boundary."""
    cells: dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        cells[line["graph"], line["dropped"], line["space"]][line["boundary"]].append(line)
    columns = [name for name in PULLS if any(name in row for row in cells.values())]
    print(f"| graph | dropout | space | {' | '.join(columns)} |\n| --- | ---: | --- |{' ---: |' * len(columns)}")
    for (graph, dropped, space), row in sorted(cells.items()):
        print(f"| {graph} | {dropped:g} | {space} | {' | '.join(_cell(row[column]) for column in columns)} |")


def _cell(found: list[dict[str, Any]]) -> str:
    """Return the validation score, and the test score with its deviation."""
    if not found:
        return ""
    scores = [100 * line["test"]["roc_auc"] for line in found]
    spread = f" ± {stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{100 * mean(line['val'] for line in found):.1f}, {mean(scores):.1f}{spread}"


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=[])
    parser.add_argument("--spaces", nargs="+", default=SPACES)
    parser.add_argument("--boundaries", nargs="+", default=["learned", "fixed"], choices=PULLS)
    parser.add_argument("--dropped", nargs="+", type=float, default=[0.5])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what the file holds and stop")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    known = {tuple(line[key] for key in KEYS) for line in lines}
    cases: list[Case] = list(product(asked.graphs, asked.spaces, asked.boundaries, asked.dropped))
    jobs = [(case, asked.seeds) for case in ([] if asked.table else cases) if case not in known]
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for found in pool.imap_unordered(measure, jobs):
            lines += found
            with asked.out.open("a") as file:
                file.write("".join(json.dumps(line) + "\n" for line in found))
    table(lines)


if __name__ == "__main__":
    main()
