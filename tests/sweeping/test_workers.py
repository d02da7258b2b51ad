"""Workers: processes may be killed."""

import os
import signal
import time

from qgcn.sweeping.workers import Processes
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
