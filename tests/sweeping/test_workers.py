"""Workers: processes may be killed."""

import os
import signal
import time

import pytest

from qgcn.sweeping.workers import Here, Processes, workers_for
from qgcn.tasks import Config

SMALL = {"task": "links", "data": "stochastic-block", "model": "gcn", "space": "E4", "device": "cpu"}


def test_a_killed_process_is_told_and_replaced():
    workers, ends = Processes(2), {}
    try:
        workers.give("long", Config.checked(SMALL | {"epochs": 1_000_000, "patience": 1_000_000}))
        workers.give("short", Config.checked(SMALL | {"epochs": 2}))
        victim = workers.pids[0]
        os.kill(victim, signal.SIGKILL)
        limit = time.monotonic() + 120
        while len(ends) < 2 and time.monotonic() < limit:
            workers.listen(lambda *_: False, ends.__setitem__)
        assert ends["long"] is None
        assert ends["short"].state == "complete"
        assert victim not in workers.pids
        assert (workers.free(), workers.busy()) == (2, [])
    finally:
        workers.close()


def listen_for(workers, seconds):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        workers.listen(lambda *_: False, lambda *_: None)


def test_a_file_that_is_gone_is_told_by_the_process_that_gives_trials(tmp_path):
    workers = workers_for(1, shared=True)
    try:
        workers.give("trial", Config.checked(SMALL | {"data": str(tmp_path / "gone.csv"), "epochs": 2}))
        with pytest.raises(OSError, match=r"gone\.csv"):
            listen_for(workers, 120)
        assert workers.busy() == ["trial"]
    finally:
        workers.close()


def test_one_job_needs_no_process_unless_others_watch():
    assert isinstance(workers_for(1), Here)
