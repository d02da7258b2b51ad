"""``qgcn info``: versions, device, kernels and folders, to read or to paste into a bug report."""

import json
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from qgcn.cli.console import Console, progress_bars

if TYPE_CHECKING:
    from torch import Tensor

    from qgcn.kernels import Neighbourhoods
    from qgcn.manifolds import Space
    from qgcn.progress import Progress

__all__ = ["info"]

_PACKAGES = ("torch", "torch-geometric", "geoopt", "lightning-fabric", "numpy", "scipy", "scikit-learn", "networkx", "triton")
_FIGURES = ("matplotlib", "umap-learn")
_NAMES = {"triton": "Triton", "native": "compiled C++", "eager": "plain PyTorch"}
_SLOWER = "12 to 44 times slower than compiled C++"
"""Sums over all pairs by plain PyTorch, as measured for docs/kernels.md: without a compiler there is nothing to compare."""
_POINTS = 800
"""Points that the speed of kernels is measured with: plain PyTorch takes less than a tenth of a second for all their pairs."""


def info(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False) -> None:
    """Show versions, the device, which kernels run and how fast, and the folders of data and cache.

    Example: qgcn info --json
    """
    console = Console(quiet=as_json)
    with progress_bars(console) as progress:
        progress("loading PyTorch")
        found = _gather(progress)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        _print(found, console)


def _gather(progress: "Progress") -> dict[str, Any]:
    import torch

    from qgcn import __version__
    from qgcn.data.catalogue import data_root

    progress("looking at the kernels", note="compiled when first used")
    cuda = torch.cuda.is_available()
    root = data_root()
    return {
        "qgcn": __version__,
        "folder": str(Path(__file__).parents[1]),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in (*_PACKAGES, *_FIGURES)},
        "device": f"cuda: {torch.cuda.get_device_name()}" if cuda else f"cpu: {platform.processor() or platform.machine()}",
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "kernels": _kernels("cuda" if cuda else "cpu"),
        "data": {"folder": str(root), "exists": root.is_dir(), "from": "QGCN_DATA" if os.environ.get("QGCN_DATA") else None},
        "cache": _cache(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cache() -> str | None:
    from qgcn.kernels.compiled import cache_folder

    try:
        return str(cache_folder())
    except (OSError, RuntimeError):
        return None


def _kernels(device: str) -> dict[str, dict[str, Any]]:
    """Return the backend of each operation, and what keeps a faster one from being used."""
    from qgcn.kernels.mask import cpu as masks
    from qgcn.kernels.product import cpu as products
    from qgcn.kernels.translation import cpu as translations

    layers = {"sparse products": products, "dropout masks": masks, "bias translation": translations}
    return {"all pairs": _pairs(device)} | {name: _layer(device, module.obstacle()) for name, module in layers.items()}


def _pairs(device: str) -> dict[str, Any]:
    """Return the backend of functions of all pairs, with its speed where it is compiled."""
    import torch

    from qgcn.kernels import Neighbourhoods
    from qgcn.kernels.metric import factors_of
    from qgcn.kernels.pairs.implementations import obstacles
    from qgcn.manifolds import parse_space

    space = parse_space("Q7,3")
    x = space.random(_POINTS, 10, generator=torch.Generator().manual_seed(0)).detach()
    found = obstacles(x.to(device), space, factors_of(space))
    backend = next(name for name, obstacle in found.items() if obstacle is None)
    nodes = torch.arange(_POINTS)
    graph = Neighbourhoods.of(torch.stack((nodes, nodes.roll(1))), num_nodes=_POINTS)
    speed = round(_speed(x, space, graph), 1) if backend == "native" else None
    return {"backend": backend, "obstacle": found["triton" if device == "cuda" else "native"], "times_plain": speed}


def _layer(device: str, obstacle: str | None) -> dict[str, Any]:
    """Return the backend of an operation of networks: compiled for a CPU, plain PyTorch on a GPU."""
    native = device == "cpu" and obstacle is None
    return {"backend": "native" if native else "eager", "obstacle": obstacle if device == "cpu" else None}


def _speed(x: "Tensor", space: "Space", graph: "Neighbourhoods") -> float:
    """Return how many times as fast as plain PyTorch the compiled sum over all pairs is, in processor time on one thread."""
    import torch

    from qgcn.kernels import reconstruction_loss, use_backend
    from qgcn.kernels.backends import Backend

    def seconds(backend: Backend) -> float:
        taken = []
        with use_backend(backend), torch.no_grad():
            for _ in range(4):  # the first one warms up
                start = time.process_time()
                reconstruction_loss(x, graph, space)
                taken.append(time.process_time() - start)
        return min(taken[1:])

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more of them wait for each other on a busy machine
    try:
        return seconds("eager") / seconds("native")
    finally:
        torch.set_num_threads(threads)


def _print(found: dict[str, Any], console: Console) -> None:
    versions, data = found["packages"], found["data"]
    missing = [name for name in _FIGURES if versions[name] is None]
    kernels: dict[str, list[str]] = {}
    for name, each in found["kernels"].items():
        kernels.setdefault(_kernel(each), []).append(name)
    rows = [
        ("qgcn", f"{found['qgcn']} in {found['folder']}"),
        ("python", f"{found['python']} on {found['platform']}"),
        ("packages", ", ".join(f"{name} {each}" for name, each in versions.items() if each)),
        *([("", f"not installed: {', '.join(missing)} (pip install 'qgcn[viz]')")] if missing else []),
        ("device", f"{found['device']} (threads: {found['threads']}, cores: {found['cores']})"),
        *(("kernels" if k == 0 else "", f"{', '.join(names)}: {text}") for k, (text, names) in enumerate(kernels.items())),
        ("data", data["folder"] + (" ($QGCN_DATA)" if data["from"] else "") + ("" if data["exists"] else ", not there yet")),
        ("cache", found["cache"] or "none: there is no folder that only you can write to"),
    ]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, escape(value))
    console.print(table, highlight=False)


def _kernel(found: dict[str, Any]) -> str:
    """Return which implementation runs, in words."""
    text, of_pairs = _NAMES[found["backend"]], "times_plain" in found
    if of_pairs and found["backend"] == "native":
        text += f", {found['times_plain']:.0f} times as fast as plain PyTorch"
    elif of_pairs and found["backend"] == "eager" and found["obstacle"]:
        text += f", {_SLOWER}"
    return text if found["obstacle"] is None else f"{text} ({found['obstacle']})"
