"""Steps on a GPU: recorded as one thing to do, and never too many of them asked for in advance."""

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["Backlog", "Recording"]

WARM_STEPS = 3
"""Steps that are taken plainly before one is recorded: PyTorch wants to have run on another stream before."""
AHEAD = 2
"""Steps that a GPU may be asked for before it has done the first of them: enough to keep it busy."""


class Recording:
    """Takes a step again and again: recorded once as a graph of the GPU's, then replayed as a whole.

    A step on a few thousand nodes is a hundred operations of a few microseconds, each of which the CPU takes longer to ask for
    than the GPU to do.

    Args:
        compute: The step. It must read and write the same tensors every time, and must not ask the GPU for a number.
    """

    def __init__(self, compute: Callable[[], Tensor]) -> None:
        self._compute = compute
        self._warm = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result = torch.empty(0)

    def step(self) -> Tensor:
        """Take the step and return what it returns; the tensor is the same every time once the step is recorded."""
        if self._warm < WARM_STEPS:
            self._warm += 1
            return self._plainly()
        if self._graph is None:
            graph = torch.cuda.CUDAGraph()
            # other threads may go on computing, but not replay: all recordings share PyTorch's generator
            with torch.cuda.graph(graph, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
                self._result = self._compute()
            self._graph = graph
        self._graph.replay()  # recording alone computes nothing
        return self._result

    def _plainly(self) -> Tensor:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self._compute()
        torch.cuda.current_stream().wait_stream(stream)
        return result


class Backlog:
    """Keeps the CPU from asking a GPU for many steps in advance: a wish to stop would have to wait for all of them.

    Args:
        device: Where steps are taken; on the CPU there is nothing to wait for.
    """

    def __init__(self, device: torch.device) -> None:
        self._asked: deque[torch.cuda.Event] | None = deque() if device.type == "cuda" else None

    def add(self) -> None:
        """Count a step that was just asked for; wait until few are left."""
        if self._asked is None:
            return
        event = torch.cuda.Event()
        event.record()
        self._asked.append(event)
        if len(self._asked) > AHEAD:
            self._asked.popleft().synchronize()
