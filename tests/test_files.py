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
    read_sealed_json,
    remove_abandoned,
    save_tensors,
    scratch_folder,
    write_atomically,
    write_json,
    write_sealed_json,
)
from qgcn.seals import BLANK, Damaged, seal


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
        with pytest.raises(Damaged, match=r"t\.safetensors (is damaged: |has no checksum: )") as error:
            load_tensors(path)
        assert "\n" not in str(error.value)
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(Damaged, match=r"t\.safetensors"):
            load_tensors(path)


def sealed_header(header):
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    "content",
    [
        BLANK.encode(),
        sealed_header(f'{{"__metadata__": {{"other": "{BLANK}"}}}}'.encode()),
        sealed_header(f'{{"__metadata__": {{"about": "[\\"{BLANK}\\"]"}}}}'.encode()),
        sealed_header(f'{{"__metadata__": {{"about": "{BLANK}"}}}}'.encode()),
        sealed_header(f'{{"__metadata__": {{"about": "{"[" * 100_000}{BLANK}"}}}}'.encode()),
        (2**63).to_bytes(8, "little") + BLANK.encode(),
    ],
)
def test_tensors_that_somebody_else_sealed_are_checked_too(tmp_path, content):
    path = tmp_path / "t.safetensors"
    path.write_bytes(seal(content))
    with pytest.raises(Damaged, match=r"t\.safetensors is damaged: ") as error:
        load_tensors(path)
    assert "\n" not in str(error.value)


def test_what_is_no_file_is_told(tmp_path):
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
    content = {"worst": float("inf"), "all": [1.0, float("nan")], "least": -float("inf")}
    write_json(path, content)
    assert json.loads(path.read_text()) == {"worst": "inf", "all": [1.0, "nan"], "least": "-inf"}
    write_sealed_json(path, content)
    again = read_sealed_json(path)
    assert list(again) == ["worst", "all", "least"]
    assert (number(again["worst"]), number(again["least"]), number(again["all"][0])) == (math.inf, -math.inf, 1.0)
    assert math.isnan(number(again["all"][1]))
    for wrong in ("infinity", None, True, [1]):
        with pytest.raises(ValueError, match="expected a number"):
            number(wrong)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, '{"a": 1e}'])
def test_json_that_somebody_else_sealed_is_checked_too(tmp_path, content):
    path = tmp_path / "results.json"
    path.write_bytes(seal(f"{content}/*{BLANK}*/".encode() if content != "[]" else f'["{BLANK}"]'.encode()))
    with pytest.raises(Damaged, match=r"results\.json is damaged: "):
        read_sealed_json(path)


# --- what a killed process leaves ----------------------------------------------------------------------------------------

WRITE = """
import sys, time
from pathlib import Path
from qgcn.files import scratch_folder, write_atomically

def write(path):
    path.write_bytes(b"half")
    print("now", flush=True)
    sys.stdin.readline()

if sys.argv[1] == "file":
    write_atomically(Path("file"), write)
else:
    with scratch_folder(Path("."), "file") as folder:
        write(folder / "half")
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_writer_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(tmp_path, kind):
    def start():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen([sys.executable, "-c", WRITE, kind], cwd=tmp_path, text=True, **pipes)
        assert process.stdout.readline() == "now\n"
        return process

    dead = start()
    (abandoned,) = names(tmp_path)
    dead.kill()
    dead.communicate()
    alive = start()
    (living,) = names(tmp_path)
    assert living != abandoned
    write_json(tmp_path / "file", 1)
    with scratch_folder(tmp_path, "file"):
        remove_abandoned(tmp_path)
        assert living in names(tmp_path)
    alive.communicate("go\n", timeout=60)
    assert alive.returncode == 0
    assert names(tmp_path) == ["file"]


def test_a_scratch_folder_that_somebody_removed_is_not_missed(tmp_path):
    with scratch_folder(tmp_path, "file") as folder:
        folder.rmdir()
    assert names(tmp_path) == []


def test_nothing_but_temporary_files_is_removed(tmp_path):
    for name in (".file.12ab", ".file.0123456789abcdeg", "file.0123456789abcdef", ".other.0123456789abcdef"):
        (tmp_path / name).write_text("mine")
    (tmp_path / ".file.0123456789abcdef").symlink_to(tmp_path / ".other.0123456789abcdef")
    before = names(tmp_path)
    write_json(tmp_path / "file", 1)
    assert names(tmp_path) == sorted([*before, "file"])
