"""A function mapped over batches by several processes, in order, with few batches in memory."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from pathlib import Path
from typing import TypeVar

from evenrank.errors import EvenrankError
from evenrank.garbage import collect_rarely

T = TypeVar("T")
R = TypeVar("R")

LOOK_AHEAD = 2
"""Batches under way for each worker: one at work, one waiting."""


def map_batches(function: Callable[[T], R], batches: Iterable[T], n_workers: int | None = None) -> Iterator[R]:
    """`function(batch)` of each batch, in the order of `batches`; with one worker, in this process.

    At most two batches per worker are read ahead. `function` must be importable (defined at the top of a
    module) when there is more than one worker. However the loop ends, no process is left behind. Called from a script
    that cannot be imported without running it, everything happens in this process.
    """
    n_workers = n_cores() if n_workers is None else n_workers
    if n_workers <= 1 or _is_plain_script():
        return map(function, batches)
    return _map_in_processes(function, batches, n_workers)


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_plain_script() -> bool:
    """Whether the main module is a script without `if __name__ == "__main__":`.

    A worker imports the main module of its parent, so that it would run such a script again, and start workers itself.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:  # interactive, or `python -m`
        return False
    try:
        return b"__name__" not in Path(path).read_bytes()
    except OSError:
        return False


def _map_in_processes(function: Callable[[T], R], batches: Iterable[T], n_workers: int) -> Iterator[R]:
    pool = _start_pool(n_workers)
    waiting: deque[Future[R]] = deque()
    try:
        for batch in batches:
            waiting.append(pool.submit(function, batch))
            if len(waiting) >= LOOK_AHEAD * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        fix = "memory full: use fewer workers; your own script: put its work under `if __name__ == '__main__':`"
        raise EvenrankError(f"a worker process died ({fix})") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_pool(n_workers: int) -> ProcessPoolExecutor:
    """Workers started from a clean process: a fork of this one would copy the locks of its threads."""
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    return ProcessPoolExecutor(n_workers, get_context(method), initializer=_start_worker)


def _start_worker() -> None:
    """Ctrl-C is the parent's business; a worker whose parent was killed ends itself."""
    collect_rarely()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
