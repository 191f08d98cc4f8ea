"""Append-only files of fixed-size records, which threads and processes may share.

A record that a kill tore is passed over, and cut off before the next one is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

N_BUFFERED = 64
"""Records that are written at a time, and may be lost when the work is interrupted."""


def read_file_records(path: Path, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """The whole records of a file, by memory map; the file is made when there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    n = path.stat().st_size // dtype.itemsize
    return np.memmap(path, dtype, "r", shape=(n,)) if n else np.empty(0, dtype)


def append_records(path: Path, dtype: np.dtype[Any], records: Iterable[NDArray[np.void]]) -> None:
    """Add records one by one, as they are made."""
    with path.open("ab", buffering=dtype.itemsize * N_BUFFERED) as file, _alone(file):
        file.truncate(path.stat().st_size // dtype.itemsize * dtype.itemsize)
        for record in records:
            file.write(record.tobytes())


@contextmanager
def _alone(file: IO[bytes]) -> Iterator[None]:
    """Keep other threads and processes from writing to a file, where the system can (not on Windows)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        file.flush()
        fcntl.flock(file, fcntl.LOCK_UN)
