"""A function mapped over batches by several processes, in order, with few batches in memory."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from pathlib import Path
from typing import TypeVar, cast

from evenrank.errors import EvenrankError
from evenrank.garbage import collect_rarely
from evenrank.plugins import PluginWarning

T = TypeVar("T")
R = TypeVar("R")

LOOK_AHEAD = 2
"""Batches under way for each worker: one at work, one waiting."""
SMALL_WORK_SECONDS = 1.0
"""Work that this process does before it starts workers, which takes about as long."""


def map_batches(function: Callable[[T], R], batches: Iterable[T], n_workers: int | None = None) -> Iterator[R]:
    """`function(batch)` of each batch, in the order of `batches`; in this process unless `n_workers` asks for more.

    Workers are started only for what remains after a second of work. At most two batches per worker are read ahead.
    `function` must be importable (defined at the top of a module) when there is more than one worker. However the loop
    ends, no process is left behind. Called from a script that cannot be imported without running it, everything happens
    in this process.
    """
    if n_workers is None or n_workers <= 1 or _is_unguarded_script():
        return map(function, batches)
    return _map_in_processes(function, batches, n_workers)


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_unguarded_script() -> bool:
    """Whether the main module is a script without `if __name__ == "__main__":`.

    A worker imports the main module of its parent, so that it would run such a script again, and start workers itself.
    """
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or getattr(main, "__spec__", None) is not None:  # interactive, or `python -m`
        return False
    try:
        statements = ast.parse(Path(path).read_bytes()).body
    except (OSError, SyntaxError, ValueError):  # not a script in Python, such as a zip archive
        return False
    return not any(isinstance(statement, ast.If) and _names_main(statement.test) for statement in statements)


def _names_main(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def _map_in_processes(function: Callable[[T], R], batches: Iterable[T], n_workers: int) -> Iterator[R]:
    remaining = iter(batches)
    end = time.monotonic() + SMALL_WORK_SECONDS
    for batch in remaining:
        yield function(batch)
        if time.monotonic() >= end:
            break
    first = next(remaining, _NOTHING)
    if first is not _NOTHING:
        yield from _map_in_pool(function, chain([cast(T, first)], remaining), n_workers)


_NOTHING = object()


def _map_in_pool(function: Callable[[T], R], batches: Iterable[T], n_workers: int) -> Iterator[R]:
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
    """Ctrl-C and broken plug-ins are the parent's business; a worker whose parent was killed ends itself."""
    collect_rarely()
    warnings.simplefilter("ignore", PluginWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
