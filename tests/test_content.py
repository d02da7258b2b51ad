"""Bytes of files: regular files only, unpacked within limits; and the memory of every reader."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memory
from qgcn.content import TEXT, check_file, megabytes, read_bytes, read_regular
from qgcn.data import read_graph


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def write(content, name="graph.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_file_has_its_size_and_its_bytes(write):
    path = write("abc")
    assert check_file(path) == 3
    assert read_bytes(path) == b"abc"


def test_a_file_is_read_as_it_is_or_unpacked(write):
    packed = write(gzip.compress(b"abc", mtime=0), "a.csv.gz")
    assert read_bytes(packed) == b"abc"
    assert read_regular(packed) == gzip.compress(b"abc", mtime=0)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    (tmp_path / "folder.csv").mkdir()
    for name, message in [
        ("pipe.csv", r"pipe\.csv is a pipe or a device, not a file$"),
        ("zero.csv", r"zero\.csv is a pipe or a device, not a file$"),
        ("folder.csv", r"folder\.csv is a folder, not a file$"),
        ("none.csv", r"^no file .*none\.csv$"),
    ]:
        with pytest.raises(OSError, match=message):
            read_bytes(tmp_path / name)
        with pytest.raises(OSError, match=message):
            read_regular(tmp_path / name)
        with pytest.raises(OSError, match=message):
            read_graph(tmp_path / name)


def test_a_gzip_file_is_unpacked_up_to_its_limit(write):
    packed = write(gzip.compress(bytes(TEXT.constant), mtime=0), "a.csv.gz")
    assert len(read_bytes(packed)) == TEXT.constant
    bomb = write(gzip.compress(bytes(TEXT.constant * 3 // 2), mtime=0), "b.csv.gz")
    assert TEXT.of(bomb.stat().st_size) < TEXT.constant * 3 // 2
    with pytest.raises(
        ValueError, match=r"b\.csv\.gz unpacks to more than \d+ MiB, too much for \d+ bytes: unpack it yourself$"
    ):
        read_bytes(bomb)


@pytest.mark.parametrize("cut", [1, 5, 12, 20])
def test_a_broken_stream_is_told(write, cut):
    content = bytearray(gzip.compress(b"ann,bob\n" * 20, mtime=0))
    del content[-cut:]
    with pytest.raises(ValueError, match=r"a\.csv\.gz is cut short: the gzip stream in it does not end$"):
        read_bytes(write(bytes(content), "a.csv.gz"))
    content[:2] = b"xx"
    with pytest.raises(ValueError, match=r"a\.csv\.gz is not a gzip file: "):
        read_bytes(write(bytes(content), "a.csv.gz"))


def test_sizes_are_written_for_people():
    assert megabytes(999) == "999 bytes"
    assert megabytes(3 << 20) == "3 MiB"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read from /proc")
def test_the_memory_of_every_reader_is_bounded_by_a_multiple_of_the_file(tmp_path):
    found = memory.measure(memory.write_files(tmp_path))
    assert len(found) == 20
    for name, size, peak, _ in found:
        assert peak <= (512 << 20) + 400 * size, (name, size, peak)
    refused = [name for name, *_, answer in found if answer]
    assert [name for name in refused if "longest" in name or name in ("npz", "Parquet", "GraphML", "settings")] == []
    assert len(refused) == 11


def test_a_path_that_is_not_utf8_is_a_path_like_any_other(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    Path(os.fsdecode(path)).write_text("a,b\nb,c\n")
    assert read_graph(Path(os.fsdecode(path))).num_nodes == 3


def test_a_pipe_as_an_argument_is_one_line_and_exit_code_2(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    call = [sys.executable, "-m", "qgcn", "analyze", "pipe.csv", "--no-trials"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "qgcn: pipe.csv is a pipe or a device, not a file\n")
