"""Print the table of reconstruction runs: mean and standard deviation of mAP over seeds, spaces by graphs.

python experiments/reconstruction_table.py experiments/results/reconstruction.jsonl
"""

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path


def main() -> None:
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in sys.argv[1:]:
        for line in Path(path).read_text().splitlines():
            run = json.loads(line)
            scores[run["space"], run["graph"]].append(100 * run["map"])
    spaces, graphs = (list(dict.fromkeys(column)) for column in zip(*scores, strict=True))
    print("| space | " + " | ".join(graphs) + " |")
    print("| --- |" + " ---: |" * len(graphs))
    for space in spaces:
        cells = [scores.get((space, graph), []) for graph in graphs]
        print(f"| {space} | " + " | ".join(_cell(cell) for cell in cells) + " |")


def _cell(values: list[float]) -> str:
    if len(values) < 2:
        return "".join(f"{value:.2f} (one seed)" for value in values)
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


if __name__ == "__main__":
    main()
