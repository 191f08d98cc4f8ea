"""Values that are computed again only when the judgments have changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evenrank.assessment.store import Store

T = TypeVar("T")


@dataclass(frozen=True)
class Remembered:
    """The last value of each kind, with the state of the judgments that it was made from."""

    _values: dict[str, tuple[tuple[int, ...], Any]] = field(default_factory=dict, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def get(self, kind: str, store: Store, make: Callable[[], T]) -> T:
        """The value of a kind; one thread makes it, others wait and take what it made."""
        with self._lock:
            state = state_of(store)
            known = self._values.get(kind)
            if known is None or known[0] != state:
                known = self._values[kind] = (state, make())
            value: T = known[1]
            return value


def state_of(store: Store) -> tuple[int, ...]:
    """Numbers that change with every vote, pooled page and assignment."""
    counts = "SELECT (SELECT count(*) FROM vote), (SELECT count(*) FROM item), (SELECT count(*) FROM assignment)"
    return tuple(number or 0 for number in store.connection.execute(counts).fetchone())
