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
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

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
        path = cache_folder() / f"{source.stem}-{_fingerprint(source, compiler, command)}.so"
        if not path.exists():
            _compile(source, command, path)
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
        OSError: It cannot be made, or others can write to it.
        RuntimeError: The user has no home folder.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qgcn" / "kernels"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid"):  # what lies there will be run
        about = folder.stat()
        if about.st_uid != os.getuid() or about.st_mode & 0o022:
            raise OSError(f"{folder} belongs to, or can be written by, someone else")
    return folder


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


def _compile(source: Path, command: list[str], path: Path) -> None:
    """Compile into a file beside, then rename: two processes may do so at once."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        everything = [*command, *_FLAGS_ALWAYS, "-o", str(made), str(source)]
        subprocess.run(everything, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
        made.replace(path)
