"""The journal of a sweep: whole lines that are as they were written, whatever happened meanwhile."""

import errno
import json
import os

import pytest
from optuna.storages.journal import JournalFileBackend

from qgcn.seals import Damaged
from qgcn.sweeping.journal import Journal

LOGS = [{"op_code": k, "worker_id": "w", "more": {"x": [0.5, "\u00fc"]}} for k in range(4)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.log"


def written(path, logs=LOGS):
    journal = Journal(path)
    for log in logs:
        journal.append_logs([log])
    return journal


def read(path):
    return [{name: value for name, value in log.items() if name != "check"} for log in Journal(path).read_logs(0)]


def test_what_is_written_is_read(path):
    journal = written(path)
    assert read(path) == LOGS
    assert [log["op_code"] for log in journal.read_logs(2)] == [2, 3]


def test_every_flipped_bit_is_noticed(path):
    written(path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in (1, 4, 32, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(Damaged, match=r"journal\.log is damaged: line \d"):
                Journal(path)


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_line_that_is_missing_is_noticed(path, removed):
    written(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:removed] + lines[removed + 1 :]))
    with pytest.raises(Damaged, match=f"line {removed + 1}"):
        Journal(path)


def test_half_a_line_is_overwritten(path):
    written(path)
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        path.write_bytes(whole[:end])
        assert read(path) == LOGS[:-1]
    Journal(path).append_logs(LOGS[-1:])
    assert path.read_bytes() == whole


def test_a_full_disk_leaves_whole_lines(path, monkeypatch):
    journal, fsync = written(path, LOGS[:2]), os.fsync

    def full(number):
        os.ftruncate(number, path.stat().st_size - 5)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*journal\.log: No space left on device"):
        journal.append_logs(LOGS[2:3])
    monkeypatch.setattr(os, "fsync", fsync)
    journal.append_logs(LOGS[2:])
    assert read(path) == LOGS


def test_a_journal_of_optuna_goes_on_with_checksums(path):
    JournalFileBackend(str(path)).append_logs(LOGS[:2])
    Journal(path).append_logs(LOGS[2:])
    assert read(path) == LOGS
    path.write_bytes(path.read_bytes().replace(b'"op_code":0', b'"op_code":7'))
    with pytest.raises(Damaged, match="line 3"):
        Journal(path)


def test_optuna_reads_it(path):
    written(path)
    assert [log["op_code"] for log in JournalFileBackend(str(path)).read_logs(0)] == [0, 1, 2, 3]


@pytest.mark.parametrize("line", ["[1]", "3", "{", "[" * 100_000, "", '{"a":1}}'])
def test_lines_are_objects(path, line):
    path.write_text(line + "\n")
    with pytest.raises(Damaged, match="line 1"):
        Journal(path)


def test_links_pipes_and_folders_are_refused(path, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(LOGS[0]) + "\nhalf")
    path.symlink_to(elsewhere)
    with pytest.raises(OSError, match="is a link to another place"):
        Journal(path)
    assert elsewhere.read_text().endswith("half")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OSError, match="is a pipe or a device"):
        Journal(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        Journal(path)
