"""Scenarios of large runs: one of two processes is killed, or a run whose nodes are in blocks."""

import os
import shutil
import signal
import socket
import time

import faults

from harness import SETTINGS, Outcome, call, content, start, wait

PATIENCE = 120.0
"""Seconds within which a process must have noticed that the other one is gone, on a busy machine."""
MINI = "--batch-size 8 --fanout 4 --edge-dropout 0.2"
LINKS = ["train", "links", "--data", "edges.csv", *SETTINGS.split(), *MINI.split(), "--out", "run"]
IN_BLOCKS = "--space Q3,2 --epochs 2 --checkpoint-seconds 0 --no-yardsticks --device cpu --blocks 3 --negatives 32"
BLOCKS = ["train", "reconstruction", "--data", "ring-of-trees", *IN_BLOCKS.split(), "--store", "disk", "--out", "run"]
RESUME = ["resume", "run"]


class Ranks:
    """Two processes of one command, forked as ``torchrun`` would start them.

    Args:
        folder: Where they run.
        command: The command.
        faults: Of each of them, as :func:`harness.start` takes it; nothing if there is none.
    """

    def __init__(self, folder, command, *faults):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.folder = folder
        self.pids = [
            start(folder, command, lambda rank=rank: self._begin(rank, port, faults[rank] if faults else ())) for rank in (0, 1)
        ]

    @staticmethod
    def _begin(rank, port, fault):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "GROUP_RANK": 0, "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in place.items()} | {"MASTER_ADDR": "127.0.0.1"})
        if fault:
            (faults.FAULTS[fault[0]](*fault[1:])) if isinstance(fault[0], str) else fault[0]()

    def ends(self):
        """Wait for both; tell how they ended, and how long after the first the second one did: it is killed at last."""
        found, first = {}, None
        while len(found) < 2:
            for rank, pid in enumerate(self.pids):
                if rank not in found and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    found[rank] = wait(self.folder, pid)
                    first = first or time.monotonic()
            if first is not None and time.monotonic() - first > PATIENCE:
                for rank, pid in enumerate(self.pids):
                    if rank not in found:
                        os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        return [found[0], found[1]], time.monotonic() - first


def reference_of(chaos, command, begin):
    """Return what an undisturbed run has in its folder, twice the same, and how many sums and writes it takes at least."""
    found = []
    for _ in range(2):
        folder = chaos.fresh()
        ended = begin(folder, command, lambda folder=folder: count_events(folder))
        assert all(each == Outcome(0, "") for each in ended), ended
        found.append((content(folder / "run"), *map(int, (folder / "counted").read_text().split())))
        shutil.rmtree(folder)
    assert found[0][0] == found[1][0], "two undisturbed runs differ"
    return found[0][0], *(min(each[k] for each in found) for k in (1, 2))  # of some events time decides


def count_events(folder):
    """Count what the process adds up with another one, and what it does to files of the run; write both when it leaves."""
    sums, writes, leave = faults.Sums(), faults.Writes(folder / "run"), os._exit

    def exit_(code):
        (folder / "counted").write_text(f"{sums.count} {writes.count}")
        leave(code)

    os._exit = exit_


def differences(folder, reference):
    """Tell what is left or differs in a folder whose run should have ended like an undisturbed one."""
    found, left = content(folder / "run"), [str(path) for path in (folder / "run").rglob(".*")]
    return [*left, *(name for name, each in reference.items() if found.get(name) != each)]


def ranks_killed(chaos, count):
    """Kill one of two processes before a sum, within an epoch for the most part, or the first one before a write."""
    command = chaos.named(LINKS)

    def both(folder, command, counter):
        return Ranks(folder, command, (counter,), ()).ends()[0]

    reference, sums, writes = reference_of(chaos, command, both)
    kinds = (
        ("process 0 of 2, at a sum", 0, "kill-at-sum", sums),
        ("process 1 of 2, at a sum", 1, "kill-at-sum", sums),
        ("process 0 of 2, at a write", 0, "kill-at", writes),
    )
    for k in range(count):
        (kind, dead, name, moments), folder = kinds[k % len(kinds)], chaos.fresh()
        fault = (name, chaos.random.randrange(moments))
        ended, later = Ranks(folder, command, *(((), fault) if dead else (fault, ()))).ends()
        other = ended[1 - dead]
        fine = ended[dead].code == -signal.SIGKILL and later < PATIENCE
        fine = fine and (other.is_one_line() or (other.err == "" and other.code in (0, 2)))
        done, _ = Ranks(folder, RESUME).ends()
        if any("holds no run" in each.err for each in done):  # killed before it was one: its folder is free
            done, _ = Ranks(folder, command).ends()
        different = differences(folder, reference)
        fine = fine and all(each == Outcome(0, "") for each in done) and not different
        chaos.check(f"killed: {kind}", fine, folder, fault, ended, later, done, different)


def blocks_killed(chaos, count):
    """Kill a run in blocks before a write, or in the middle of one, of a block for the most part; and the resumed run."""
    command = BLOCKS

    def one(folder, command, counter):
        return [call(folder, command, counter)]

    reference, _, writes = reference_of(chaos, command, one)
    for _ in range(count):
        folder = chaos.fresh()
        moments = [chaos.random.randrange(writes) for _ in range(2)]
        died = call(folder, command, "kill-at", moments[0])
        again = call(folder, RESUME, "kill-at", moments[1])
        done = call(folder, RESUME)
        if done.is_one_line() and "holds no run" in done.err:
            done = call(folder, command)
        different = differences(folder, reference)
        fine = died.code in (0, -signal.SIGKILL) and (again.code in (0, -signal.SIGKILL) or again.is_one_line())
        fine = fine and done == Outcome(0, "") and not different
        chaos.check("killed: nodes in blocks, at a write", fine, folder, moments, died, again, done, different)
