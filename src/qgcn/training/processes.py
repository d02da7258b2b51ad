"""The processes of a run: one, or several that take every step together."""

from datetime import timedelta
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from qgcn.tasks import Share

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["PATIENCE", "LostProcess", "Processes"]

PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others; one that has died is noticed at once."""


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
        try:
            total = self._fabric.all_reduce(numbers, reduce_op="sum")
        except (RuntimeError, TimeoutError) as error:
            raise self._lost(error) from None
        assert isinstance(total, Tensor)  # noqa: S101
        return total

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

    def _lost(self, error: BaseException) -> LostProcess:
        detail = str(error).strip().splitlines()
        return LostProcess(f"process {self.rank} of {self.count} has lost another one: {detail[-1] if detail else 'no answer'}")
