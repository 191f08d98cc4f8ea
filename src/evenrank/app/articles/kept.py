"""What is computed once for each version of a collection, and kept in a file for other workers and the next start."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Generic, TypeVar, cast

import orjson

from evenrank.core.settings import check_value
from evenrank.errors import InputError, reason_of
from evenrank.io.atomic import atomic_file
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import own_version

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CANNOT_WRITE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
"""Errors of a folder that can only be read."""
N_VERSIONS = 2
"""Versions of a collection whose files stay, so that going back to the one before costs nothing."""
LONGEST_WAIT_S = 300.0
"""How long a worker waits for another one that computes the same; one that was stopped would hold it up for ever."""
LOG = logging.getLogger("evenrank.app")
Record = TypeVar("Record")


class Once(Generic[Record]):
    """What is made when somebody first asks for it; others who ask meanwhile wait. A failure is not remembered."""

    def __init__(self, make: Callable[[], Record]) -> None:
        self._make = make
        self._made: list[Record] = []
        self._lock = threading.Lock()

    def __call__(self) -> Record:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def is_busy(self, patience_s: float) -> bool:
        """Whether somebody else is making it, and is not done within this time."""
        if not self._lock.acquire(timeout=patience_s):
            return True
        self._lock.release()
        return False


def kept_path(collection: Collection, folder: Path | None, name: str, made_of: object) -> Path:
    """The file of this version of a collection: in its own folder unless another is named."""
    place = hashlib.sha256(os.fsencode(collection.path.resolve())).hexdigest()[:8]
    manifest = collection.manifest
    version = f"{made_of} {manifest.data_folder} {manifest.counts} {manifest.sources}"
    return (folder or collection.path) / f"desk-{name}-{place}-{hashlib.sha256(version.encode()).hexdigest()[:12]}"


def remove_earlier(path: Path) -> None:
    """Remove the files of all but the last versions of a collection."""
    with suppress(OSError):
        found = path.parent.glob(f"{path.name.rpartition('-')[0]}-*{path.suffix}")
        for old in sorted(found, key=lambda one: one.stat().st_mtime_ns)[:-N_VERSIONS]:
            old.unlink()


def kept_record(
    collection: Collection,
    folder: Path | None,
    name: str,
    made_of: object,
    kind: type[Record],
    make: Callable[[], Record],
) -> Record:
    """A record (a dataclass) of this version of a collection: from its file, or made and written.

    `made_of` says what it depends on besides the collection and the version of Evenrank. One worker makes it and the
    others wait. A folder that can only be read is no fault; every worker then makes its own.
    """
    index = collection.manifest.index_folder
    path = kept_path(collection, folder, name, (own_version(), index, made_of)).with_suffix(".json")
    known = _read(path, kind)
    if known is not None:
        return known
    with _alone(path.with_suffix(".lock")):
        known = _read(path, kind)
        if known is not None:
            return known
        made = make()
        try:
            with atomic_file(path) as file:
                file.write(orjson.dumps(asdict(made), option=orjson.OPT_SERIALIZE_NUMPY))  # type: ignore[call-overload]
        except InputError as error:
            if not cannot_write(error):
                raise
            LOG.warning("%s cannot be written, so it is computed again at the next start", path)
        remove_earlier(path)
    return made


def cannot_write(error: InputError) -> bool:
    """Whether a file was not written because its folder can only be read."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in CANNOT_WRITE


def _read(path: Path, kind: type[Record]) -> Record | None:
    """The record of a file; None where there is none, or a damaged one."""
    try:
        return cast(Record, check_value(orjson.loads(path.read_bytes()), kind))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else error
        LOG.warning("%s: not used, and computed again: %s", path, reason)
        return None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """A block that one process at a time runs, as far as the system allows that."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        yield
        return
    try:
        deadline = time.monotonic() + LONGEST_WAIT_S
        while not _has_lock(handle) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def _has_lock(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
