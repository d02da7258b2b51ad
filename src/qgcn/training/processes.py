"""The processes of a run: one, or several that take every step together."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from qgcn.tasks import Share

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["PATIENCE", "LostProcess", "Place", "Processes"]

PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others; one that has died is noticed at once."""


_TROUBLE = re.compile(r"gloo|nccl|connection|peer|socket|timed? ?out|broken pipe", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Which of the processes of a run this one is, as ``torchrun`` says it in the environment.

    Attributes:
        rank: Its number among all.
        local_rank: Its number among those of its machine.
        count: Number of processes.
        local_count: Number of those of its machine.
    """

    rank: int = 0
    local_rank: int = 0
    count: int = 1
    local_count: int = 1

    @classmethod
    def here(cls) -> "Place":
        """Return the place of this process; the only one if nobody has said otherwise.

        Raises:
            ValueError: What the environment says is no place.
        """
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
        if "LOCAL_RANK" not in os.environ or os.environ.get("WORLD_SIZE", "1") == "1":
            return cls()
        try:
            found = cls(*(int(os.environ[name]) for name in names))
        except (KeyError, ValueError):
            found = cls(-1)
        if not (0 <= found.local_rank < found.local_count <= found.count > found.rank >= 0 == found.count % found.local_count):
            said = ", ".join(f"{name}={os.environ.get(name)}" for name in names)
            raise ValueError(f"the environment names no process of a run, which torchrun does: {said}")
        return found


class LostProcess(ValueError):  # noqa: N818
    """Another process of the run has ended, or cannot be reached."""


class Processes:
    """What the processes of a run tell each other; nothing if there is one.

    Every process holds the whole graph and the same parameters. Each takes its share of a batch, and gradients are added up, so
    that all take the same step.

    Args:
        fabric: The device.
    """

    def __init__(self, fabric: "Fabric") -> None:
        self._fabric = fabric
        self.rank, self.count = int(fabric.global_rank), int(fabric.world_size)

    @property
    def alone(self) -> bool:
        """Whether there is one process."""
        return self.count == 1

    @property
    def share(self) -> Share:
        """Share of a batch that this process takes."""
        return Share(self.rank, self.count)

    def add(self, numbers: Tensor) -> Tensor:
        """Return the sum of tensors of all processes, the same everywhere.

        Raises:
            LostProcess: A process has ended.
        """
        if self.alone:
            return numbers
        with self.heard():
            return self._fabric.all_reduce(numbers, reduce_op="sum")  # type: ignore[return-value]

    def add_in_place(self, *tensors: Tensor) -> None:
        """Replace tensors with their sums over all processes, in one message for each type."""
        if self.alone:
            return
        kinds: dict[torch.dtype, list[Tensor]] = {}
        for tensor in tensors:
            kinds.setdefault(tensor.dtype, []).append(tensor)
        for some in kinds.values():
            total = self.add(torch.cat([each.flatten() for each in some]))
            for tensor, part in zip(some, total.split([each.numel() for each in some]), strict=True):
                tensor.copy_(part.view_as(tensor))

    def agree(self, wish: bool) -> bool:
        """Tell whether any process wishes something."""
        if self.alone:
            return wish
        return bool(self.add(torch.tensor([float(wish)], device=self._fabric.device)) > 0)

    def from_first(self, content: bytes) -> bytes:
        """Return what the first process has."""
        if self.alone:
            return content
        size = int(self.add(torch.tensor([len(content) if self.rank == 0 else 0], device=self._fabric.device)))
        held = torch.zeros(size, dtype=torch.uint8, device=self._fabric.device)
        if self.rank == 0 and size:
            held.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        return bytes(self.add(held).cpu().numpy().tobytes())

    def of_first(self, numbers: Tensor) -> Tensor:
        """Return the numbers of the first process: others, on another machine, may have other last digits."""
        return numbers if self.alone else self.add(numbers if self.rank == 0 else torch.zeros_like(numbers))

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Turn what goes wrong between processes while the block lasts into one line.

        Raises:
            LostProcess: A process has ended.
        """
        try:
            yield
        except (RuntimeError, TimeoutError) as error:
            if self.alone or not _TROUBLE.search(str(error)):
                raise
            detail = str(error).strip().splitlines()[0].rpartition("] ")[2].partition(". ")[0]
            raise LostProcess(f"process {self.rank} of {self.count} has lost another one ({detail.rstrip('.')})") from None
