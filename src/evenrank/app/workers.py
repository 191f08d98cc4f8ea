"""Several processes that answer on one socket: started, watched, replaced when one ends, stopped together."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType

from evenrank.errors import EvenrankError

LOG = logging.getLogger("evenrank.app")
STOPPING = (signal.SIGINT, signal.SIGTERM)
QUICK_SECONDS = 5.0
"""A worker that ends within this time of its start cannot work."""
MAX_QUICK_ENDS = 3
CANNOT_START = 2
"""Exit code of a worker that another try would not help."""
STOP_SECONDS = 20.0
"""How long workers may finish what they are doing."""


def run_workers(n_workers: int, work: Callable[[], None]) -> None:
    """Run `work` in `n_workers` processes until SIGINT or SIGTERM; raises when workers end as soon as they start."""
    started: dict[int, float] = {}
    stopping: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        stopping.append(number)

    before = {number: signal.signal(number, stop) for number in STOPPING}
    n_quick_ends = 0
    try:
        while not stopping:
            while len(started) < n_workers:
                pid = _fork(work)
                started[pid] = time.monotonic()
            ended = _ended(started)
            for pid, (status, lived) in ended.items():
                if os.waitstatus_to_exitcode(status) == CANNOT_START:
                    raise EvenrankError("a worker could not start, for the reason in the log")
                LOG.warning("worker %d ended (%s); another takes its place", pid, _reason(status))
                n_quick_ends = n_quick_ends + 1 if lived < QUICK_SECONDS else 0
                if n_quick_ends >= MAX_QUICK_ENDS:
                    raise EvenrankError("workers end as soon as they start; the log says why")
            if not ended:
                time.sleep(0.05)
    finally:
        _stop(started)
        for number, handler in before.items():
            signal.signal(number, handler)


def _fork(work: Callable[[], None]) -> int:
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # none is lost before the worker knows what to do with it
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        return pid
    code = 1
    try:
        for number in STOPPING:
            signal.signal(number, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        work()
        code = 0
    except KeyboardInterrupt:
        code = 0
    except EvenrankError as error:
        LOG.error("%s", error)
        code = CANNOT_START
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(parent: int) -> None:
    """End this worker when its parent was killed, so that none stays behind on the port."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _ended(started: dict[int, float]) -> dict[int, tuple[int, float]]:
    """Workers that have ended, with their status and how long they lived; they are no longer among those started."""
    ended = {}
    for pid in list(started):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            ended[pid] = (status, time.monotonic() - started.pop(pid))
    return ended


def _stop(started: dict[int, float]) -> None:
    """Ask all workers to end, and end those that do not."""
    for pid in started:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while started:
        _ended(started)
        if started and time.monotonic() > deadline:
            for pid in started:
                os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.02)


def _reason(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
