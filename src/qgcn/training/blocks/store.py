"""Blocks of parameters with their moments, in memory or in sealed files that are never overwritten."""

from contextlib import suppress
from pathlib import Path

from torch import Tensor

from qgcn.files import create_folder, load_tensors, remove_abandoned, save_tensors
from qgcn.seals import Damaged
from qgcn.training.state import check_tensors

__all__ = ["BlockStore"]

Tensors = dict[str, Tensor]
KEPT = 3
"""States whose files are kept: the last one, the one before it, and the one that is being written."""


class BlockStore:
    """The blocks of a model.

    A block that is written gets a file of a new name; which names make up a state is said elsewhere, in a file that is replaced
    at once. So a process can be killed at any time: the last state is complete, and files that belong to none are removed.

    Args:
        folder: Where files are; ``None`` writes nothing.
        label: Beginning of the names.
        in_memory: Keep all blocks in memory, and write files when a state is wanted; otherwise a block is in its file alone.

    Raises:
        ValueError: Neither a folder nor memory is given.
    """

    def __init__(self, folder: Path | None, label: str, *, in_memory: bool) -> None:
        if folder is None and not in_memory:
            raise ValueError("store disk needs a folder: give the run one, or leave the blocks in memory")
        self._folder, self._label, self._in_memory = folder, label, in_memory
        self._blocks: dict[int, Tensors] = {}
        self._names: dict[int, str] = {}
        self._version = 0
        self._history: list[set[str]] = []
        self._kept: set[str] = set()
        if folder is not None:
            create_folder(folder)
            remove_abandoned(folder)
            found = {path.name for path in folder.glob(f"{label}-block-*.safetensors")}
            self._history = [found]
            self._version = max((_version_of(name) for name in found), default=0)

    def put(self, block: int, tensors: Tensors) -> None:
        """Keep a block; its last version stays where it is if a state needs it."""
        last = self._names.pop(block, None)
        if self._in_memory:
            self._blocks[block] = tensors
        else:
            self._write(block, tensors)
        if self._folder is not None and last is not None and last not in self._kept.union(*self._history):
            with suppress(OSError):
                (self._folder / last).unlink()

    def get(self, block: int) -> Tensors:
        """Return a block.

        Raises:
            Damaged: Its file is not as it was written.
        """
        return self._blocks[block] if block in self._blocks else self.read(self._names[block])

    def read(self, name: str) -> Tensors:
        """Return a version of a block by the name of its file.

        Raises:
            Damaged: The file is not as it was written, or gone.
        """
        assert self._folder is not None  # noqa: S101  # without one there are no names
        path = self._folder / name
        try:
            return load_tensors(path)[0]
        except FileNotFoundError:
            raise Damaged(f"{path} is gone, which the checkpoint needs") from None

    def written(self) -> list[str]:
        """Return the names of the files of all blocks, after writing those that have none; nothing without a folder.

        They are kept until the next state, which says whether it needs them. Nothing is removed: a checkpoint may need it.
        """
        if self._folder is None:
            return []
        for block in [block for block in self._blocks if block not in self._names]:
            self._write(block, self._blocks[block])
        names = [self._names[block] for block in sorted(self._names)]
        self._kept = set(names)
        return names

    def state(self, *others: str) -> list[str]:
        """Return the same for a checkpoint; what neither this state nor those before it need is removed.

        Args:
            *others: Names that belong to the state too.
        """
        names = self.written()
        if self._folder is None:
            return names
        self._history = [*self._history[1 - KEPT :], {*names, *others}]
        needed = set.union(*self._history)
        for path in self._folder.glob(f"{self._label}-block-*.safetensors"):
            if path.name not in needed:
                with suppress(OSError):
                    path.unlink()
        return names

    def restore(self, names: list[str], like: list[Tensors], others: list[str] | None = None) -> None:
        """Go back to a state.

        Args:
            names: As :meth:`state` returned them.
            like: What the blocks must be like.
            others: Names of all blocks again, of a version that belongs to the state too (default: none).

        Raises:
            ValueError: They are not, or there are more or fewer.
        """
        given = [names] if not others else [others, names]
        for each in given:
            if len(each) != len(like) or any(_block_of(name, self._label) != block for block, name in enumerate(each)):
                raise ValueError(f"the checkpoint must name a file for each of {len(like)} blocks")
        self._blocks.clear()
        self._names = dict(enumerate(names))
        for each in given:
            for block, expected in enumerate(like):
                found = self.read(each[block])
                check_tensors(found, expected, each[block])
                if self._in_memory and each is names:
                    self._blocks[block] = found
        self._history.append({name for each in given for name in each})

    def _write(self, block: int, tensors: Tensors) -> None:
        assert self._folder is not None  # noqa: S101
        self._version += 1
        name = f"{self._label}-block-{block}-{self._version}.safetensors"
        save_tensors(self._folder / name, tensors, {"block": block})
        self._names[block] = name


def _version_of(name: str) -> int:
    version = name.removesuffix(".safetensors").rpartition("-")[2]
    return int(version) if version.isdigit() else 0


def _block_of(name: object, label: str) -> int | None:
    """Return the block that a file is of; nothing for what is no name of such a file, such as a path."""
    if not isinstance(name, str) or not name.startswith(f"{label}-block-") or "/" in name or not name.endswith(".safetensors"):
        return None
    block = name.removeprefix(f"{label}-block-").partition("-")[0]
    return int(block) if block.isdigit() else None
