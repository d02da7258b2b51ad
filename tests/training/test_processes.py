"""Several processes, for real: gloo on this machine."""

import json
import os
import subprocess
import sys

import pytest
import torch
from lightning_fabric import Fabric

from qgcn.training.processes import LostProcess, Place, Processes

NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
TOGETHER = """
import json, os, sys
from qgcn.training import Config
from qgcn.training.machine import fabric_of
from qgcn.training.processes import LostProcess, Processes
import torch

here = Processes(fabric_of(Config.checked({"task": "links", "data": "cycle", "device": "cpu"})))
rank = here.rank
one, two, three = torch.full((2, 3), rank + 1.0), torch.tensor([10.0 * rank]), torch.tensor([1, rank])
here.add_in_place(one, two, three)
found = {
    "sums": [one.tolist(), two.tolist(), three.tolist()],
    "agreed": [here.agree(False), here.agree(rank == 1), here.agree(True)],
    "from_first": here.from_first(b"abc\\x00\\xff" if rank == 0 else b"other and longer").hex(),
    "of_first": here.of_first(torch.tensor([rank + 0.5, float("nan") if rank else 2.0], dtype=torch.float64)).tolist(),
    "nothing": here.from_first(b"" if rank == 0 else b"something").hex(),
    "share": [here.share.rank, here.share.count],
}
print(json.dumps(found), flush=True)
if rank == 1:
    os._exit(9)
try:
    here.agree(True)
except LostProcess as error:
    print(error, flush=True)
"""


def place(monkeypatch, *values):
    for name, value in zip(NAMES, values, strict=False):
        monkeypatch.setenv(name, value)
    return Place.here()


def test_a_process_is_alone_unless_somebody_says_otherwise(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    assert Place.here() == Place()
    assert place(monkeypatch, "0", "0", "1", "1") == Place()
    assert place(monkeypatch, "3", "1", "4", "2") == Place(3, 1, 4, 2)


@pytest.mark.parametrize(
    "values", [("4", "1", "4", "2"), ("3", "2", "4", "2"), ("0", "0", "3", "2"), ("x", "0", "2", "2"), ("0", "0", "2")]
)
def test_what_is_no_place_is_said(monkeypatch, values):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match=rf"names no process of a run, which torchrun does: RANK={values[0]}, LOCAL_RANK="):
        place(monkeypatch, *values)


def test_one_process_has_nobody_to_ask():
    alone = Processes(Fabric(accelerator="cpu", devices=1))
    assert alone.alone
    one = torch.ones(3)
    alone.add_in_place(one)
    assert one.tolist() == [1, 1, 1]
    assert alone.agree(True)
    assert not alone.agree(False)
    assert alone.from_first(b"abc") == b"abc"
    assert alone.of_first(one) is one
    with pytest.raises(RuntimeError, match="connection"), alone.heard():
        raise RuntimeError("no connection of ours")


def test_processes_add_agree_and_notice_when_one_has_gone(tmp_path, free_port):
    processes = []
    for rank in range(2):
        told = dict(zip(NAMES, map(str, (rank, rank, 2, 2)), strict=True))
        told |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port, "GROUP_RANK": "0", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", TOGETHER]
        processes.append(subprocess.Popen(command, env=os.environ | told, stdout=subprocess.PIPE, text=True, cwd=tmp_path))
    said = [process.communicate(timeout=300)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 9]
    for rank, lines in enumerate(said):
        found = json.loads(lines[0])
        assert found["sums"] == [[[3.0] * 3] * 2, [10.0], [2, 1]]
        assert found["agreed"] == [False, True, True]
        assert bytes.fromhex(found["from_first"]) == b"abc\x00\xff"
        assert found["of_first"] == [0.5, 2.0]
        assert found["nothing"] == ""
        assert found["share"] == [rank, 2]
    assert said[0][1].startswith("process 0 of 2 has lost another one (")


def test_losing_a_process_is_an_error_of_the_user():
    assert issubclass(LostProcess, ValueError)
