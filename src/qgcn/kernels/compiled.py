"""C++ functions, compiled for this machine when first used.

Compilation takes a second or two, once: the result is kept in the cache folder.
"""

import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from qgcn.caches import user_cache
from qgcn.files import scratch_folder, write_bytes
from qgcn.kernels.backends import forced

__all__ = ["Library", "cache_folder", "compiled", "threads_for"]

_FLAGS: Final = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
_FLAGS_ALWAYS: Final = ("-shared", "-fPIC", "-pthread")
_INCLUDE: Final = re.compile(r'^#include "(.+)"$', re.MULTILINE)
_WORTH: Final = 2**14  # operations on sixteen numbers that are worth a thread of their own


class Library:
    """The functions of one C++ file, compiled and loaded when first used.

    Args:
        source: The file.
        options: Of the compiler, such as ``-DNAME=1``.
        signatures: Types of the arguments of each function, by its name; a function without one takes what it is given.
    """

    def __init__(self, source: Path, *options: str, **signatures: Sequence[Any]) -> None:
        self._source = source
        self._options = options
        self._signatures = signatures

    @cached_property
    def _loaded(self) -> ctypes.CDLL | str:
        found = compiled(self._source, *self._options)
        if not isinstance(found, str):
            for name, types in self._signatures.items():
                function = found[name]
                function.argtypes, function.restype = types, None
                setattr(found, name, function)
        return found

    def obstacle(self) -> str | None:
        """Return why the functions are not available; ``None`` if they are."""
        return self._loaded if isinstance(self._loaded, str) else None

    def takes(self, *tensors: Tensor) -> bool:
        """Tell whether the functions take these tensors: float32 on the CPU, with nothing else asked for."""
        plain = all(each.dtype == torch.float32 and each.device.type == "cpu" for each in tensors)
        return plain and forced() in (None, "native") and self.obstacle() is None

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function.

        Raises:
            RuntimeError: It could not be compiled; see :meth:`obstacle`.
        """
        if isinstance(self._loaded, str):
            raise RuntimeError(self._loaded)
        getattr(self._loaded, name)(*arguments)


def threads_for(operations: int) -> int:
    """Return the number of threads worth starting for this many operations on sixteen numbers."""
    return max(1, min(torch.get_num_threads(), operations // _WORTH))


def compiled(source: Path, *options: str) -> ctypes.CDLL | str:
    """Load the functions of a file, compiling it if need be; or return the reason why that is not possible.

    Args:
        source: The file.
        options: Of the compiler, such as ``-DNAME=1``.
    """
    compiler = _compiler()
    if isinstance(compiler, str):
        return compiler
    command = [*compiler, *_FLAGS, *options]
    try:
        folder, name = cache_folder(), f"{source.stem}-{_fingerprint(source, compiler, command)}"
        path = _kept(folder, name) or _compile(source, command, folder, name)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError) as error:  # without a home there is no cache folder
        return f"the compiled functions could not be kept or loaded: {error}"
    except subprocess.SubprocessError as error:
        said = getattr(error, "stderr", None) or str(error)
        return f"{shlex.join(compiler)} failed: {said.strip().splitlines()[-1] if said.strip() else error}"


def _compiler() -> list[str] | str:
    """Return the command of a C++ compiler, or say that there is none."""
    named = os.environ.get("CXX")
    names = (named,) if named else ("c++", "g++", "clang++")
    for name in names:
        command = shlex.split(name)  # "ccache g++" is a command, too
        if command and shutil.which(command[0]):
            return command
    return f"no C++ compiler was found: looked for {', '.join(names)}{' as named by $CXX' if named else ''}"


def cache_folder() -> Path:
    """Return the folder that compiled functions are kept in, made if need be.

    Raises:
        OSError: It cannot be made, or somebody else could replace what lies there.
        RuntimeError: The user has no home folder.
    """
    folder = user_cache() / "kernels"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = folder.resolve()
    if hasattr(os, "getuid"):  # what lies there will be run
        for each in (folder, *folder.parents):
            _check_owner(each, folder)
    return folder


def _check_owner(each: Path, folder: Path) -> None:
    """Raise if somebody else could put something of theirs into a folder, or take its place."""
    about = each.stat()
    if about.st_uid not in (os.getuid(), *(() if each == folder else (0,))):
        raise OSError(f"{each} belongs to someone else")
    sticky = each != folder and about.st_mode & stat.S_ISVTX  # such as /tmp: nobody can replace what is not theirs
    if about.st_mode & stat.S_IWOTH and not sticky:
        raise OSError(f"{each} can be written by everybody")
    if about.st_mode & stat.S_IWGRP and not sticky and (each == folder or not _is_own_group(about.st_gid)):
        raise OSError(f"{each} can be written by a group")


def _is_own_group(gid: int) -> bool:
    """Tell whether a group is the one that many systems give each user: of the same name, with nobody else in it."""
    import grp
    import pwd

    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # of a number without a name
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _fingerprint(source: Path, compiler: list[str], command: list[str]) -> str:
    """Return a name for what this compiler makes of the source on this kind of processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else [platform.processor()]
    kind = [line for line in lines if line.startswith(("model name", "flags", "Features"))][:2]
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout  # noqa: S603
    texts = (path.read_text() for path in _with_headers(source))
    parts = (*texts, " ".join(command), version, platform.machine(), *kind)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _with_headers(source: Path) -> Iterator[Path]:
    """Yield a file, then those it includes by a path, each as often as it is included."""
    yield source
    for name in _INCLUDE.findall(source.read_text()):
        yield from _with_headers(source.parent / name)


def _kept(folder: Path, name: str) -> Path | None:
    """Return the compiled file of a name, which ends in its own checksum; one that does not match it is removed.

    A damaged library must never be loaded: the system maps it into memory, and kills the process that reads what is missing.
    """
    for path in sorted(folder.glob(f"{name}-*.so")):
        with suppress(FileNotFoundError):  # removed by another process meanwhile
            if path.name == _named(name, path.read_bytes()):
                return path
            path.unlink()
    return None


def _named(name: str, content: bytes) -> str:
    return f"{name}-{hashlib.sha256(content).hexdigest()[:32]}.so"


def _compile(source: Path, command: list[str], folder: Path, name: str) -> Path:
    """Compile into a folder beside, then rename: two processes may do so at once."""
    with scratch_folder(folder, name) as scratch:
        made = scratch / "made.so"
        everything = [*command, *_FLAGS_ALWAYS, "-o", str(made), str(source)]
        subprocess.run(everything, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
        content = made.read_bytes()
        path = folder / _named(name, content)
        write_bytes(path, content)
        return path
