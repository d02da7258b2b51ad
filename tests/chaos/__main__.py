"""``python tests/chaos [SEED]``: all scenarios, a table of figures, exit code 1 if anything broke."""

import sys

from harness import everything, table

chaos = everything(int(sys.argv[1]) if len(sys.argv) > 1 else 0, float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
print(f"{len(chaos.writes)} writes of a run of {chaos.seconds:.1f} s; seed {chaos.seed}")
print(table(chaos))
sys.exit(bool(chaos.broken))
