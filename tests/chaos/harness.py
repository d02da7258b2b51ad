"""Chaos: a small run is killed, signalled, refused and raced, and must end as if nothing had been, or say why not in a line.

Every attempt is a process of its own, forked from this one after PyTorch was imported: nothing else of them is shared.
"""

import collections
import contextlib
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # every run is one of the CPU; forks of a process that has begun CUDA cannot use it
import faults
import torch

import qgcn.cli.train  # what every child needs, once
import qgcn.training.run  # noqa: F401
from qgcn.cli import main

EDGES = "".join(f"n{k},n{(k * 7 + 1) % 24}\nn{k},n{(k + 1) % 24}\n" for k in range(24))
SETTINGS = "--space Q3,2 --epochs 8 --eval-every 2 --dropout 0.3 --checkpoint-seconds 0 --no-yardsticks --device cpu"
TRAIN = ["train", "links", "--data", "edges.csv", *SETTINGS.split(), "--seeds", "2", "--no-batch-seeds"]
RESUME = ["resume", "run"]
KEPT = ("config.yaml", "graph.npz", "split.safetensors", "metrics.jsonl", "results.json", "weights", "embeddings")


@dataclass(frozen=True)
class Outcome:
    """How a child has ended: exit code (negative: the signal it died of), and what it wrote to stderr."""

    code: int
    err: str

    def is_one_line(self):
        """Whether it is an error as users should see it."""
        return self.code == 2 and self.err.startswith("qgcn: ") and self.err.count("\n") == 1 and self.err.endswith("\n")


def start(folder, command, *fault):
    """Start the command line in a folder with a fault: a name of ``faults.FAULTS`` and its arguments, or a function."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(folder)
        torch.set_num_threads(1)
        for stream, name in ((1, os.devnull), (2, folder / f"err-{os.getpid()}")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        if fault:
            (faults.FAULTS[fault[0]](*fault[1:])) if isinstance(fault[0], str) else fault[0]()
        main([str(part) for part in command])
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException as error:
        import traceback

        os.write(2, "".join(traceback.format_exception(error)).encode())
    finally:
        os._exit(code)


def wait(folder, pid):
    """Wait for the end of a child."""
    _, status = os.waitpid(pid, 0)
    said = folder / f"err-{pid}"
    err = said.read_text() if said.exists() else ""
    said.unlink(missing_ok=True)
    return Outcome(os.waitstatus_to_exitcode(status), err)


def call(folder, command, *fault):
    """Run the command line in a child."""
    return wait(folder, start(folder, command, *fault))


def content(run):
    """Return the bytes of everything in a run that must not depend on what happened to it."""
    parts = [path for name in KEPT for path in ([run / name] if (run / name).is_file() else sorted((run / name).glob("*")))]
    return {str(path.relative_to(run)): path.read_bytes() for path in parts}


@dataclass
class Chaos:
    """Scenarios against one reference run, and what came of them.

    Attributes:
        place: Folder to work in.
        seed: Of the random moments.
        counts: Number of attempts, by scenario and outcome.
        broken: What went wrong.
    """

    place: Path
    seed: int = 0
    counts: dict = field(default_factory=lambda: collections.defaultdict(collections.Counter))
    broken: list = field(default_factory=list)

    def __post_init__(self):
        self.random = random.Random(self.seed)  # noqa: S311
        self.number = 0
        self.reference = self._reference()

    def fresh(self):
        """Return a new folder with the graph in it."""
        self.number += 1
        folder = self.place / f"try-{self.number}"
        folder.mkdir()
        (folder / "edges.csv").write_text(EDGES)
        shutil.copy(folder / "edges.csv", self.place / "edges.csv")
        return folder

    def _reference(self):
        folder = self.fresh()
        done = call(folder, self.train())
        assert done == Outcome(0, ""), done
        writes = folder / "writes"
        traced = call(folder, self.train("other"), lambda: self._trace(folder, writes))
        assert traced.code == 0, traced
        self.writes, modules = (part.splitlines() for part in writes.read_text().split("\n\n"))
        for name in modules:  # what a child needs is imported once, here
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        began = time.monotonic()
        third = call(folder, self.train("third"))
        assert third.code == 0, third
        self.seconds = time.monotonic() - began
        found = content(folder / "run")
        assert content(folder / "other") == found, "two undisturbed runs differ"
        shutil.rmtree(folder)
        return found

    @staticmethod
    def _trace(folder, target):
        trace = []
        faults.Writes(folder / "other", trace=trace)
        exit_ = os._exit

        def leave(code):
            Path(target).write_text("\n".join(trace) + "\n\n" + "\n".join(sys.modules))
            exit_(code)

        os._exit = leave

    def train(self, out="run"):
        """Return the command; the graph is named alike in all of them, since settings are part of what is compared."""
        return [*self.named(TRAIN), "--out", out]

    def named(self, command):
        """Return a command with the place of the graph in it."""
        return [str(self.place / "edges.csv") if part == "edges.csv" else part for part in command]

    # --- what must hold ----------------------------------------------------------------------------------------------

    def check(self, scenario, holds, folder, *told):
        """Count an attempt; what does not hold is kept, with its folder."""
        self.counts[scenario]["held" if holds else "broken"] += 1
        if not holds:
            self.broken.append((scenario, str(folder), *map(str, told)))
            print("broken:", *self.broken[-1], file=sys.stderr, flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)

    def ends_well(self, folder, run="run"):
        """Resume until done; tell whether the run ended with the same bytes, and nothing else in its folder."""
        done = call(folder, ["resume", run])
        if done.is_one_line() and "holds no run" in done.err:  # killed before it was one: its folder is free
            done = call(folder, self.train(run))
        left = [str(path) for path in (folder / run).rglob(".*")]
        different = [name for name, each in self.reference.items() if content(folder / run).get(name) != each]
        return done == Outcome(0, "") and not left and not different, (done, left, different)

    # --- scenarios ---------------------------------------------------------------------------------------------------

    def killed_at_writes(self, count):
        """Kill at writes, evenly chosen among all of them; then kill the resumed run at one, too."""
        moments = [round(k * (len(self.writes) - 1) / max(1, count - 1)) for k in range(count)]
        for moment in moments:
            folder = self.fresh()
            died = call(folder, self.train(), "kill-at", moment)
            again = call(folder, RESUME, "kill-at", self.random.randrange(len(self.writes)))
            fine, told = self.ends_well(folder)
            expected = died.code == -signal.SIGKILL and (again.code in (0, -signal.SIGKILL) or again.is_one_line())
            self.check("killed at a write", fine and expected, folder, self.writes[moment], died, again, told)

    def killed_at_random(self, count):
        """Kill at random times, and the resumed run as well."""
        for _ in range(count):
            folder = self.fresh()
            codes = []
            for command in (self.train(), RESUME):
                pid = start(folder, command)
                time.sleep(self.random.uniform(0, self.seconds))
                os.kill(pid, signal.SIGKILL)
                codes.append(wait(folder, pid))
            fine, told = self.ends_well(folder)
            expected = all(each.code in (0, -signal.SIGKILL) or each.is_one_line() for each in codes)
            self.check("killed at a random time", fine and expected, folder, codes, told)

    def signalled(self, count):
        """Send SIGINT or SIGTERM at a write or at a random time."""
        for k in range(count):
            folder, number = self.fresh(), (signal.SIGINT, signal.SIGTERM)[k % 2]
            if k % 4 < 2:
                ended = call(folder, self.train(), "signal-at", self.random.randrange(len(self.writes)), int(number))
            else:
                pid = start(folder, self.train())
                while not (folder / f"err-{pid}").exists():  # a busy machine has not begun it yet
                    time.sleep(0.001)
                time.sleep(self.random.uniform(0.3, 1) * self.seconds)
                os.kill(pid, number)
                ended = wait(folder, pid)
            fine, told = self.ends_well(folder)
            self.check(f"{number.name}", fine and (ended.code == 0 or ended.is_one_line()), folder, ended, told)

    def full_disk(self, count):
        """Let a write fail for want of space; limit the size of files; fill a small disk if one can be mounted."""
        for k in range(count):
            folder = self.fresh()
            fault = ("fail-at", self.random.randrange(len(self.writes)), faults.FULL)
            failed = call(folder, self.train(), *(("file-limit", 2 ** (9 + k // 2 % 6)) if k % 2 else fault))
            fine, told = self.ends_well(folder)
            self.check("disk full or file too large", fine and (failed.code == 0 or failed.is_one_line()), folder, failed, told)

    def small_disk(self, count):
        """Train on a disk of a few pages, then give it room; tell whether a disk can be mounted here."""
        for k in range(count):
            folder = self.fresh()
            (folder / "run").mkdir()
            if os.geteuid() != 0 or os.system(f"mount -t tmpfs -o size={4 * (k + 1)}k none '{folder / 'run'}' 2>/dev/null"):  # noqa: S605
                shutil.rmtree(folder)
                return
            try:
                failed = call(folder, self.train())
                os.system(f"mount -o remount,size=4m '{folder / 'run'}'")  # noqa: S605
                fine, told = self.ends_well(folder)
            finally:
                os.system(f"umount '{folder / 'run'}'")  # noqa: S605
            self.check("small disk", fine and (failed.code == 0 or failed.is_one_line()), folder, failed, told)

    def read_only(self, count):
        """Finished and unfinished runs that may not be written: the first are read, the others refused in a line."""
        for k in range(count):
            folder, unfinished = self.fresh(), k % 2 == 1
            if unfinished:
                call(folder, self.train(), "kill-at", len(self.writes) // 2)
            else:
                call(folder, self.train())
            modes = {path: path.stat().st_mode for path in (folder / "run").rglob("*")} | {folder / "run": 0o755}
            for path in modes:
                path.chmod(0o555 if path.is_dir() else 0o444)
            refused = call(folder, RESUME, "obey-permissions")
            asked = call(folder, ["export", "run", "--out", "points.csv"], "obey-permissions")
            for path, mode in modes.items():
                path.chmod(mode)
            fine, told = self.ends_well(folder)
            if unfinished:
                fine = fine and refused.is_one_line() and "cannot write to" in refused.err
            else:
                fine = fine and refused.code == 0 and asked == Outcome(0, "")
            self.check("read-only folder", fine, folder, refused, asked, told)

    def two_processes(self, count):
        """Two trainings in one folder, two without one, two resumed: one writes, the other is told or takes another folder."""
        for k in range(count):
            folder, kind = self.fresh(), ("same folder", "no folder", "resumed")[k % 3]
            if kind == "resumed":
                call(folder, self.train(), "kill-at", self.random.randrange(len(self.writes)))
                command = RESUME if (folder / "run" / "config.yaml").exists() else self.train()
            else:
                command = self.train() if kind == "same folder" else self.train()[:-2]
            pids = []
            for _ in range(2):
                pids.append(start(folder, command))
                time.sleep(self.random.choice((0, 0.01, 0.1)))
            ended = sorted((wait(folder, pid) for pid in pids), key=lambda each: each.code)
            if kind == "no folder":
                made = sorted((folder / "runs").iterdir())
                fine = [each.code for each in ended] == [0, 0] and len(made) == 2
                fine = fine and all(content(each) == self.reference for each in made)
                told = made
            else:
                fine, told = self.ends_well(folder)
                second = ended[1]
                fine = fine and ended[0].code == 0 and (second.is_one_line() or (kind == "resumed" and second.code == 0))
            self.check(f"two processes, {kind}", fine, folder, ended, told)

    def clock(self, count):
        """Kill, and resume with a clock that goes backwards from files of the future."""
        for _ in range(count):
            folder = self.fresh()
            call(folder, self.train(), "kill-at", self.random.randrange(len(self.writes)))
            for path in folder.rglob("*"):
                os.utime(path, (2**32, 2**32), follow_symlinks=False)
            command = RESUME if (folder / "run" / "config.yaml").exists() else self.train()
            ended = call(folder, command, "clock-back", 3600)
            fine, told = self.ends_well(folder)
            self.check("clock moved back", fine and ended.code == 0, folder, ended, told)

    def damaged(self, count):
        """Flip a bit of a file: it is named, or does not matter."""
        folder = self.fresh()
        call(folder, self.train())
        call(folder, self.train("half"), "kill-at", len(self.writes) * 2 // 3, "half")
        for k in range(count):
            run = folder / ("half" if k % 2 else "run")
            path = self.random.choice([path for path in sorted(run.rglob("*")) if path.is_file() and path.name != ".lock"])
            copied = self.fresh()
            shutil.copytree(run, copied / "run")
            hurt = copied / "run" / path.relative_to(run)
            whole = bytearray(hurt.read_bytes())
            whole[self.random.randrange(len(whole))] ^= 1 << self.random.randrange(8)
            hurt.write_bytes(whole)
            command = RESUME if k % 2 else ["export", "run", "--out", "points.csv"]
            ended = call(copied, command)
            same = k % 2 == 0 or content(copied / "run") == self.reference
            fine = (ended.code == 0 and same) or (ended.is_one_line() and hurt.name in ended.err)
            self.counts["one flipped bit"]["named" if ended.code == 2 else "without effect"] += 1
            self.check("one flipped bit", fine, copied, hurt, ended)


def table(chaos):
    """Return the figures as a table in Markdown."""
    rows = ["| scenario | attempts | held | broken |", "| --- | --- | --- | --- |"]
    for name, count in chaos.counts.items():
        held, wrong = count["held"], count["broken"]
        rows.append(f"| {name} | {held + wrong} | {held} | {wrong} |")
    return "\n".join(rows)


def everything(seed=0, scale=1.0, names=()):
    """Run all scenarios, or those of some names; return what came of them."""
    import together  # which needs what is above

    with tempfile.TemporaryDirectory() as place:
        chaos = Chaos(Path(place).resolve(), seed)
        for scenario, count in (
            (chaos.killed_at_writes, 120),
            (chaos.killed_at_random, 80),
            (chaos.signalled, 40),
            (chaos.full_disk, 44),
            (chaos.small_disk, 12),
            (chaos.read_only, 6),
            (chaos.two_processes, 30),
            (chaos.clock, 8),
            (chaos.damaged, 60),
            (partial(together.ranks_killed, chaos), 30),
            (partial(together.blocks_killed, chaos), 60),
        ):
            name = getattr(scenario, "func", scenario).__name__
            if names and name not in names:
                continue
            scenario(max(1, round(count * scale)))
            print(f"{name}: {len(chaos.broken)} broken so far", file=sys.stderr, flush=True)
        return chaos
