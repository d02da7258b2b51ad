"""Faults of a process: killed, signalled or refused at a chosen write; the clock; limits. For children that chaos starts.

``python tests/chaos/faults.py FAULT ARGUMENT ... -- COMMAND ...`` is ``qgcn COMMAND ...`` with a fault.
"""

import ctypes
import errno
import io
import os
import resource
import signal
import sys
import time
from pathlib import Path


class Writes:
    """Counts what a process does to files below a folder, and calls ``act`` before a chosen one of these operations."""

    NAMES = ("open", "replace", "rename", "unlink", "mkdir", "rmdir", "fsync", "ftruncate", "pwrite")

    def __init__(self, folder, act=None, moment=-1, trace=None):
        self.folder, self.act, self.moment, self.count = str(Path(folder).absolute()), act, moment, 0
        self.trace = trace
        for name in self.NAMES:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        self._write_bytes = Path.write_bytes
        Path.write_bytes = lambda path, content: self._half(path, content)
        self._open = io.open
        Path.open = lambda path, mode="r", *more, **named: self._append(path, mode, more, named)

    def _wrapped(self, name, function):
        def call(first, *more, **named):
            if self._counts(name, first, more):
                self.event(name, first)
            return function(first, *more, **named)

        return call

    def _counts(self, name, first, more):
        if name == "open":
            return bool(more) and bool(more[0] & os.O_CREAT) and self._below(first)
        return isinstance(first, int) or self._below(first)

    def _below(self, path):
        return os.path.abspath(path).startswith(self.folder)  # noqa: PTH100  # links are not followed

    def event(self, name, what):
        """Count an operation."""
        if self.trace is not None:
            self.trace.append(f"{name} {what}")
        if self.count == self.moment and self.act is not None:
            self.count += 1
            self.act()
        self.count += 1

    def _half(self, path, content):
        """Write one half, count, and write the other."""
        if not self._below(path):
            return self._write_bytes(path, content)
        with self._open(path, "wb") as file:
            file.write(content[: len(content) // 2])
            file.flush()
            self.event("write", path)
            file.write(content[len(content) // 2 :])
        return len(content)

    def _append(self, path, mode, more, named):
        file = self._open(path, mode, *more, **named)
        if mode == "ab" and self._below(path):
            write = file.write

            class Halves:
                def __enter__(halves):  # noqa: N805
                    return halves

                def __exit__(halves, *_):  # noqa: N805
                    file.close()

                @staticmethod
                def write(content):
                    write(content[: len(content) // 2])
                    file.flush()
                    self.event("append", path)
                    write(content[len(content) // 2 :])

            return Halves()
        return file


def kill():
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(number):
    """Return a function that fails as a full or read-only disk does, from now on."""

    def act():
        raise OSError(number, os.strerror(number))

    return act


def kill_at(moment, folder="run"):
    """Kill the process before a write."""
    Writes(folder, kill, int(moment))


class Sums:
    """Counts what a process adds up with others, and calls ``act`` before a chosen sum."""

    def __init__(self, act=None, moment=-1):
        from qgcn.training.processes import Processes

        self.count, add = 0, Processes.add

        def counted(processes, numbers):
            if self.count == moment:
                act()
            self.count += 1
            return add(processes, numbers)

        Processes.add = counted


def kill_at_sum(moment):
    """Kill the process before it adds something up with others."""
    Sums(kill, int(moment))


def signal_at(moment, number, folder="run"):
    """Send the process a signal before a write."""
    Writes(folder, lambda: signal.raise_signal(int(number)), int(moment))


def fail_at(moment, number, folder="run"):
    """Let a write fail, as on a disk that is full or read-only."""
    Writes(folder, refuse(int(number)), int(moment))


def signal_after(seconds, number):
    """Send the process a signal once it has computed for some seconds since its cost was told: a stalled machine waits."""
    from qgcn.cli import running

    agree = running._agree

    def told(*arguments):
        agree(*arguments)
        signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(int(number)))
        signal.setitimer(signal.ITIMER_PROF, float(seconds))

    running._agree = told


def signal_at_line(line, number):
    """Send the process a signal after a validation has been logged."""
    from qgcn.training.metrics_log import MetricsLog

    write, left = MetricsLog.write, [int(line)]

    def logged(log, found):
        write(log, found)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), int(number))

    MetricsLog.write = logged


def signal_while_reading(number):
    """Send the process a signal while it reads its graph."""
    from qgcn.training import problem

    read = problem.as_data

    def reading(*arguments, **named):
        signal.raise_signal(int(number))
        return read(*arguments, **named)

    problem.as_data = reading


def clock_back(seconds):
    """Let the clock go backwards, every time it is asked."""
    now, gmtime = time.time(), time.gmtime
    state = [now]

    def back():
        state[0] -= float(seconds)
        return state[0]

    time.time = back
    time.gmtime = lambda given=None: gmtime(back() if given is None else given)


def file_limit(size):
    """Let no file grow beyond a size."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))


def obey_permissions():
    """Take from root the right to write where permissions forbid it."""
    if os.geteuid() == 0:

        class Header(ctypes.Structure):
            _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]

        header, data = Header(0x20080522, 0), (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.capget(ctypes.byref(header), data) == 0:
            data[0] &= ~0b110  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.capset(ctypes.byref(header), data)


_ALL = (kill_at, kill_at_sum, signal_at, fail_at, signal_after, signal_at_line, signal_while_reading, clock_back, file_limit)
FAULTS = {each.__name__.replace("_", "-"): each for each in (*_ALL, obey_permissions)}
FULL, READ_ONLY = errno.ENOSPC, errno.EROFS


def main():
    """Run the command line with a fault."""
    divide = sys.argv.index("--")
    name, *arguments = sys.argv[1:divide]
    FAULTS[name](*arguments)
    from qgcn.cli import main as qgcn

    qgcn(sys.argv[divide + 1 :])


if __name__ == "__main__":
    main()
