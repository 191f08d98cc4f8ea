"""Locks between processes: one writer at a time, and no reader loses the files that it has open.

They are advisory locks of the operating system, so a killed process holds none. Where a system has no such locks
(Windows, some network drives) nothing is locked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evenrank.errors import EvenrankError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK_NAME = ".evenrank.lock"
"""Lock file of a folder that is written."""


@contextmanager
def only_writer(lock: Path, target: Path) -> Iterator[None]:
    """A block in which no other process writes `target`; EvenrankError at once when another one does.

    `lock` is a file that is made here and removed at the end; its folder must be there.
    """
    handle = _take(lock, target)
    try:
        yield
    finally:
        if handle is not None:
            lock.unlink(missing_ok=True)
            os.close(handle)


class Lease:
    """Keeps a folder from being removed (see `no_leases`) for as long as this object lives."""

    def __init__(self, folder: Path) -> None:
        """FileNotFoundError when the folder is gone, or about to be."""
        self._handle: int | None = os.open(folder, os.O_RDONLY)
        if fcntl is not None and not _try_lock(self._handle, fcntl.LOCK_SH):
            self.close()
            raise FileNotFoundError(f"{folder}: another process is removing it")

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()


@contextmanager
def no_leases(folder: Path) -> Iterator[bool]:
    """A block in which nobody can lease `folder`; gives False when somebody does."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield fcntl is None or _try_lock(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


@contextmanager
def locked_alone(folder: Path) -> Iterator[None]:
    """A short block, such as replacing a file, that other processes wait for before they begin theirs."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _take(lock: Path, target: Path) -> int | None:
    """The open lock file, locked; tried again when its last holder removed it meanwhile."""
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if fcntl is None:
            return handle
        if not _try_lock(handle, fcntl.LOCK_EX):
            os.close(handle)
            fix = "wait until it ends; nothing was changed"
            raise EvenrankError(f"{target}: another evenrank process is writing it ({fix})")
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                return handle
        os.close(handle)


def _try_lock(handle: int, kind: int) -> bool:
    """Whether the lock was free; a file system without locks counts as free."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
