"""``python tests/chaos [SEED [SCALE [SCENARIO ...]]]``: a table of figures; exit code 1 if anything broke."""

import sys

from harness import everything, table

given = sys.argv[1:]
seed, scale, names = int(given[0]) if given else 0, float(given[1]) if given[1:] else 1.0, given[2:]
chaos = everything(seed, scale, names)
print(f"{len(chaos.writes)} writes of a run of {chaos.seconds:.1f} s; seed {chaos.seed}")
print(table(chaos))
sys.exit(bool(chaos.broken))
