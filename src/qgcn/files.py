"""Atomic reading and writing of files: a file is complete or absent."""

import json
import math
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

__all__ = [
    "check_writable",
    "create_folder",
    "load_tensors",
    "number",
    "read_json",
    "save_tensors",
    "write_atomically",
    "write_json",
    "write_text",
]


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: readers see a complete file or none.

    If ``write`` fails, a previous file stays as it was, and no temporary file is left.
    """
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}"  # mkstemp's files can be read by nobody else, ever
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text, as :func:`write_atomically` does."""
    write_atomically(path, lambda temporary: _text(temporary, text))


_NOT_IN_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""Numbers that JSON does not have, and the strings that stand for them."""


def write_json(path: Path, value: Any) -> None:
    """Write JSON, atomically; numbers that JSON does not have are written as ``"inf"``, ``"-inf"`` and ``"nan"``."""
    write_text(path, json.dumps(_spelled(value), indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a file written by :func:`write_json`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not of this kind.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: expected keys and values, got {type(content).__name__}")
    return content


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


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def save_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Write tensors and a description of them as safetensors, atomically."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(plain, metadata={"about": json.dumps(about)})
    write_atomically(path, lambda temporary: _bytes(temporary, content))


def _bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file written by :func:`save_tensors`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is incomplete or not of this kind.
    """
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            about = json.loads((file.metadata() or {})["about"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {path}") from None
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is damaged or no checkpoint: {' '.join(str(error).split())}") from None
    if not isinstance(about, dict):
        raise ValueError(f"{path} is no checkpoint: it does not say what it is of")
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
