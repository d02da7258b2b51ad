"""Several processes of one command on this machine, watched: when one of them dies, the others are stopped."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from types import FrameType
from typing import NoReturn

import torch
import typer

from qgcn.training.processes import Place

__all__ = ["DEVICES", "NODES", "launch"]

DEVICES = "Processes on this machine that train together, one for each GPU (default: 1)."
NODES = "Machines that train together; the command is started on each of them (default: 1)."

_ANYWHERE = 8
"""Processes that are started on any machine, however few cores it has."""
_WAIT = 0.1
"""Seconds between two looks at the processes."""
_GRACE = 30.0
"""Seconds that processes have to save and end once one of them has."""
_LAUNCHER = "QGCN_LAUNCHER"
"""Variable by which a process knows the one that has started it."""
_PR_SET_PDEATHSIG = 1  # Linux's name for the signal that a process gets when its parent dies


def launch(devices: int, nodes: int) -> None:
    """Run this command again in several processes and exit as they do; return at once in one of these, or if one is enough.

    They find each other as processes of ``torchrun`` do. On several machines, ``MASTER_ADDR`` names the first one, and
    ``NODE_RANK`` (or Slurm) says which one this is. On Linux they save and end also if this process is killed.

    Args:
        devices: Number of processes.
        nodes: Number of machines.

    Raises:
        ValueError: A number is below 1, more than the machine has cores and GPUs for, or not that of the processes that were
            started; the environment does not say what several machines need; or a process cannot be started, or has died.
    """
    for name, number in (("devices", devices), ("nodes", nodes)):
        if number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}")
    if (started := Place.here().count) > 1 and devices * nodes not in (1, started):
        raise ValueError(f"{started} processes were started, but devices and nodes ask for {devices * nodes}")
    if devices * nodes == 1 or started > 1:
        _end_with_launcher()
        return
    if devices > (most := max(_ANYWHERE, os.cpu_count() or 1, torch.cuda.device_count())):
        raise ValueError(f"devices must be at most {most} on a machine of {os.cpu_count() or 1} cores, got {devices}")
    place = _place(nodes)
    processes: list[subprocess.Popen[bytes]] = []
    asked: list[int] = []

    def hand_on(number: int, _frame: FrameType | None) -> None:
        asked.append(signal.SIGTERM if number == signal.SIGHUP else number)
        _send(processes, asked[-1])

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, hand_on)
    for local_rank in range(devices):
        rank = int(place["NODE_RANK"]) * devices + local_rank
        own = {"RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": devices * nodes, "LOCAL_WORLD_SIZE": devices}
        threads = {} if "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": max(1, (os.cpu_count() or 1) // devices)}
        told = {name: str(value) for name, value in (own | threads | {_LAUNCHER: os.getpid()}).items()}
        command = [sys.executable, *sys.orig_argv[1:]]
        # a session of their own: Ctrl-C reaches them once, through this process
        try:
            processes.append(subprocess.Popen(command, env=os.environ | place | told, start_new_session=True))  # noqa: S603
        except OSError as error:
            _send(processes, signal.SIGKILL)
            raise ValueError(f"process {local_rank} of {devices} cannot be started: {error}") from None
    for number in asked[-1:]:  # by then some were not there yet
        _send(processes, number)
    _exit_as(processes)


def _place(nodes: int) -> dict[str, str]:
    """Return where the processes meet, and which of the machines this one is."""
    if nodes == 1:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "NODE_RANK": "0", "GROUP_RANK": "0"}
    address, rank = os.environ.get("MASTER_ADDR"), os.environ.get("NODE_RANK", os.environ.get("SLURM_NODEID", ""))
    if not address or not (rank.isdecimal() and int(rank) < nodes):
        raise ValueError(
            f"{nodes} machines need MASTER_ADDR, the name of the first, and NODE_RANK, the number of this one, "
            f"below {nodes}; got {address or 'nothing'} and {rank or 'nothing'}"
        )
    return {
        "MASTER_ADDR": address,
        "MASTER_PORT": os.environ.get("MASTER_PORT", "29500"),
        "NODE_RANK": rank,
        "GROUP_RANK": rank,
    }


def _end_with_launcher() -> None:
    """Let this process be told to stop when the one that has started it dies, and stop if it has: on Linux, if one has."""
    launcher = os.environ.pop(_LAUNCHER, None)
    if launcher is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if str(os.getppid()) != launcher:  # it was faster
        signal.raise_signal(signal.SIGTERM)


def _exit_as(processes: list[subprocess.Popen[bytes]]) -> NoReturn:
    """Wait for all processes, and exit as they did; stop the others when one fails, and say so if the first one could not."""
    while None in (codes := [each.poll() for each in processes]) and not any(codes):
        time.sleep(_WAIT)
    failed = next((rank for rank, code in enumerate(codes) if code), 0)
    end = time.monotonic() + _GRACE
    while any(each.poll() is None for each in processes) and time.monotonic() < end:
        time.sleep(_WAIT)  # they hear of it from each other, and save
    _send(processes, signal.SIGKILL)  # such as those that wait for it to meet them
    ends = [each.wait() for each in processes]
    code = ends[failed]
    if ends[0] < 0 or (ends[0] == 0 and code < 0):  # otherwise the first one has said so
        how = f"was killed ({signal.Signals(-code).name})" if code < 0 else f"ended with exit code {code}"
        others = "the others have stopped; if training had begun, go on with: qgcn resume"
        raise ValueError(f"process {failed} of {len(processes)} {how}; {others}")
    raise typer.Exit(max(code if code >= 0 else 2 for code in ends))


def _send(processes: list[subprocess.Popen[bytes]], number: int) -> None:
    for each in processes:
        if each.poll() is None:
            each.send_signal(number)
