"""Python's search for unreachable cycles, made rare while millions of records pass through memory."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 50_000
"""Objects made, less those freed, between two searches; Python's own default of 700 is reached with every few records.

A batch of records is freed as a whole, so that the number is seldom reached, unless a cycle was left behind: memory
stays bounded, which it would not with the collector switched off.
"""
_lock = threading.Lock()
_n_inside = 0
_usual = _rare = gc.get_threshold()


def collect_rarely() -> None:
    """Make collections rare for the rest of a process that does nothing but work on batches."""
    young, *older = gc.get_threshold()
    if 0 < young < YOUNG_OBJECTS:  # zero switches the collector off
        gc.set_threshold(YOUNG_OBJECTS, *older)


@contextmanager
def rare_collections() -> Iterator[None]:
    """A block that reads many records: the collector, which would find next to nothing, runs rarely.

    Blocks may be nested, and run in several threads; the collector is as it was when the last one ends, unless the
    program has set it otherwise meanwhile.
    """
    global _n_inside, _usual, _rare
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            _usual = gc.get_threshold()
            collect_rarely()
            _rare = gc.get_threshold()
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside and gc.get_threshold() == _rare:
                gc.set_threshold(*_usual)
