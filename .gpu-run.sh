#!/bin/bash
# On the H200, about 2 min 30 s: kernels over drawn negatives against float64; WordNet, exact against drawn at equal time;
# 10,000,000 nodes and 100,000,000 edges in blocks. SMALL=1 DEVICE=cpu tries it.
set -e
cd "$(dirname "$0")"
export PYTHONPATH=$PWD/src:$PWD/tests QGCN_DATA=${QGCN_DATA:-$PWD/shared/data} OUT=${OUT:-/tmp}
PY=${PY:-python}
cat > "$OUT/blocks_gpu.py" <<'PYTHON'
import json, os, time, torch
from qgcn import metrics
from qgcn.tasks import Config
from qgcn.training import Trainer
from qgcn.training.machine import fabric_of
from qgcn.training.problem import build_problem
from sampling import SPACES, case, close, solved
small, device = bool(os.environ.get("SMALL")), os.environ.get("DEVICE", "cuda")
out = open(os.path.join(os.environ["OUT"], "blocks.jsonl"), "a")
def say(**line):
    print(json.dumps(line), flush=True); out.write(json.dumps(line) + "\n"); out.flush()
if device == "cuda":
    for name in ("Q7,3", "H10"):
        space, points, graph = case(name, 300)
        columns = torch.randperm(300, generator=torch.Generator().manual_seed(0))[:77]
        close(solved("triton", torch.float32, space, points, graph, columns, "cuda"), solved("eager", torch.float64, space, points, graph, columns))
    say(kernels="agree with float64")
seconds = 3 if small else 30
def config(negatives, epochs):
    data = "web-edu" if small else "wordnet-nouns"
    return Config.checked({"task": "reconstruction", "data": data, "space": "H10", "negatives": negatives, "epochs": epochs, "eval_every": 10**8, "yardsticks": False, "device": device})
def wait():
    if device == "cuda": torch.cuda.synchronize()
task = build_problem(config("exact", 100), None, None)
rows = []
for negatives in ("exact", "512", "2048", "8192")[: 2 if small else 4]:
    epochs = 10**6
    for attempt in ("time", "train"):
        c = config(negatives, epochs); t = task.reconfigured(c); trainer = Trainer(t, [0], fabric_of(c))
        trainer.run(until=lambda: trainer.epoch >= 8); wait()
        began, first, last = time.perf_counter(), trainer.epoch, (28 if attempt == "time" else epochs - 1)
        if last > first:
            trainer.run(until=lambda: trainer.epoch >= last); wait()
        taken = time.perf_counter() - began
        if attempt == "time":
            epochs = max(12, int((seconds if negatives != "8192" else seconds / 2) / (taken / (last - first))))
    with torch.no_grad():
        points = trainer.predictor.eval().embed(t.x, t.graph)
        score = float(metrics.mean_average_precision(points, t.neighbourhoods, trainer.predictor.space))
    say(data=c.data, space=c.space, negatives=negatives, epochs=epochs, seconds=round(taken, 1), milliseconds=round(1000 * taken / max(1, epochs - 9), 2), map=round(100 * score, 2))
    rows.append((negatives, epochs, taken, score))
    del trainer, points
print("negatives | epochs | seconds | mAP"); [print(f"{n} | {e} | {s:.1f} | {100 * m:.2f}") for n, e, s, m in rows]
PYTHON
$PY "$OUT/blocks_gpu.py"
if [ -n "$SMALL" ]; then $PY benchmarks/blocks.py --nodes 20000 --negatives 100 --device "${DEVICE:-cuda}" --out "$OUT/blocks-epoch.jsonl"
else $PY benchmarks/blocks.py --nodes 1000000 10000000 --negatives 100 1024 --device cuda --out "$OUT/blocks-epoch.jsonl"; fi
