"""Seals: a version and a checksum inside a file, in the same way for every format.

A seal is a text, ``qgcn-file VERSION sha256=DIGEST``: a comment in YAML, a value in JSON and in the header of safetensors, the
comment of an npz archive. The digest is that of the whole file with the 64 digits of the digest set to zero, so that no bit of
the file can change unnoticed.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from qgcn.content import read_regular

__all__ = ["BLANK", "VERSION", "Damaged", "Unsealed", "read_sealed", "seal", "seal_archive", "unseal"]

VERSION: Final = 2
"""Format of the files of a run; files of format 1 had no seals."""
_DIGITS: Final = 64
BLANK: Final = f"qgcn-file {VERSION} sha256={'0' * _DIGITS}"
"""A seal that is not filled in yet: what a writer puts where its format has room for a text."""
_SEAL: Final = re.compile(rb"qgcn-file (\d{1,9}) sha256=([0-9a-f]{64})")
_ARCHIVE: Final = b"PK\x03\x04"  # how a zip file begins


class Damaged(ValueError):  # noqa: N818
    """A file is not as it was written."""


class Unsealed(Damaged):
    """A file has no seal, or one of another version."""


def seal(content: bytes) -> bytes:
    """Fill in the seal of a file: the first :data:`BLANK` in it, the last one in a zip archive.

    Law: ``unseal(seal(content), name)`` returns what ``seal`` returned.

    Raises:
        ValueError: There is no blank seal where one is expected.
    """
    found = _find(content)
    if found is None or found[0].decode() != BLANK:
        raise ValueError("a file to be sealed needs a blank seal at its beginning, or at the end of an archive")
    return content[: found.start(2)] + hashlib.sha256(content).hexdigest().encode() + content[found.end(2) :]


def seal_archive(write: Callable[[Any], None]) -> bytes:
    """Return the zip archive that ``write`` writes to a binary file, sealed by its comment."""
    buffer = io.BytesIO()
    write(buffer)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = BLANK.encode()
    return seal(buffer.getvalue())


def unseal(content: bytes, name: object) -> bytes:
    """Return the content of a sealed file after checking it; ``name`` is how an error calls the file.

    Raises:
        Damaged: The content differs from what was written.
        Unsealed: It has no seal, or one of another version.
    """
    found = _find(content)
    if found is None:
        raise Unsealed(f"{name} has no checksum: it is damaged, or was written by an earlier version of qgcn")
    whole, digest = memoryview(content), hashlib.sha256()
    for part in (whole[: found.start(2)], b"0" * _DIGITS, whole[found.end(2) :]):
        digest.update(part)
    if digest.hexdigest().encode() != found[2]:
        raise Damaged(f"{name} is damaged: it does not match its checksum")
    if int(found[1]) != VERSION:
        formats = f"its format is {int(found[1])}, this one reads {VERSION}"
        raise Unsealed(f"{name} was written by another version of qgcn: {formats}")
    return content


def read_sealed(path: Path) -> bytes:
    """Read a sealed file; see :func:`unseal`.

    Raises:
        OSError: It cannot be read, or is not a regular file.
        Damaged: It is not as it was written.
    """
    return unseal(read_regular(path), path)


def _find(content: bytes) -> re.Match[bytes] | None:
    if not content.startswith(_ARCHIVE):
        return _SEAL.search(content)
    return _SEAL.fullmatch(content, max(0, len(content) - len(BLANK)))
