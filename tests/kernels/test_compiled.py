"""C++ that is compiled when first used; more of it in test_cpu.py."""

import ctypes
import shutil

import pytest

from qgcn.kernels.compiled import compiled

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
