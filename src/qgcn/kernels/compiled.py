"""C++ that is compiled for this machine when first used.

The compiler takes a second or two, once: what it makes is kept in the cache folder.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["compiled"]

_FLAGS: Final = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
_FLAGS_ALWAYS: Final = ("-shared", "-fPIC", "-pthread")


def compiled(source: Path, *options: str) -> ctypes.CDLL | str:
    """Load the functions of a file, compiling it if need be; or say what is in the way.

    Args:
        source: The file.
        options: Of the compiler, such as ``-DNAME=1``.
    """
    named = os.environ.get("CXX")
    names = (named,) if named else ("c++", "g++", "clang++")
    commands = [shlex.split(name) for name in names]  # "ccache g++" is a command, too
    compiler = next((command for command in commands if command and shutil.which(command[0])), None)
    if compiler is None:
        return f"no C++ compiler was found: looked for {', '.join(names)}{' as named by $CXX' if named else ''}"
    command = [*compiler, *_FLAGS, *options]
    try:
        path = _cache_folder() / f"{source.stem}-{_fingerprint(source, compiler, command)}.so"
        if not path.exists():
            _compile(source, command, path)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError) as error:  # without a home there is no cache folder
        return f"the compiled functions could not be kept or loaded: {error}"
    except subprocess.SubprocessError as error:
        said = getattr(error, "stderr", None) or str(error)
        return f"{shlex.join(compiler)} failed: {said.strip().splitlines()[-1] if said.strip() else error}"


def _cache_folder() -> Path:
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
    parts = (source.read_text(), " ".join(command), version, platform.machine(), *kind)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _compile(source: Path, command: list[str], path: Path) -> None:
    """Compile into a file beside, then rename: two processes may do so at once."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        everything = [*command, *_FLAGS_ALWAYS, "-o", str(made), str(source)]
        subprocess.run(everything, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
        made.replace(path)
