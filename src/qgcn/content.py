"""The bytes of a file: of a regular file only, and unpacked within a limit."""

import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import NamedTuple

__all__ = ["ARRAYS", "NODES", "STORED", "TEXT", "Limit", "check_file", "megabytes", "read_bytes", "read_regular"]

_CHUNK = 1 << 20


class Limit(NamedTuple):
    """Size to which a file may grow when it is unpacked: a constant, and a multiple of its own size."""

    constant: int
    multiple: int

    def of(self, size: int) -> int:
        """Return the limit in bytes of a file of ``size`` bytes."""
        return self.constant + self.multiple * size


TEXT = Limit(16 << 20, 30)
"""Limit of text and XML in a ``.gz``; splitting it into fields takes several times as much."""
ARRAYS = Limit(512 << 20, 100)
"""Limit of the arrays in an ``.npz`` and in Parquet, and of a sparse matrix that is made dense."""
STORED = Limit(8 << 20, 8)
"""Limit of the arrays of a stored graph, in which a byte can stand for an edge; one beyond it is stored uncompressed."""
NODES = Limit(1 << 24, 16)
"""Limit of the number of nodes that a file claims, over the number of ends of edges or of entries that it holds."""


def check_file(path: Path) -> int:
    """Return the size of a file in bytes.

    Raises:
        OSError: It cannot be read, or is a folder, a pipe or a device; one line says why.
    """
    with _opened(path) as file:
        return os.fstat(file.fileno()).st_size


def read_bytes(path: Path, limit: Limit = TEXT) -> bytes:
    """Return the content of a file, unpacked if it is gzipped.

    Memory: twice the file, or twice what ``limit`` allows it to be unpacked to.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not the gzip file it claims to be, or is larger than the limit when it is unpacked.
    """
    content = read_regular(path)
    return _unpacked(content, path, limit.of(len(content))) if path.suffix.lower() == ".gz" else content


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file as they are: a pipe or a device, which could be read forever, is an error.

    Raises:
        OSError: It cannot be read; one line says why.
    """
    with _opened(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise type(error)(f"cannot read {path}: {error.strerror or error}") from None


def _opened(path: Path) -> io.BufferedReader:
    """Open a regular file; a pipe is not waited for."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {path}") from None
    except OSError as error:
        raise type(error)(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # a zero byte
        raise ValueError(f"no file {str(path)!r}: {error}") from None
    mode = os.fstat(number).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(number, "rb")
    os.close(number)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder, not a file")
    raise OSError(f"{path} is a pipe or a device, not a file")


def _unpacked(content: bytes, path: Path, most: int) -> bytes:
    chunks, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while chunk := file.read(_CHUNK):
                chunks.append(chunk)
                size += len(chunk)
                if size > most:
                    break
    except EOFError:
        raise ValueError(f"{path} is cut short: the gzip stream in it does not end") from None
    except (OSError, zlib.error) as error:
        raise ValueError(f"{path} is not a gzip file: {error}") from None
    if size > most:
        raise ValueError(
            f"{path} unpacks to more than {megabytes(most)}, too much for {len(content)} bytes: unpack it yourself"
        )
    return b"".join(chunks)


def megabytes(size: int) -> str:
    """Write a size in bytes, for an error."""
    return f"{size / 2**20:,.0f} MiB" if size >= 2**20 else f"{size:,} bytes"
