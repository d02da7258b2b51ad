"""Where the curvature of a network should start: scores of links by signature and initial beta.

    QGCN_DATA=... python experiments/start.py --graphs cora citeseer airport --times 1 2 8 15 --betas -1 -16
    python experiments/start.py --table                            # what the file holds

One line of ``results/start.jsonl`` for each graph, signature, beta and seed; what is there is not computed again.
"""

import argparse
import json
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from graphs import graph_of

RESULTS = Path(__file__).parent / "results" / "start.jsonl"
KEYS = ("graph", "space", "beta", "seed")


def measure(graph: str, space: str, beta: float, seed: int) -> dict[str, Any]:
    """Train the default network for links, alone, from one beta."""
    import torch

    from qgcn.training import Config, Run

    torch.set_num_threads(1)
    settings = {"task": "links", "data": graph, "space": space, "beta": beta, "seed": seed, "split_seed": seed}
    run = Run(Config.checked(settings | {"yardsticks": False, "blend": False}), data=graph_of(graph))
    began = time.process_time()
    run.train()
    (result,) = run.results
    line = {"graph": graph, "space": space, "beta": beta, "seed": seed, "best": result.get("best_epoch")}
    line |= {split: result[split][run.task.metric] for split in ("val", "test")}
    return line | {"cpu": time.process_time() - began}


def table(lines: list[dict[str, Any]]) -> None:
    """Print test scores of the first seed, one row for each graph and signature, one column for each beta."""
    found = {tuple(line[key] for key in KEYS): line["test"] for line in lines if line["seed"] == 0}
    betas = sorted({key[2] for key in found}, reverse=True)
    print(f"| graph | space | {' | '.join(f'{beta:g}' for beta in betas)} |")
    print(f"| --- | --- |{' ---: |' * len(betas)}")
    for graph, space in sorted({key[:2] for key in found}, key=lambda row: (row[0], int(row[1].split(",")[1]))):
        cells = [found.get((graph, space, beta, 0)) for beta in betas]
        print(f"| {graph} | {space} | {' | '.join('' if cell is None else f'{100 * cell:.1f}' for cell in cells)} |")


def main() -> None:
    """Measure what is asked for and not known yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=[])
    parser.add_argument("--dims", type=int, default=16, help="space and time dimensions together (default: 16)")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 2, 4, 8, 12, 15, 16])
    parser.add_argument("--betas", type=float, nargs="+", default=[-1.0, -4.0, -16.0, -64.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="print what the file holds and stop")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.out.read_text().splitlines()] if asked.out.is_file() else []
    known = {tuple(line[key] for key in KEYS) for line in lines}
    for case in [] if asked.table else product(asked.graphs, asked.times, asked.betas, range(asked.seeds)):
        graph, times, beta, seed = case
        key = (graph, f"Q{asked.dims - times},{times}", beta, seed)
        if key not in known:
            lines.append(measure(*key))
            with asked.out.open("a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    table(lines)


if __name__ == "__main__":
    main()
