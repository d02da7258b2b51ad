"""The journal of a sweep: what Optuna keeps of trials, one JSON object a line, with a checksum of it and all lines before."""

import hashlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from optuna.storages.journal import BaseJournalBackend

from qgcn.content import read_regular
from qgcn.seals import VERSION, Damaged

__all__ = ["Journal"]

_START: Final = f"qgcn-file {VERSION}"
_LINE: Final = re.compile(rb'(\{.*),"check":"([0-9a-f]{16})"\}')


class Journal(BaseJournalBackend):
    """A file that one process reads and writes.

    Half a line at the end is what a killed process, or one without space, was writing: it is left out, and overwritten. Any
    other damage is an error. Lines without checksums at the beginning are those of Optuna's own files, and covered by the
    first checksum that follows.

    Args:
        path: The file; it is made when something is written. Its folder must be locked by the caller.

    Raises:
        Damaged: The file is not as it was written.
        OSError: It cannot be read, or is a link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._logs: list[dict[str, Any]] = []
        self._check, self._size = _START, 0
        if path.is_symlink():
            raise OSError(f"{path} is a link to another place, where nothing is written: put a file there")
        if path.exists():
            self._read(read_regular(path))

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        """Return the lines from a number on."""
        return self._logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append lines, all or none of them.

        Raises:
            OSError: They cannot be written.
        """
        check, lines = self._check, []
        for log in logs:
            body = json.dumps(log, separators=(",", ":")).removesuffix("}")
            check = _next(check, body.encode())
            lines.append(f'{body},"check":"{check}"}}\n')
        content = "".join(lines).encode()
        try:
            self._write(content)
        except OSError as error:
            raise type(error)(f"cannot write {self.path}: {error.strerror or error}") from None
        self._size, self._check = self._size + len(content), check
        self._logs += [json.loads(line) for line in lines]

    def _write(self, content: bytes) -> None:
        """Write where the last whole line ends: what an attempt before has left there is overwritten."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self.path, flags, 0o666), "rb+") as file:
            file.truncate(self._size)
            file.seek(self._size)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _read(self, content: bytes) -> None:
        *lines, rest = content.split(b"\n")
        sealed = False
        for number, line in enumerate(lines, 1):
            body, is_whole = _body(line, self._check, sealed)
            if body is None:
                raise Damaged(f"{self.path} is damaged: line {number} does not match its checksum")
            sealed = sealed or is_whole
            self._take(body)
            self._size += len(line) + 1
        if sealed and _body(rest[:-1], self._check, sealed)[0] is not None:  # its last character should be a new line
            raise Damaged(f"{self.path} is damaged: line {len(lines) + 1} does not end as it was written")

    def _take(self, body: bytes) -> None:
        self._check = _next(self._check, body)
        self._logs.append(json.loads(body + b"}"))


def _next(check: str, body: bytes) -> str:
    return hashlib.sha256(check.encode() + b"\n" + body).hexdigest()[:16]


def _body(line: bytes, check: str, sealed: bool) -> tuple[bytes | None, bool]:
    """Return a line without its checksum and the closing brace, nothing if it is damaged; and whether it has a checksum.

    Args:
        line: The line.
        check: The checksum of all lines before it.
        sealed: Whether one of them has a checksum, so that this one must.
    """
    found = _LINE.fullmatch(line)
    body = line.removesuffix(b"}") if found is None else found[1]
    if found is None and (sealed or not line.endswith(b"}")):
        return None, False
    if found is not None and _next(check, body) != found[2].decode():
        return None, False
    try:
        value = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None, False
    return (body, found is not None) if isinstance(value, dict) else (None, False)
