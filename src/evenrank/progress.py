"""Progress for long work: a bar with the remaining time on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


_silenced = False


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
    return bar


def track(items: Iterable[T], label: str, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """`items`, one by one, with a bar that knows the remaining time."""
    bar = progress_bar(total, label, unit)
    try:
        for item in items:
            yield item
            bar.update()
    finally:
        bar.close()
