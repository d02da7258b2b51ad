"""Files are written whole or not at all."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from qgcn.files import (
    check_writable,
    create_folder,
    load_tensors,
    number,
    read_json,
    save_tensors,
    write_atomically,
    write_json,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_write_atomically_replaces_the_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    write_atomically(path, lambda temporary: temporary.write_text("new") and None)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), ValueError("no")])
def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def write(temporary):
        temporary.write_text("half")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_writer_that_fails_before_it_writes_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_json(tmp_path / "file", object())
    with pytest.raises(FileNotFoundError):
        write_json(tmp_path / "none" / "file", 1)
    assert names(tmp_path) == []


def test_a_killed_writer_leaves_no_half_file_under_the_name(tmp_path):
    code = """
import sys, time
from pathlib import Path
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("files", sys.argv[1])
files = module_from_spec(spec)
spec.loader.exec_module(files)

def write(path):
    path.write_bytes(b"half")
    print("now", flush=True)
    time.sleep(60)

files.write_atomically(Path("file"), write)
"""
    import qgcn.files

    (tmp_path / "file").write_text("old")
    source = qgcn.files.__file__
    process = subprocess.Popen([sys.executable, "-c", code, source], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"now\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / "file").read_text() == "old"
    hidden = [name for name in names(tmp_path) if name != "file"]
    assert len(hidden) == 1
    assert hidden[0].startswith(".file.")


def test_files_can_be_read_by_whom_the_umask_allows(tmp_path):
    before = os.umask(0o022)
    try:
        write_json(tmp_path / "file", 1)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_tensors_come_back_as_they_were(tmp_path):
    tensors = {"a": torch.randn(3, 4).t(), "b": torch.tensor(2.0, dtype=torch.float64), "c": torch.tensor([True, False])}
    save_tensors(tmp_path / "t.safetensors", tensors, {"epoch": 3})
    found, about = load_tensors(tmp_path / "t.safetensors")
    assert about == {"epoch": 3}
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor)
        assert found[name].dtype == tensor.dtype


def test_damaged_tensors_are_told(tmp_path):
    path = tmp_path / "t.safetensors"
    save_tensors(path, {"a": torch.randn(100)}, {"epoch": 3})
    whole = path.read_bytes()
    for content in (b"", whole[:7], whole[: len(whole) // 2], whole[:-1], b"\xff" * 100):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"t\.safetensors is damaged or no checkpoint: ") as error:
            load_tensors(path)
        assert "\n" not in str(error.value)
    save_tensors(path, {"a": torch.randn(100)}, ["epoch"])
    with pytest.raises(ValueError, match="is no checkpoint"):
        load_tensors(path)
    with pytest.raises(FileNotFoundError, match="no file"):
        load_tensors(tmp_path / "none")


def test_check_writable_creates_nothing(tmp_path):
    check_writable(tmp_path / "a" / "b")
    check_writable(tmp_path)
    assert names(tmp_path) == []


def test_check_writable_tells_what_is_in_the_way(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(NotADirectoryError, match=rf"cannot write to {folder}: {tmp_path / 'file'} is not a folder"):
            check_writable(folder)
    with pytest.raises(OSError, match="cannot write to /proc/none/run: "):  # nobody can write there, not even root
        check_writable(Path("/proc/none/run"))
    with pytest.raises(OSError, match=r"cannot write to .*: File name too long"):
        check_writable(tmp_path / ("x" * 300))


def test_create_folder_tells_what_it_created(tmp_path):
    assert create_folder(tmp_path / "a" / "b") == [tmp_path / "a" / "b", tmp_path / "a"]
    assert create_folder(tmp_path / "a" / "b") == []
    assert (tmp_path / "a" / "b").is_dir()


def test_a_reader_never_sees_half_a_file(tmp_path):
    """Write and read at the same time: what is read is one of the two contents."""
    path = tmp_path / "file"
    code = f"""
from pathlib import Path
seen = set()
print("now", flush=True)
while "stop" not in seen:
    seen.add(Path({str(path)!r}).read_text())
print(sorted({{text[:1] + str(len(text)) for text in seen}}))
"""
    path.write_text("a" * 10**6)
    reader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert reader.stdout.readline() == "now\n"
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        for letter in "ab":
            write_atomically(path, lambda temporary, letter=letter: temporary.write_text(letter * 10**6) and None)
    write_atomically(path, lambda temporary: temporary.write_text("stop") and None)
    out, _ = reader.communicate(timeout=60)
    assert set(out.split(chr(39))[1::2]) <= {"a1000000", "b1000000", "s4"}


def test_numbers_that_json_does_not_have_are_spelled_and_read_back(tmp_path):
    path = tmp_path / "results.json"
    write_json(path, {"worst": float("inf"), "all": [1.0, float("nan")], "least": -float("inf")})
    assert json.loads(path.read_text()) == {"worst": "inf", "all": [1.0, "nan"], "least": "-inf"}
    again = read_json(path)
    assert (number(again["worst"]), number(again["least"]), number(again["all"][0])) == (math.inf, -math.inf, 1.0)
    assert math.isnan(number(again["all"][1]))
    for wrong in ("infinity", None, True, [1]):
        with pytest.raises(ValueError, match="expected a number"):
            number(wrong)
