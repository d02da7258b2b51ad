"""Atomic reading and writing of files: a file is complete or absent."""

import glob
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from qgcn.locks import try_lock
from qgcn.seals import BLANK, Damaged, read_sealed, seal

__all__ = [
    "check_writable",
    "create_folder",
    "load_tensors",
    "number",
    "read_sealed_json",
    "remove_abandoned",
    "save_tensors",
    "scratch_folder",
    "tensor_bytes",
    "tensors_from",
    "write_atomically",
    "write_bytes",
    "write_json",
    "write_sealed_json",
    "write_text",
]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Open neither a link nor a pipe that nobody writes to."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: readers see a complete file or none.

    If ``write`` fails, a previous file stays as it was, and no temporary file is left. What a process that was killed has left
    is removed by the next one that writes the same file: a temporary file is locked by its writer for as long as that lives.
    """
    remove_abandoned(path.parent, path.name)
    temporary, descriptor = _locked(path, _open_file)
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror is not None:
            raise type(error)(f"cannot write {path}: {error.strerror}") from None
        raise
    finally:
        os.close(descriptor)
    _sync_folder(path.parent)


def remove_abandoned(folder: Path, name: str = "*") -> None:
    """Remove the temporary files of processes that were killed while they wrote a file into a folder."""
    for left in folder.glob(f".{glob.escape(name) if name != '*' else name}.{'[0-9a-f]' * 16}"):
        with suppress(OSError):  # renamed or removed meanwhile, or not ours to remove
            descriptor = os.open(left, os.O_RDONLY | _NO_LINK)
            try:
                if try_lock(descriptor):
                    _remove(left)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _locked(path: Path, create: Callable[[Path], int]) -> tuple[Path, int]:
    """Create a temporary file or folder beside a path, open and locked."""
    while True:
        temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}"  # mkstemp's files can be read by nobody else, ever
        with suppress(FileNotFoundError) if path.parent.is_dir() else nullcontext():
            descriptor = create(temporary)
            if try_lock(descriptor) is not False and temporary.exists():
                return temporary, descriptor
            os.close(descriptor)  # before it was locked, somebody has taken it for abandoned


def _open_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


def _open_folder(path: Path) -> int:
    path.mkdir(mode=0o700)
    return os.open(path, os.O_RDONLY)


@contextmanager
def scratch_folder(parent: Path, name: str) -> Iterator[Path]:
    """Lend an empty folder for as long as the block lasts; what killed processes have left beside it is removed.

    Args:
        parent: Where it is made.
        name: What is written with its help.
    """
    remove_abandoned(parent)
    folder, descriptor = _locked(parent / name, _open_folder)
    try:
        yield folder
    finally:
        os.close(descriptor)
        shutil.rmtree(folder, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """Let a rename outlast a power failure, where the system can do so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes, as :func:`write_atomically` does."""
    write_atomically(path, lambda temporary: _bytes(temporary, content))


def write_text(path: Path, text: str) -> None:
    """Write a text, as :func:`write_atomically` does."""
    write_bytes(path, text.encode("utf-8"))


_NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not have, and the strings that stand for them."""


def write_json(path: Path, value: Any) -> None:
    """Write JSON, atomically; numbers that JSON does not have are written as ``"inf"``, ``"-inf"`` and ``"nan"``."""
    write_text(path, _json(value))


def write_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """Write JSON as :func:`write_json` does, with a version and a checksum under ``seal``."""
    write_bytes(path, seal(_json({"seal": BLANK, **value}).encode()))


def read_sealed_json(path: Path) -> dict[str, Any]:
    """Read a file written by :func:`write_sealed_json`.

    Raises:
        OSError: The file cannot be read.
        Damaged: It is not as it was written.
    """
    try:
        content = json.loads(read_sealed(path))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(content, dict):
        raise Damaged(f"{path} is damaged: expected keys and values, got {type(content).__name__}")
    content.pop("seal", None)
    return content


def _json(value: Any) -> str:
    return json.dumps(_spelled(value), indent=2, allow_nan=False) + "\n"


def _damaged(path: Path, error: Exception) -> Damaged:
    """Return an error that names the file, in one line."""
    return error if isinstance(error, Damaged) else Damaged(f"{path} is damaged: {' '.join(str(error).split())}")


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _spelled(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelled(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def number(value: Any) -> float:
    """Return a number as written by :func:`write_json`.

    Raises:
        ValueError: The value is not a number.
    """
    if isinstance(value, str) and value in _NOT_IN_JSON:
        return _NOT_IN_JSON[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value)


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a description of them as safetensors, atomically, with a version and a checksum."""
    write_bytes(path, tensor_bytes(tensors, about))


def tensor_bytes(tensors: dict[str, Tensor], about: dict[str, Any]) -> bytes:
    """Return the file that :func:`save_tensors` writes."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return seal(save(plain, metadata={"about": json.dumps({"seal": BLANK, **about})}))


def _bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file written by :func:`save_tensors`.

    Raises:
        OSError: The file cannot be read.
        Damaged: It is not as it was written.
    """
    return tensors_from(read_sealed(path), path)


def tensors_from(content: bytes, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what :func:`tensor_bytes` was given.

    Args:
        content: What it returned.
        path: Where that comes from.

    Raises:
        Damaged: It is not what that returned.
    """
    try:
        tensors = load(content)
        about = json.loads(json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["about"])
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(about, dict):
        raise Damaged(f"{path} is damaged: it does not say what it is of")
    about.pop("seal", None)
    return tensors, about


def check_writable(folder: Path) -> None:
    """Raise unless ``folder`` exists or could be created, and files could be written there; create nothing."""
    existing = Path(os.path.abspath(folder))  # noqa: PTH100  # Path.resolve would hide what was asked for behind a link
    try:
        while not existing.exists():
            existing = existing.parent
        if not existing.is_dir():
            raise NotADirectoryError(f"cannot write to {folder}: {existing} is not a folder")
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        if error.strerror is None:
            raise
        raise type(error)(f"cannot write to {folder}: {error.strerror}") from None


def create_folder(folder: Path) -> list[Path]:
    """Create a folder and its missing parents; return the folders created, innermost first."""
    missing = []
    for each in (folder, *folder.parents):
        if each.exists():
            break
        missing.append(each)
    folder.mkdir(parents=True, exist_ok=True)
    return missing
