"""Cells: what one entry of a table depends on, from its settings to the key of its lines."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from qgcn.tasks import Config, find_task

__all__ = ["Cell", "digest"]

Kind = Literal["train", "trial", "timing", "graph"]
"""``train``: a model, scored on test; ``trial``: a model, scored on validation alone; ``timing``: seconds of an epoch;
``graph``: measurements of a graph."""

MACHINE = frozenset(
    {"seed", "seeds", "device", "yardsticks", "checkpoint_seconds", "batch_seeds", "deterministic", "refit", "start"}
)
"""Settings that are no part of a cell: lines name their seed, and the folder that training starts from is a scratch one."""


def digest(settings: Mapping[str, Any]) -> str:
    """Return the hash of some settings: 16 hexadecimal digits, whatever their order."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Cell:
    """An entry of a table: a method with its settings on a graph, for any seed.

    Attributes:
        table: File of its lines, such as ``table2``.
        data: Name of the graph.
        method: Name of the method as the table writes it.
        setting: Name of the settings, such as ``ours``.
        values: The settings by key, ``task`` and ``data`` among them; of a measurement, its arguments.
        kind: What is measured.
        start: Settings of link prediction whose embedding joins the features; none if empty.
        grid: Settings of which validation chooses one, before anything is tested; none if empty.
        trial: Settings that are others while that choice is made.
        rank: Cells of a lower rank are measured first.
    """

    table: str
    data: str
    method: str
    setting: str
    values: Mapping[str, Any]
    kind: Kind = "train"
    start: Mapping[str, Any] = field(default_factory=dict)
    grid: Sequence[Mapping[str, Any]] = ()
    trial: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0

    @property
    def task(self) -> str:
        """Name of its task; none of a measurement."""
        return str(self.values.get("task", ""))

    @cached_property
    def hash(self) -> str:
        """Hash of :attr:`settings`."""
        return digest(self.settings)

    def config(self, seed: int = 0, device: str = "auto", start: str | None = None, seeds: int = 1) -> Config:
        """Return the config of one seed, or of several.

        Args:
            seed: The first seed.
            device: Device to train on.
            start: Folder of the run that training starts from.
            seeds: Number of seeds.
        """
        begun = {} if start is None else {"start": start}
        return Config.checked({**self.values, **_measured(seed, device), "seeds": seeds, **begun})

    def start_config(self, seed: int, device: str) -> Config:
        """Return the config of the run that training starts from."""
        return Config.checked({**self.start, **_measured(seed, device)})

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that the lines of the cell depend on, but the seed: with all defaults, so that a change of one is told."""
        return self._settings_and_defaults[0]

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Defaults of :attr:`settings`."""
        return self._settings_and_defaults[1]

    @cached_property
    def _settings_and_defaults(self) -> tuple[dict[str, Any], dict[str, Any]]:
        found: dict[str, Any] = {"kind": self.kind}
        if self.kind in ("timing", "graph"):
            return found | dict(self.values), {}
        config = self.config()
        values, fields = config.model_dump(), type(config).model_fields
        found |= {name: value for name, value in values.items() if name not in MACHINE}
        if self.start:
            found["start"] = digest(_of_run(self.start_config(0, "auto")))
        return found, {name: fields[name].default for name in found if name in fields}

    @cached_property
    def batchable(self) -> bool:
        """Whether several seeds may be trained as one batch: not if each of them starts from a run of its own."""
        if self.kind != "train" or self.start:
            return False
        return find_task(self.task).batchable and self.config().capabilities.batchable

    @cached_property
    def trials(self) -> "list[Cell]":
        """Cells that are scored on validation, one for each point of the grid."""
        return [replace(each, values={**each.values, **self.trial}, kind="trial") for each in self.candidates]

    @cached_property
    def candidates(self) -> "list[Cell]":
        """Cells of which the trials choose one."""
        return [replace(self, values={**self.values, **point}, grid=()) for point in self.grid]


def _measured(seed: int, device: str) -> dict[str, Any]:
    return {"seed": seed, "seeds": 1, "device": device, "yardsticks": False}


def _of_run(config: Config) -> dict[str, Any]:
    """Return the settings of a run that do not name a seed or a machine."""
    return {name: value for name, value in config.model_dump().items() if name not in MACHINE}
