"""Progress for long work: a bar with the remaining time on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")


_silenced = False
Observer = Callable[[str, float, float], object]
"""Receives what is being worked on, how much of it is done, and how much there is (0: nobody knows)."""
_observer: Observer | None = None


def silence() -> None:
    """Draw no bars any more in this process."""
    global _silenced
    _silenced = True


class Progress(Protocol):
    """What long work reports to: advance by n units."""

    def update(self, n: float = 1) -> object: ...

    def close(self) -> object: ...


def progress_bar(total: float | None, label: str, unit: str = "it", *, scale: bool = False) -> Progress:
    """A bar on standard error; silent when that is not a terminal."""
    from tqdm import tqdm

    bar: Progress = tqdm(
        total=total, desc=label, unit=unit, unit_scale=scale, disable=_silenced or not sys.stderr.isatty(), leave=False
    )
    return bar if _observer is None else _Observed(bar, _observer, label, total or 0.0)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """A block in which an observer receives all progress, too."""
    global _observer
    before, _observer = _observer, observer
    try:
        yield
    finally:
        _observer = before


@dataclass
class _Observed:
    """A bar that reports what it shows to an observer."""

    bar: Progress
    observer: Observer
    label: str
    total: float
    done: float = 0.0

    def update(self, n: float = 1) -> None:
        self.bar.update(n)
        self.done += n
        self.observer(self.label, self.done, self.total)

    def close(self) -> None:
        self.bar.close()


def track(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """`items`, one by one, with a bar that knows the remaining time."""
    bar = progress_bar(total, label, unit)
    try:
        for item in items:
            yield item
            bar.update()
    finally:
        bar.close()
