"""The tables and figures of the paper as lists of cells."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qgcn.reproduction import settings
from qgcn.reproduction.cells import Cell
from qgcn.reproduction.paper import (
    CLASSES,
    NETWORKS,
    PERCEPTRONS,
    RECONSTRUCTED,
    RECONSTRUCTING,
    SEEDS,
    SIGNATURES,
    TIMED,
    TITLES,
    Method,
)
from qgcn.tasks import read_config

__all__ = [
    "ABLATED",
    "ABLATED_MAP",
    "ALL",
    "FILES",
    "FULL",
    "QUICK",
    "TABLES",
    "TIMED_SETTINGS",
    "Scale",
    "cells_of",
]

ABLATED = tuple(method for method in NETWORKS if method.space in ("Q15,1", "Q14,2", "Q1,15"))
"""Rows of Table 2 whose settings are changed one at a time."""
ABLATED_MAP = tuple(method for method in RECONSTRUCTING if method.space in ("Q7,3", "Q3,7"))
"""Rows of Table 1 whose settings are changed one at a time."""

TIMED_SETTINGS = ("plain network", "Algorithm 1")
"""Networks that are timed."""


@dataclass(frozen=True)
class Scale:
    """How much of the tables is measured.

    Attributes:
        seeds: Seeds of every cell.
        trials: Points of the paper's grid that validation chooses from.
        graphs: Graphs of every table, by its name; those of the paper if it is not there.
        changes: Settings of every training, such as few epochs.
        rounds: Rounds of timing, and epochs of each.
        quadruples: Quadruples whose delta is measured, and seconds of the search for the worst.
        ablations: Whether settings are changed one at a time.
        searched: Folder of settings that a search has chosen, as YAML files.
    """

    seeds: int = SEEDS
    trials: int = 6
    graphs: dict[str, tuple[str, ...]] | None = None
    changes: dict[str, Any] | None = None
    rounds: tuple[int, int] = (5, 20)
    quadruples: tuple[int, float] = (1_000_000, 150.0)
    ablations: bool = True
    searched: Path | None = None

    def of(self, table: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return the graphs of a table."""
        return usual if self.graphs is None else self.graphs.get(table, usual)


FULL = Scale()
QUICK = Scale(
    seeds=2,
    trials=2,
    graphs={
        "table1": ("ring-of-trees",),
        "table2": ("stochastic-block",),
        "table3": ("stochastic-block",),
        "table4": ("ring-of-trees",),
        "appendix": ("ring-of-trees", "stochastic-block"),
    },
    changes={"epochs": 10},
    rounds=(2, 3),
    quadruples=(10_000, 5.0),
    ablations=False,
)
"""A minute on a CPU: small generated graphs, ten epochs, two seeds, two points of the grid. Its figures mean nothing."""


def cells_of(table: str, scale: Scale = FULL) -> list[Cell]:
    """Return the cells of a table or figure, all that it is rendered from."""
    found = TABLES[table](scale)
    return [_changed(cell, scale.changes or {}) for cell in found]


def _changed(cell: Cell, changes: dict[str, Any]) -> Cell:
    if not changes or cell.kind in ("graph", "timing"):
        return cell
    begun = {**cell.start, **changes} if cell.start else {}
    return replace(cell, values={**cell.values, **changes}, start=begun)


def table1(scale: Scale) -> Iterator[Cell]:
    """Reconstruction: our recipe; one network for every space, with our objective and the paper's; Algorithm 1 with the latter.

    Further signatures come later.
    """
    for data in scale.of("table1", RECONSTRUCTED):
        for method in dict.fromkeys((*RECONSTRUCTING, *SIGNATURES)):
            later = 0 if method in RECONSTRUCTING else 3
            common = ("table1", data, method.name)
            yield Cell(*common, "shallow", settings.shallow(method.space, data), rank=later)
            for rank, objective in enumerate(("neighbours", "paper"), 1):
                values = settings.plain_network(method, data, objective)
                yield Cell(*common, f"network, {objective}", values, rank=rank + later)
            values = settings.network_of_reconstruction(method, data, "paper")
            yield Cell(*common, "Algorithm 1, paper", values, rank=3 + later)
        yield from _ablations_of_map(data) if scale.ablations else ()


def _ablations_of_map(data: str) -> Iterator[Cell]:
    """Yield the network with our objective and one of the paper's choices at a time."""
    for method in ABLATED_MAP:
        values = settings.plain_network(method, data, "neighbours")
        for name, change in settings.ABLATIONS["reconstruction"].items():
            yield Cell("table1", data, method.name, f"network, neighbours; {name}", values | change, rank=4)


def table2(scale: Scale) -> Iterator[Cell]:
    """Links by two protocols, and classes: ours, searched, the published code's, the paper's own, and ours with one change."""
    for data in scale.of("table2", CLASSES):
        for method in NETWORKS:
            for task, protocol in (("links", "leak-free"), ("links", "hgcn"), ("classification", "")):
                yield from _entries(scale, "table2", data, method, task, protocol)
        yield from _ablations(data) if scale.ablations else ()


def table3(scale: Scale) -> Iterator[Cell]:
    """Classes by networks without a graph: our defaults, the published code's settings, and the paper's own."""
    for data in scale.of("table3", ("pubmed", "citeseer", "cora")):
        for method in PERCEPTRONS:
            yield from _entries(scale, "table3", data, method, "classification", "")


def _entries(scale: Scale, table: str, data: str, method: Method, task: str, protocol: str) -> Iterator[Cell]:
    leaks = protocol == "hgcn"
    extra = {"protocol": protocol} if protocol else {}
    common = (table, data, method.name)
    yield Cell(*common, "ours", settings.ours(task, method, data) | extra, rank=1 if leaks else 0)
    file = None if scale.searched is None else scale.searched / f"{task}-{data}-{method.model}-{method.space}.yaml"
    if file is not None and file.is_file() and not leaks:
        yield Cell(*common, "searched", read_config(file) | extra, rank=1)
    classifies = task == "classification"
    pretrained = classifies and table == "table2"  # without a graph nothing is to be learned from links
    grid = tuple(_point(point, method) for point in settings.points(scale.trials))
    if not leaks:
        yield Cell(*common, "code", settings.code(task, method, data) | extra, grid=grid, rank=2)
    yield Cell(
        *common,
        "paper",
        settings.paper(task, method, data) | extra,
        start=settings.start(method, data) if pretrained else {},
        grid=grid,
        trial={"protocol": "leak-free"} if leaks else {},  # one choice for both protocols, on data that do not leak
        rank=4 if leaks or classifies else 3,
    )


def _point(point: dict[str, Any], method: Method) -> dict[str, Any]:
    """Leave out of a point of the grid what a method does not have: SGC has one weight and no activation."""
    return point | {"activation": "relu", "dropout": 0.0} if method.model == "sgc" else point


def _ablations(data: str) -> Iterator[Cell]:
    for method in ABLATED:
        for task in ("links", "classification"):
            values = settings.ours(task, method, data) | ({"protocol": "leak-free"} if task == "links" else {})
            for name, change in settings.ABLATIONS[task].items():
                begun = settings.start(method, data) if name == "pretrained by links" else {}
                yield Cell("table2", data, method.name, f"ours; {name}", values | change, start=begun, rank=5)


def table4(scale: Scale) -> Iterator[Cell]:
    """Seconds of an epoch, all spaces in one process: with one entry for all of them, and with Algorithm 1 for a Q."""
    for data in scale.of("table4", ("web-edu", "facebook")):
        rounds, epochs = scale.rounds
        values = {"data": data, "rounds": rounds, "epochs": epochs, "methods": [method.name for method in TIMED]}
        for setting in TIMED_SETTINGS:
            yield Cell("table4", data, "all", setting, values | {"network": setting}, kind="timing")


def appendix(scale: Scale) -> Iterator[Cell]:
    """Sizes, delta and curvature of all graphs."""
    for data in scale.of("appendix", tuple(TITLES)):
        samples, seconds = scale.quadruples
        values = {"data": data, "samples": samples, "seconds": seconds}
        yield Cell("appendix", data, "graph", "measured", values, kind="graph")


def nothing(_: Scale) -> Iterator[Cell]:
    """A figure that needs no measurement, or trains for itself."""
    yield from ()


TABLES: dict[str, Callable[[Scale], Iterator[Cell]]] = {
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "appendix": appendix,
    "figure1": nothing,
    "figure2": table1,
    "figure3": nothing,
    "figure4": appendix,
}
"""All tables and figures: what each is rendered from."""
ALL = tuple(TABLES)
FILES = ("table1", "table2", "table3", "table4", "appendix")
"""Files of results."""
