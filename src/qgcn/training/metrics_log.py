"""The log of validations: one JSON object a line, written while a run goes on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qgcn.files import write_text
from qgcn.training.loop import Validation

__all__ = ["Curve", "MetricsLog", "read_curves"]


@dataclass(frozen=True)
class Curve:
    """Learning curve of a seed, one number for each validation."""

    seed: int
    epoch: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    score: list[float] = field(default_factory=list)


class MetricsLog:
    """The file of metrics; on resuming, what came after the checkpoint is dropped.

    Args:
        path: The file.
        seeds: The group that is in training.
        epoch: Where it starts.
    """

    def __init__(self, path: Path, seeds: list[int], epoch: int) -> None:
        self.path = path
        self.seeds = seeds
        kept = [line for line, entry in _entries(path) if entry["seed"] not in seeds or entry["epoch"] <= epoch]
        write_text(path, "".join(f"{line}\n" for line in kept))

    def write(self, found: Validation) -> None:
        """Append a line for each seed that was still in training."""
        rows = zip(self.seeds, found.loss, found.score, found.best, found.active, strict=True)
        lines = [
            json.dumps({"seed": seed, "epoch": found.epoch, "loss": loss, "score": score, "best": best})
            for seed, loss, score, best, active in rows
            if active
        ]
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))


def read_curves(path: Path) -> list[Curve]:
    """Read how training went, a curve for each seed."""
    curves: dict[int, Curve] = {}
    for _, entry in _entries(path):
        curve = curves.setdefault(entry["seed"], Curve(entry["seed"]))
        curve.epoch.append(entry["epoch"])
        curve.loss.append(entry["loss"])
        curve.score.append(entry["score"])
    return list(curves.values())


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the lines of a file and what they say; the line that a killed run was writing is left out."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            entry = json.loads(line)
            numbers = {name: float(entry[name]) for name in ("loss", "score")}
            yield line, {"seed": int(entry["seed"]), "epoch": int(entry["epoch"]), **numbers}
        except (ValueError, TypeError, KeyError):
            continue
