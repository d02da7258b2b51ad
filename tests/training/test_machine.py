"""Where a run takes place."""

import platform
import resource

import pytest
import torch

from qgcn.training.machine import freed_memory_kept


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
def test_freed_memory_is_kept_for_the_next_step():
    def faults(steps):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(steps):
            held = [torch.ones(2**21) for _ in range(12)]  # 8 MiB each
            del held
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    with freed_memory_kept():
        faults(2)
        assert faults(5) < 12 * 2**11  # less than one step's pages of 4 KiB


def test_freed_memory_kept_lets_errors_through():
    with pytest.raises(ValueError, match="told"), freed_memory_kept():
        raise ValueError("told")
