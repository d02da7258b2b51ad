"""C++ that is compiled when first used; more of it in pairs/test_cpu.py."""

import ctypes
import shutil

import pytest
import torch

from qgcn.kernels import use_backend
from qgcn.kernels.compiled import Library, compiled, threads_for

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
