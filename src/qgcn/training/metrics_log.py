"""The log of validations: one JSON object a line, written while a run goes on.

Each line ends in a checksum of itself and all lines before it. A line that is not complete is what a killed process was
writing, and left out; any other damage is an error.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qgcn.content import read_regular
from qgcn.files import write_bytes
from qgcn.seals import VERSION, Damaged
from qgcn.training.loop import Validation

__all__ = ["Curve", "MetricsLog", "read_curves"]

_START = f"qgcn-file {VERSION}"
_LINE = re.compile(rb'(\{.*), "check": "([0-9a-f]{16})"\}')


@dataclass(frozen=True)
class Curve:
    """Learning curve of a seed, one number for each validation."""

    seed: int
    epoch: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Entry:
    body: str
    """The line without its checksum and the closing brace."""
    seed: int
    epoch: int
    loss: float
    score: float


class MetricsLog:
    """The file of metrics; on resuming, what came after the checkpoint is dropped.

    Args:
        path: The file.
        seeds: The group that is in training.
        epoch: Where it starts.
        digest: :attr:`digest` at that epoch, as the checkpoint has it; ``None`` at the beginning.

    Raises:
        Damaged: The file is not as it was written, or lacks lines of the group.
    """

    def __init__(self, path: Path, seeds: list[int], epoch: int, digest: str | None = None) -> None:
        self.path = path
        self.seeds = seeds
        entries, _ = _read(path)
        kept = [entry for entry in entries if entry.seed not in seeds or entry.epoch <= epoch]
        kept.sort(key=lambda entry: (entry.seed >= seeds[0]) + (entry.seed > seeds[-1]))  # as if never begun again
        self.digest = ""
        """Checksum of the lines of the group."""
        self.check = _START
        """Checksum of all lines."""
        write_bytes(path, self._lines([entry.body for entry in kept], [entry.seed in seeds for entry in kept]))
        if digest is not None and self.digest != digest:
            raise Damaged(f"{path} is damaged: it lacks validations of seed {seeds[0]} before epoch {epoch}")

    def write(self, found: Validation) -> None:
        """Append a line for each seed that was still in training."""
        rows = zip(self.seeds, found.loss, found.score, found.best, found.active, strict=True)
        bodies = [
            json.dumps({"seed": seed, "epoch": found.epoch, "loss": loss, "score": score, "best": best}).removesuffix("}")
            for seed, loss, score, best, active in rows
            if active
        ]
        lines = self._lines(bodies, [True] * len(bodies))
        with self.path.open("ab") as file:
            file.write(lines)

    def sync(self) -> None:
        """Let what was written outlast a power failure, before a checkpoint relies on it."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    def _lines(self, bodies: list[str], own: list[bool]) -> bytes:
        lines = []
        for body, of_group in zip(bodies, own, strict=True):
            self.check = _next(self.check, body)
            self.digest = _next(self.digest, body) if of_group else self.digest
            lines.append(f'{body}, "check": "{self.check}"}}\n')
        return "".join(lines).encode()


def read_curves(path: Path, check: str | None = None) -> list[Curve]:
    """Read how training went, a curve for each seed.

    Args:
        path: The file.
        check: Checksum of all lines, if it is known.

    Raises:
        Damaged: The file is not as it was written.
    """
    entries, found = _read(path)
    if check is not None and found != check:
        raise Damaged(f"{path} is damaged: lines are missing at its end")
    curves: dict[int, Curve] = {}
    for entry in entries:
        curve = curves.setdefault(entry.seed, Curve(entry.seed))
        curve.epoch.append(entry.epoch)
        curve.loss.append(entry.loss)
        curve.score.append(entry.score)
    return list(curves.values())


def _next(check: str, body: str) -> str:
    return hashlib.sha256(f"{check}\n{body}".encode()).hexdigest()[:16]


def _read(path: Path) -> tuple[list[_Entry], str]:
    """Return the lines of a file, and the checksum of all of them."""
    content = read_regular(path) if path.exists() else b""
    *lines, rest = content.split(b"\n")
    entries, check = [], _START
    for number, line in enumerate(lines, 1):
        entry = _entry(line, check)
        if entry is None:
            raise Damaged(f"{path} is damaged: line {number} does not match its checksum")
        entries.append(entry)
        check = _next(check, entry.body)
    if (last := _entry(rest, check)) is not None:  # complete but for the newline
        entries.append(last)
        check = _next(check, last.body)
    elif _entry(rest[:-1], check) is not None:
        raise Damaged(f"{path} is damaged: line {len(lines) + 1} does not end as it was written")
    return entries, check


def _entry(line: bytes, check: str) -> _Entry | None:
    """Return what a line says; nothing if it does not match its checksum."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    try:
        body = found[1].decode()
        if _next(check, body) != found[2].decode():
            return None
        value: dict[str, Any] = json.loads(f"{body}}}")
        return _Entry(body, int(value["seed"]), int(value["epoch"]), float(value["loss"]), float(value["score"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
