"""Years of an article: all within the time that it is about."""

from __future__ import annotations

import numpy as np

FIRST, LAST = 1780, 2020
"""Years that articles may be about."""
LATEST_START = 1985
"""No article is about a later birth or foundation."""
SPAN = 45
"""Years that one article covers."""


class Years:
    """A source of years between the `start` of an article's time and `SPAN` years later."""

    def __init__(self, start: int, rng: np.random.Generator) -> None:
        self.start = start
        self.rng = rng
        self.waiting: list[int] = []
        self.last = start

    def year(self) -> str:
        """Any year of the article's time."""
        if not self.waiting:
            self.waiting = self.rng.integers(self.start, min(self.start + SPAN, LAST), 16).tolist()
        self.last = self.waiting.pop()
        return str(self.last)

    def later(self) -> str:
        """A year after the last one that was named."""
        self.last = min(self.last + 1 + self.last * 7 % 11, LAST + 1)
        return str(self.last)

    def decade(self) -> str:
        """A decade of the article's time."""
        return f"{int(self.year()) // 10}0s"


def draw_start(rng: np.random.Generator) -> int:
    """The first year of an article's time; recent times are more frequent."""
    return LATEST_START - int((LATEST_START - FIRST) * rng.random() ** 1.7)
