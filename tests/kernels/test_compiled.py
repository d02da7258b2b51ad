"""C++ that is compiled when first used; more of it in pairs/test_cpu.py."""

import ctypes
import grp
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from qgcn.kernels import compiled as module
from qgcn.kernels import use_backend
from qgcn.kernels.compiled import Library, cache_folder, compiled, threads_for

pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", "c++")


def test_a_file_is_compiled_once_for_each_set_of_options(tmp_path):
    source = tmp_path / "answer.cpp"
    source.write_text('extern "C" int answer() { return ANSWER; }')
    assert compiled(source, "-DANSWER=42").answer() == 42
    assert compiled(source, "-DANSWER=43").answer() == 43
    assert isinstance(compiled(source, "-DANSWER=42"), ctypes.CDLL)
    assert len(list((tmp_path / "cache").rglob("answer-*.so"))) == 2


def test_a_file_that_does_not_compile_is_told_in_a_line(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text("this is not C++")
    said = compiled(source)
    assert isinstance(said, str)
    assert "failed: " in said
    assert "\n" not in said


def test_a_changed_header_is_compiled_again(tmp_path):
    (tmp_path / "deep").mkdir()
    source, header = tmp_path / "deep" / "answer.cpp", tmp_path / "number.h"
    source.write_text('#include "../both.h"\nextern "C" int answer() { return NUMBER; }')
    (tmp_path / "both.h").write_text('#include "number.h"')
    header.write_text("#define NUMBER 1")
    assert compiled(source).answer() == 1
    header.write_text("#define NUMBER 2")
    assert compiled(source).answer() == 2


def test_a_library_is_loaded_when_first_used_and_says_what_it_takes(tmp_path):
    source = tmp_path / "twice.cpp"
    source.write_text(
        'extern "C" void twice(const float* from, float* to, long n) { for (long i = 0; i < n; ++i) to[i] = 2 * from[i]; }'
    )
    library = Library(source, twice=[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64])
    assert not (tmp_path / "cache").exists()
    x = torch.arange(3.0)
    out = torch.empty(3)
    library.call("twice", x.data_ptr(), out.data_ptr(), 3)
    assert torch.equal(out, 2 * x)
    assert library.obstacle() is None
    assert library.takes(x, out)
    assert not library.takes(x, x.double())
    assert not library.takes(x.to("meta"))
    with use_backend("eager"):
        assert not library.takes(x)
    with use_backend("native"):
        assert library.takes(x)


def test_a_library_that_cannot_be_compiled_takes_nothing_and_says_why(tmp_path):
    source = tmp_path / "wrong.cpp"
    source.write_text("this is not C++")
    library = Library(source)
    assert "failed: " in library.obstacle()
    assert not library.takes(torch.ones(1))
    with pytest.raises(RuntimeError, match="failed: "):
        library.call("anything")


def test_threads_are_worth_their_work():
    assert threads_for(10) == 1
    assert threads_for(10**9) == torch.get_num_threads()


# --- the cache -----------------------------------------------------------------------------------------------------------

SOURCE = 'extern "C" int answer() { return 42; }'
LOAD = """
import sys
from pathlib import Path
from qgcn.kernels.compiled import compiled
found = compiled(Path(sys.argv[1]))
print(found if isinstance(found, str) else found.answer())
"""


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "longer"])
def test_a_damaged_library_is_compiled_again_and_never_loaded(tmp_path, damage):
    """A truncated one kills the process that loads it (SIGBUS): so that is done in another one."""
    source = tmp_path / "answer.cpp"
    source.write_text(SOURCE)
    assert compiled(source).answer() == 42
    (path,) = (tmp_path / "cache").rglob("answer-*.so")
    whole = path.read_bytes()
    changed = {"truncated": whole[: len(whole) // 2], "empty": b"", "longer": whole + b"more"}
    path.write_bytes(changed.get(damage, whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]))
    found = subprocess.run([sys.executable, "-c", LOAD, source], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "42\n"), found
    (again,) = (tmp_path / "cache").rglob("answer-*.so")
    assert again.read_bytes() == whole


def test_a_killed_compilation_leaves_nothing_for_long(tmp_path):
    source, slow = tmp_path / "answer.cpp", tmp_path / "slow"
    source.write_text(SOURCE)
    slow.write_text('#!/bin/sh\n[ "$1" = --version ] && exec c++ --version\nsleep 60\n')
    slow.chmod(0o755)
    environment = os.environ | {"CXX": str(slow)}
    process = subprocess.Popen([sys.executable, "-c", LOAD, source], env=environment, start_new_session=True)
    kernels = tmp_path / "cache" / "qgcn" / "kernels"
    while not (kernels.is_dir() and any(kernels.iterdir())):
        assert process.poll() is None
        time.sleep(0.05)
    (scratch,) = kernels.iterdir()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert scratch.exists()
    assert compiled(source).answer() == 42
    assert [path.suffix for path in kernels.iterdir()] == [".so"]


def test_a_relative_cache_folder_is_ignored(tmp_path, monkeypatch):
    """As the specification of XDG demands: it would be another one in every folder, perhaps somebody else's."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for value in ("cache", "./cache", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == (tmp_path / "home" / ".cache" / "qgcn" / "kernels").resolve()
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("where", ["", "qgcn", "qgcn/kernels"])
def test_a_folder_that_others_can_write_to_is_not_trusted_wherever_it_stands(tmp_path, where):
    folder = tmp_path / "cache" / where
    (tmp_path / "cache" / "qgcn" / "kernels").mkdir(parents=True)
    folder.chmod(0o757)
    with pytest.raises(OSError, match=f"{folder} can be written by everybody"):
        cache_folder()
    folder.chmod(0o1777)  # such as /tmp: nobody can replace what is not theirs
    if where == "qgcn/kernels":
        with pytest.raises(OSError, match="can be written by everybody"):
            cache_folder()
    else:
        cache_folder()


def test_a_group_is_trusted_with_the_parents_if_it_is_the_users_own(tmp_path, monkeypatch):
    cache_folder()
    (tmp_path / "cache" / "qgcn").chmod(0o775)
    monkeypatch.setattr(grp, "getgrgid", lambda _: types_group("staff", []))
    with pytest.raises(OSError, match="qgcn can be written by a group"):
        cache_folder()
    import pwd

    own = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setattr(grp, "getgrgid", lambda _: types_group(own, [own]))
    cache_folder()
    monkeypatch.setattr(grp, "getgrgid", lambda _: types_group(own, ["eve"]))
    with pytest.raises(OSError, match="qgcn can be written by a group"):
        cache_folder()


def types_group(name, members):
    return grp.struct_group((name, "x", 1000, members))


def test_a_folder_of_someone_else_is_not_trusted(tmp_path, monkeypatch):
    cache_folder()
    monkeypatch.setattr(module.os, "getuid", lambda: 12345)
    with pytest.raises(OSError, match="belongs to someone else"):
        cache_folder()


def test_a_link_is_followed_before_owners_are_asked(tmp_path):
    (tmp_path / "open" / "cache").mkdir(parents=True)
    (tmp_path / "cache").symlink_to(tmp_path / "open" / "cache")
    assert cache_folder() == tmp_path.resolve() / "open" / "cache" / "qgcn" / "kernels"
    (tmp_path / "open").chmod(0o757)
    with pytest.raises(OSError, match="open can be written by everybody"):
        cache_folder()
    assert stat.S_IMODE((tmp_path / "open" / "cache" / "qgcn" / "kernels").stat().st_mode) == 0o700
    assert Path(tmp_path / "cache").is_symlink()
