#!/bin/bash
# Equal search and final of directed links. One H200, 16 cores; at most 4 minutes.
set -u
export PYTHONPATH=$PWD/src OMP_NUM_THREADS=1
: "${OUT:=/tmp/out}" "${QGCN_DATA:=$PWD/shared/data}" "${DEVICE:=cuda}" "${JOBS:=16}" "${TUNE:=120}" "${FINAL:=90}"
export QGCN_DATA
mkdir -p "$OUT"
python experiments/directed.py tune --device $DEVICE --jobs $JOBS --limit $TUNE --out "$OUT/directed.jsonl" ${MORE:-} > "$OUT/tune.txt" 2>&1
wc -l "$OUT/directed.jsonl"
python experiments/directed.py final --device $DEVICE --jobs $JOBS --limit $FINAL --out "$OUT/directed.jsonl" ${MORE:-} 2> "$OUT/final.err"
for file in "$OUT/tune.txt" "$OUT/final.err"; do tail -n 3 "$file"; done
grep -c error "$OUT/directed.jsonl"
