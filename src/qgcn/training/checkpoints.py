"""Checkpoints: the state of a group of seeds, and the one saved before it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from qgcn.files import load_tensors, tensor_bytes, write_atomically
from qgcn.seals import Damaged

__all__ = ["Checkpoint", "Incomplete", "Saved"]

_ENDING = ".safetensors"
_EARLIER = f".previous{_ENDING}"


class Saved(NamedTuple):
    """A state that was saved."""

    path: Path
    """File that it was read from."""
    tensors: dict[str, Tensor]
    about: dict[str, Any]
    remark: str | None
    """Why it is not the last one, if that is damaged."""

    @property
    def epoch(self) -> int:
        """Epochs done.

        Raises:
            Damaged: The file does not say so.
        """
        epoch = self.about.get("epoch")
        if type(epoch) is not int or epoch < 0:
            raise Damaged(f"{self.path} is damaged: its epoch must be a number of epochs, got {epoch!r}")
        return epoch

    @property
    def seeds(self) -> list[int]:
        """The group of seeds.

        Raises:
            Damaged: The file does not say so.
        """
        seeds = self.about.get("seeds")
        if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
            raise Damaged(f"{self.path} is damaged: it does not say of which seeds it is")
        return seeds

    def best(self, seed: int) -> dict[str, Tensor]:
        """Return the best parameters of a seed.

        Raises:
            Damaged: They are not those of as many seeds as the group has.
        """
        seeds, best = self.seeds, dict[str, Tensor]()
        for name, tensor in self.tensors.items():
            if name.startswith("best/"):
                if len(seeds) > 1 and tensor.shape[:1] != (len(seeds),):
                    raise Damaged(f"{self.path} is damaged: {name} is not of {len(seeds)} seeds")
                best[name.removeprefix("best/")] = tensor[seeds.index(seed)] if len(seeds) > 1 else tensor
        return best


class Incomplete(Damaged):
    """A file that a state names is damaged or gone."""


def _as_it_is(_saved: Saved) -> None:
    """Take a state that names no other files."""


class Checkpoint:
    """The last state of a group of seeds, in one file, and the one before it, in a second file beside it.

    Args:
        path: The file of the last state.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.earlier = path.with_name(path.name.removesuffix(_ENDING) + _EARLIER)

    @classmethod
    def all_in(cls, folder: Path) -> "list[Checkpoint]":
        """Return the checkpoints in a folder, without those of models that are trained again on everything."""
        names = {path.name.removesuffix(_EARLIER).removesuffix(_ENDING) for path in folder.glob(f"seed*{_ENDING}")}
        return [cls(folder / f"{name}{_ENDING}") for name in sorted(names)]

    def save(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        """Write a state; the last one becomes the one before it once the new one is complete."""
        content = tensor_bytes(tensors, about)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if self.path.exists():
                self.path.replace(self.earlier)

        write_atomically(self.path, write)

    def load(self, restore: Callable[[Saved], None] = _as_it_is) -> Saved | None:
        """Read the last state that is not damaged; nothing if there is none.

        Args:
            restore: Called with a state; it may raise :class:`Incomplete` (default: nothing is done with it).

        Raises:
            OSError: A file cannot be read.
            Damaged: None is as it was written, or none has all files that it names.
        """
        problem: Damaged | None = None
        for path in (self.path, self.earlier):
            try:
                tensors, about = load_tensors(path)
            except FileNotFoundError:
                continue
            except Damaged as error:
                problem = problem or error
                continue
            saved = Saved(path, tensors, about, None)
            try:
                restore(saved)
            except Incomplete as error:
                problem = problem or error
                continue
            return (
                saved._replace(remark=f"{problem}; its place is taken by {path.name}, of epoch {saved.epoch}")
                if problem
                else saved
            )
        if problem is not None:
            there = " and ".join(str(path) for path in (self.path, self.earlier) if path.exists())
            raise Damaged(f"{problem}; no earlier state is complete: delete {there} to train its seeds from the beginning")
        return None

    def recover(self, restore: Callable[[Saved], None] = _as_it_is) -> Saved | None:
        """Read as :meth:`load` does; what is damaged gives way to what is not, so that the next state does not replace that."""
        saved = self.load(restore)
        if saved is None or saved.path == self.path:
            return saved
        self.earlier.replace(self.path)
        return saved._replace(path=self.path)
