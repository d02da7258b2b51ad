"""Where a run takes place."""

import platform
from pathlib import Path

import pytest
import torch

from qgcn.training.machine import freed_memory_kept


def resident():
    """Return the pages of 4 KiB that the process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_freed_memory_is_kept_while_a_run_goes_on_and_given_back_after_it():
    pages, count = 2**12, 8  # 16 MiB each
    with freed_memory_kept():
        before = resident()
        for _ in range(2):
            held = [torch.ones(pages * 2**10) for _ in range(count)]
            del held
        inside = resident()
    assert inside - before > pages * count // 2
    assert inside - resident() > pages * count // 2


def test_freed_memory_kept_lets_errors_through():
    with pytest.raises(ValueError, match="told"), freed_memory_kept():
        raise ValueError("told")
