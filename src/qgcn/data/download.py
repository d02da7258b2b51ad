"""Fetch the files of a data set: checked before they get their name, never half-written."""

import hashlib
import os
import secrets
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

__all__ = ["download"]

_CHUNK = 1 << 16


def download(url: str, target: Path, sha256: str, *, timeout: float = 30.0, progress: bool = True) -> None:
    """Download one file.

    The bytes go to a temporary file beside the target, which takes the target's name only once it is complete and its checksum
    is right; on any failure, an interrupt included, it is removed.

    Args:
        url: Where from, ``http`` or ``https``.
        target: The file to write; its folder is made if need be.
        sha256: Expected checksum, 64 hexadecimal digits.
        timeout: Longest silence of the server to bear, in seconds.
        progress: Show a bar on a terminal.

    Raises:
        OSError: The server cannot be reached, refuses, or stops too early; or the file cannot be written.
        ValueError: Another scheme, or the wrong checksum.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"only http and https addresses can be downloaded, got {url!r}")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = partial.open("xb")
    except OSError as error:
        raise OSError(f"cannot write {target}: {error.strerror or error}") from None
    try:
        with file:
            found = _receive(url, file, timeout, progress, target.name)
            file.flush()
            os.fsync(file.fileno())
        if found != sha256:
            raise ValueError(f"{url} is not the expected file: its SHA-256 is {found}, not {sha256}")
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _receive(url: str, file: BinaryIO, timeout: float, progress: bool, label: str) -> str:
    """Copy the body to ``file`` and return its SHA-256."""
    digest, received = hashlib.sha256(), 0
    try:
        with _opener().open(request.Request(url, headers={"User-Agent": "qgcn"}), timeout=timeout) as response:  # noqa: S310
            length = response.headers.get("Content-Length", "")
            expected = int(length) if length.isdecimal() else None
            advance, close = _bar(label, expected) if progress else (lambda _: None, lambda: None)
            try:
                while chunk := response.read(_CHUNK):
                    digest.update(chunk)
                    received += len(chunk)
                    _write(file, chunk)
                    advance(len(chunk))
            finally:
                close()
    except HTTPError as error:
        reason = f"the server answers {error.code} {error.reason}"
        error.close()
        raise OSError(f"cannot download {url}: {reason}") from None
    except URLError as error:
        raise OSError(f"cannot download {url}: {error.reason}") from None
    except _WriteError as error:
        raise OSError(f"cannot write {file.name}: {error}") from None
    except TimeoutError:
        raise OSError(f"cannot download {url}: no answer for {timeout:g} s") from None
    except (OSError, HTTPException) as error:
        raise OSError(f"cannot download {url}: the connection broke after {received} bytes ({error})") from None
    if expected is not None and received != expected:
        raise OSError(f"cannot download {url}: it stopped after {received} of {expected} bytes")
    return digest.hexdigest()


class _WriteError(Exception):
    """The disk, not the connection, failed."""


def _write(file: BinaryIO, chunk: bytes) -> None:
    try:
        file.write(chunk)
    except OSError as error:
        raise _WriteError(error.strerror or error) from None


def _opener() -> request.OpenerDirector:
    """Speak http and https only: urllib's own opener would follow a redirection to ftp."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _bar(label: str, total: int | None) -> tuple[Callable[[int], None], Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(label, total=total)
    bar.start()
    return lambda size: bar.update(task, advance=size), bar.stop
