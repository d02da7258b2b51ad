"""Speed of the analysis: sampled delta against NetworkX pair by pair, the exact worst delta, the whole command.

QGCN_DATA=... python benchmarks/analysis.py                # all three
QGCN_DATA=... python benchmarks/analysis.py --part exact   # one of them: sampled, exact, command
"""

import argparse
import resource
import subprocess
import sys
import time

import numpy as np


def sampled(graph: str, quadruples: int, pairwise: int) -> None:
    """Print the time of ``quadruples`` quadruples here, and of ``pairwise`` of them with NetworkX, both for 50,000."""
    import networkx

    from qgcn.analysis import gromov_hyperbolicity
    from qgcn.data import load

    data = load(graph)
    whole = networkx.Graph(data.edge_index.T.tolist())
    nodes = np.array(list(whole))
    gromov_hyperbolicity(data, samples=10)  # what is imported on first use is not timed
    began = time.perf_counter()
    found = gromov_hyperbolicity(data, samples=quadruples)
    ours = time.perf_counter() - began
    rng = np.random.default_rng(0)
    gaps = []
    began = time.perf_counter()
    for _ in range(pairwise):
        a, b, c, d = rng.choice(nodes, 4, replace=False)
        try:
            far = [networkx.shortest_path_length(whole, *pair) for pair in ((a, b), (c, d), (a, c), (b, d), (a, d), (b, c))]
        except networkx.NetworkXNoPath:
            continue
        sums = sorted((far[0] + far[1], far[2] + far[3], far[4] + far[5]))
        gaps.append((sums[2] - sums[1]) / 2)
    theirs = (time.perf_counter() - began) * quadruples / len(gaps)  # of two components there is none
    print(f"{graph}: {quadruples:,} quadruples, mean delta {found.mean:.3f}; NetworkX {np.mean(gaps):.3f} of {len(gaps):,}")
    print(
        f"  qgcn {ours:.2f} s, NetworkX pair by pair {theirs:.0f} s (from {pairwise:,} quadruples): {theirs / ours:.0f} times"
    )


def exact(graph: str) -> None:
    """Print time and memory of the exact worst delta."""
    from qgcn.analysis import Shape
    from qgcn.analysis.four_points import worst_delta

    shape = Shape.of(graph)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = worst_delta(shape.components[0])
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{graph}: worst delta {found.lower / 2:g} (at most {found.upper / 2:g}), nodes {found.nodes}")
    print(f"  {seconds:.1f} s, {peak / 1024:.0f} MiB at the peak, {(peak - before) / 1024:.0f} MiB of them for the search")


def command(graph: str) -> None:
    """Print the time of the whole command, in a process of its own."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "qgcn", "analyze", graph, "--json"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    print(f"qgcn analyze {graph}: {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("sampled", "exact", "command", "all"), default="all")
    parser.add_argument("--quadruples", type=int, default=50_000)
    parser.add_argument("--pairwise", type=int, default=2_000, help="quadruples that NetworkX is timed with")
    chosen = parser.parse_args()
    if chosen.part in ("sampled", "all"):
        sampled("cora", chosen.quadruples, chosen.pairwise)
    if chosen.part in ("exact", "all"):
        exact("power")
    if chosen.part in ("command", "all"):
        command("pubmed")
