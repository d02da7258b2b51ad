"""Steps on a GPU: recorded as one thing to do, and never too many of them asked for in advance."""

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from qgcn.nn import MaskDraws
from qgcn.tasks import Batch, Draws, FullBatch

__all__ = ["Backlog", "Lanes", "RecordedTraining", "Recording"]

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
            with _nothing_collected(), torch.cuda.graph(graph, stream=torch.cuda.Stream(), capture_error_mode="thread_local"):
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


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Keep Python from collecting what refers to itself: a recording of another run that is freed meanwhile ends this one."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class RecordedTraining:
    """Training steps that are recorded: what they draw is drawn before, into tensors that stay the same.

    Args:
        loader: Makes the batch of a step from what was drawn.
        model: Model whose dropout is drawn in advance, from the second step on: the first shows what is dropped.
        seeds: Its seed, or one for each of a batch of models.
        take: Takes a step on a batch.
        device: Where steps are taken: on the CPU, which asks nobody, each is taken plainly.
    """

    def __init__(
        self,
        loader: FullBatch,
        model: nn.Module,
        seeds: int | Sequence[int],
        take: Callable[[Batch], Tensor],
        device: torch.device,
    ) -> None:
        self._loader, self._model, self._seeds, self._take, self._device = loader, model, seeds, take, device
        self._draws: Draws | None = None
        self._recording: Recording | None = None
        self.masks: MaskDraws | None = None
        """Masks that the next step drops by; ``None`` before the first."""

    def step(self, draws: Draws, epoch: int) -> Tensor:
        """Take the step of an epoch with what was drawn for it."""
        if self._draws is None:
            self._draws = draws.clone()
            result = self._take(self._loader.batch(self._draws))
            self.masks = MaskDraws(self._model, self._seeds)
            return result
        if self._recording is None:
            self._recording = Recording(partial(self._again, self._draws))
        self._draws.fill(draws)
        if self.masks is not None:
            self.masks.draw(epoch)
        return self._recording.step() if self._device.type == "cuda" else self._again(self._draws)

    def _again(self, draws: Draws) -> Tensor:
        return self._take(self._loader.batch(draws))  # the batch is made in the step: its matrix depends on what was drawn


class Lanes:
    """Lets a GPU compute several things that know nothing of each other at the same time; a CPU, one after the other.

    Each has a stream of its own. Their gradients are found on the same streams; within a recording they become branches of it.

    What is asked for the first time is computed one after the other, so that what is found once and kept is there for all.

    Args:
        device: Where they are computed.
        count: How many there are.
        parallel: Whether they share nothing that is found anew every time, such as the matrix of a graph.
    """

    def __init__(self, device: torch.device, count: int, *, parallel: bool) -> None:
        parallel = parallel and device.type == "cuda" and not torch.distributed.is_initialized()  # processes meet in one order
        self._streams = [torch.cuda.Stream(device) for _ in range(count)] if parallel else []
        self._device, self._known = device, set[str]()

    def map(self, function: Callable[[int], Tensor], numbers: Sequence[int], name: str) -> list[Tensor]:
        """Return the results of a function of some numbers, each below the count; the name says what is computed."""
        first = name not in self._known
        self._known.add(name)
        if first or not self._streams:
            return [function(number) for number in numbers]
        here, found = torch.cuda.current_stream(self._device), []
        for number in numbers:
            lane = self._streams[number]
            lane.wait_stream(here)
            with torch.cuda.stream(lane):
                found.append(function(number))
        for number in numbers:
            here.wait_stream(self._streams[number])
        return found


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
