"""Threads of a training: one for what is small."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["SMALL", "few_threads"]

SMALL = 500
"""Nodes up to which several threads are no faster than one, and many times slower on a busy machine."""


@contextmanager
def few_threads(nodes: int) -> Iterator[None]:
    """Compute with one thread while something small is trained.

    PyTorch adds up gradients and takes steps of Adam with all threads, however few numbers there are. The threads then wait for
    each other most of the time, and for very long if another process needs the cores.

    Args:
        nodes: Number of nodes in all graphs that are trained together, one for each seed; many keep all threads.
    """
    before = torch.get_num_threads()
    if nodes <= SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
