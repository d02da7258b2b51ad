"""The machine of a run: device, determinism, signals, versions."""

import atexit
import ctypes
import logging
import os
import platform
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from qgcn.tasks import Config
from qgcn.training.processes import PATIENCE, LostProcess, Place

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = [
    "StopSignals",
    "Stopped",
    "determinism",
    "device_of",
    "environment_of",
    "fabric_of",
    "freed_memory_kept",
    "peak_memory",
    "signals_raise",
    "stop_signals",
]


def device_of(config: Config) -> torch.device:
    """Return the device of a run.

    Raises:
        ValueError: It is not there.
    """
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda was asked for, but PyTorch sees no GPU; use cpu or auto")
    cuda = config.device == "cuda" or (config.device == "auto" and torch.cuda.is_available())
    place = Place.here()
    if cuda and place.local_count > torch.cuda.device_count():
        raise ValueError(
            f"{place.local_count} processes on this machine need a GPU each, but it has {torch.cuda.device_count()}"
        )
    return torch.device("cuda", place.local_rank) if cuda else torch.device("cpu")


def fabric_of(config: Config) -> "Fabric":
    """Return the device of a run, and the type of its numbers, for training.

    Where ``torchrun`` has started several processes, they are joined: all of them must call this.

    Raises:
        LostProcess: One of them has ended.
    """
    from lightning_fabric import Fabric  # here: it imports PyTorch's compiler, and nothing but training needs it

    precision: Any = "64-true" if config.precision == "float64" else "32-true"
    place, kind = Place.here(), device_of(config).type
    if place.count == 1:
        return Fabric(accelerator=kind, devices=1, precision=precision)
    from lightning_fabric.plugins.environments.torchelastic import TorchElasticEnvironment
    from lightning_fabric.strategies.ddp import DDPStrategy

    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells every step of their meeting
    together = DDPStrategy(cluster_environment=TorchElasticEnvironment(), timeout=PATIENCE)
    nodes = place.count // place.local_count
    fabric = Fabric(accelerator=kind, devices=place.local_count, num_nodes=nodes, strategy=together, precision=precision)
    try:
        fabric.launch()
    except (RuntimeError, TimeoutError) as error:
        raise LostProcess(f"process {place.rank} of {place.count} cannot reach the others: {error}") from None
    atexit.register(_part)
    return fabric


def _part() -> None:
    """Leave the other processes while Python still runs: gloo's threads hold tensors; to free one later ends in an abort.

    They end with the group: nothing else may hold it.
    """
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@contextmanager
def determinism(config: Config) -> Iterator[None]:
    """Insist on deterministic algorithms while a run that asks for them goes on."""
    before = torch.are_deterministic_algorithms_enabled()
    if config.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS refuses
    torch.use_deterministic_algorithms(config.deterministic or before)
    try:
        yield
    except RuntimeError as error:
        if "deterministic" not in str(error):
            raise
        raise ValueError(f"a deterministic run is not possible here: {str(error).split('. ')[0]}") from None
    finally:
        torch.use_deterministic_algorithms(before)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's names for its settings
_LARGEST_BLOCK = 2**25  # glibc takes larger ones from the system, whatever it is told


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Let the process keep what it frees while a run goes on, where its C library is glibc.

    A step frees what the next one allocates. Left to itself, glibc gives blocks of this size back to the system and asks for
    them again, page by page: for a batch of seeds that takes longer than the arithmetic.
    """
    libc = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
    if libc is None:
        yield
        return
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
    libc.malloc_trim(0)  # what reading and preparing have freed is not needed again
    try:
        yield
    finally:
        libc.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_BLOCK)  # where glibc ends by itself, once it has seen a large block
        libc.malloc_trim(0)


class Stopped(KeyboardInterrupt):
    """A signal to stop came where work may be broken off."""


class StopSignals:
    """Ctrl-C and SIGTERM as a question that a loop asks: call it to know whether one has come; a second one stops at once."""

    def __init__(self) -> None:
        self._asked = False
        self._at_once = False

    def __call__(self) -> bool:
        """Tell whether a signal has come."""
        return self._asked

    @contextmanager
    def heard_at_once(self) -> Iterator[None]:
        """Break off what is done in the block when a signal comes, or has come; it must be work that can be done again.

        Raises:
            Stopped: A signal came.
        """
        self._at_once = True
        try:
            if self._asked:
                raise Stopped
            yield
        finally:
            self._at_once = False

    def hear(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        if self._at_once:
            raise Stopped


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """Turn Ctrl-C and SIGTERM into a question while a block lasts; outside the main thread none is heard."""
    signals = StopSignals()
    try:
        before = {number: signal.signal(number, signals.hear) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: signals are somebody else's
        before = {}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_raise() -> Iterator[None]:
    """Let SIGTERM raise ``KeyboardInterrupt``, as Ctrl-C does: for work that can be stopped anywhere."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def peak_memory(device: torch.device) -> int | None:
    """Return the most bytes that the process has held at once, on the GPU if that is the device; ``None`` if unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) * 1024 if found else None


def environment_of(fabric: "Fabric") -> dict[str, Any]:
    """Return versions, machine and number of threads."""
    from qgcn import __version__  # here: the package imports this module; its metadata are not there unless it is installed

    packages = ("qgcn", "torch", "torch_geometric", "geoopt", "lightning_fabric", "numpy", "safetensors")
    device = torch.cuda.get_device_name() if fabric.device.type == "cuda" else platform.processor() or platform.machine()
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "device": f"{fabric.device.type}: {device}",
        "threads": torch.get_num_threads(),
        "packages": {name: __version__ if name == "qgcn" else _version(name) for name in packages},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its source, or replaced while it runs
        return "unknown"
