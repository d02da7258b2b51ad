"""Locks on files: held by a process for as long as it lives and no longer, however it ends."""

import errno
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not a POSIX system: nothing can be locked
    fcntl = None

__all__ = ["FileLock", "Locked", "holder", "try_lock"]

_UNABLE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems that have no locks."""
_TRIES, _PAUSE = 10, 0.02
"""Attempts at a lock, and seconds between them: who asks for its holder holds it for a moment."""


class Locked(BlockingIOError):  # noqa: N818
    """Another process holds a lock; the message says which."""


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder without waiting.

    The lock is the system's (``flock``): it belongs to the open file, conflicts with every other open one, also of the same
    process, and ends with the process. Linux passes it on to an NFS server, so that it also holds between machines, unless
    the folder is mounted with ``nolock`` or ``local_lock``.

    Returns:
        Whether it is locked now; ``None`` where the file system has no locks.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNABLE:
            raise
        return None
    return True


class FileLock:
    """A file that one process holds; it says which one, and is gone when it is released.

    A file left by a process that was killed is not held by anybody: the next process takes it over.

    Args:
        path: The file, in a folder that exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.effective = False
        """Whether others are really kept out: not so on a file system without locks."""
        self.inherited = False
        """Whether the file was there already, left by a process that was killed."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for as long as the block lasts.

        Raises:
            Locked: Another process holds it.
            OSError: The file cannot be made.
        """
        descriptor = self._acquire()
        try:
            yield
        finally:
            self.path.unlink(missing_ok=True)  # while it is held: nobody else's file is removed
            os.close(descriptor)
            self.effective = False

    def _acquire(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        who = ""
        for _ in range(_TRIES):
            try:
                descriptor = os.open(self.path, flags | os.O_EXCL, 0o666)
                self.inherited = False
            except FileExistsError:
                descriptor = os.open(self.path, flags, 0o666)
                self.inherited = True
            try:
                locked = try_lock(descriptor)
                if locked is None or (locked and self._is(descriptor)):  # else it was released, and so removed, in between
                    self.effective = bool(locked)
                    _sign(descriptor)
                    return descriptor
                who = _named(descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)
            time.sleep(_PAUSE)
        raise Locked(f"{self.path.parent} is being written by {who}; wait for it to end, or stop it")

    def _is(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self.path))
        except FileNotFoundError:
            return False


def holder(path: Path) -> str | None:
    """Return who holds a lock file, such as "process 81 on host since ..."; ``None`` if nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        return _named(descriptor) if try_lock(descriptor) is False else None
    finally:
        os.close(descriptor)


def _sign(descriptor: int) -> None:
    """Write who holds the lock; where the disk is full, it is held without a name."""
    about = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())}
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, (json.dumps(about) + "\n").encode(), 0)
    except OSError:
        return


def _named(descriptor: int) -> str:
    try:
        about = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {int(about['pid'])} on {about['host']!s:.100} since {about['since']!s:.40}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
