"""Tensors that end at a wall: whoever reads or writes a number beyond the last one is killed."""

import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor

HERE = Path(__file__).parent


def walled(tensor: Tensor) -> Tensor:
    """Return a copy, contiguous, whose last number is the last one before a page that must not be touched."""
    size = tensor.numel() * tensor.element_size()
    pages = -(-size // mmap.PAGESIZE)
    place = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    first = ctypes.addressof(ctypes.c_char.from_buffer(place))
    library = ctypes.CDLL(None, use_errno=True)
    if library.mprotect(ctypes.c_void_p(first + pages * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    flat = torch.frombuffer(place, dtype=tensor.dtype, count=tensor.numel(), offset=pages * mmap.PAGESIZE - size)
    return flat.copy_(tensor.reshape(-1)).view(tensor.shape)


def stays_inside(program: str) -> bool:
    """Run a program, to which :func:`walled` is known, in a process of its own; tell whether it came to its end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE), os.environ.get("PYTHONPATH", "")))}
    call = [sys.executable, "-c", f"import torch\nfrom walls import walled\n{program}\nprint('inside')"]
    done = subprocess.run(call, capture_output=True, text=True, check=False, env=environment, timeout=120)
    if done.returncode > 0:
        raise RuntimeError(done.stderr)
    return done.stdout == "inside\n"
