import sysconfig

import pytest
import torch

from qgcn.kernels import graphics

INCLUDE = sysconfig.get_path("include", "posix_prefix")


def test_points_on_the_cpu_are_not_for_a_gpu():
    pytest.importorskip("triton")
    assert graphics.obstacle(torch.ones(2)) == "points are on cpu, expected a GPU"


@pytest.fixture
def fresh_look():
    graphics._missing_tools.cache_clear()
    yield
    graphics._missing_tools.cache_clear()


@pytest.mark.usefixtures("fresh_look")
def test_triton_is_not_taken_where_it_could_not_compile(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert graphics._missing_tools() == "triton needs a C compiler: looked for gcc, clang"
    monkeypatch.setenv("CC", "other-cc")
    graphics._missing_tools.cache_clear()
    assert graphics._missing_tools() == "triton needs a C compiler: looked for other-cc as named by $CC"
    compiler = tmp_path / "other-cc"
    compiler.write_text("#!/bin/sh")
    compiler.chmod(0o755)
    graphics._missing_tools.cache_clear()
    assert graphics._missing_tools() in (None, f"triton needs the headers of Python: there is no {INCLUDE}/Python.h")
    monkeypatch.setattr(sysconfig, "get_path", lambda *_: str(tmp_path))
    graphics._missing_tools.cache_clear()
    assert graphics._missing_tools() == f"triton needs the headers of Python: there is no {tmp_path}/Python.h"
