"""Locks: one holder, told by name, and none after its death."""

import errno
import os
import platform
import re
import signal
import subprocess
import sys

import pytest

from qgcn import locks
from qgcn.locks import FileLock, Locked, holder, try_lock

HOLD = """
import sys, time
from pathlib import Path
from qgcn.locks import FileLock
with FileLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "run" / ".lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def path(tmp_path):
    (tmp_path / "run").mkdir()
    return tmp_path / "run" / ".lock"


def test_the_second_process_is_told_who_holds_it(path, other):
    assert other.stdout.readline() == "held\n"
    who = rf"process {other.pid} on {re.escape(platform.node())} since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(who, holder(path))
    with pytest.raises(Locked, match=rf"run is being written by {who}; wait for it to end, or stop it"), FileLock(path).held():
        pass
    other.communicate("go\n", timeout=60)
    assert not path.exists()
    assert holder(path) is None


def test_a_dead_process_holds_nothing_and_its_file_is_taken_over(path, other):
    assert other.stdout.readline() == "held\n"
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert path.exists()
    assert holder(path) is None
    lock = FileLock(path)
    with lock.held():
        assert lock.inherited
        assert f"process {os.getpid()} on" in holder(path)
    assert not path.exists()


def test_a_lock_is_exclusive_within_a_process_and_released_by_an_error(path):
    lock = FileLock(path)

    def fail():
        with lock.held():
            assert (lock.effective, lock.inherited) == (True, False)
            with pytest.raises(Locked), FileLock(path).held():
                pass
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with lock.held():
        assert path.exists()


def test_a_holder_without_a_name_is_a_holder(path):
    with FileLock(path).held():
        path.write_text("[]")
        assert holder(path) == "another process"


def test_a_link_is_not_followed(path, tmp_path):
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"\.lock"), FileLock(path).held():
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_system_without_locks_keeps_nobody_out(path, monkeypatch):
    class NoLocks:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(*_):
            raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(locks, "fcntl", NoLocks)
    lock = FileLock(path)
    with lock.held():
        assert not lock.effective
        assert holder(path) is None
        with path.open() as file:
            assert try_lock(file.fileno()) is None
