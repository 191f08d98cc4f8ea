"""Pool tiers as data: which part of which runs is judged first, second, third."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Run, Task
from evenrank.errors import EvenrankError

SPEC = re.compile(r"(?P<task>[12]):(?P<depth>[1-9]\d*)(?:x(?P<n_rankings>[1-9]\d*))?")


@dataclass(frozen=True, slots=True)
class Tier:
    """The head of every ranking of one task."""

    task: Task
    """Runs of this task contribute."""
    depth: int
    """Pages taken from the head of a ranking."""
    n_rankings: int | None = None
    """Rankings of a topic that are looked at, lowest repeat number first; None: all of them."""

    def __str__(self) -> str:
        return f"{self.task}:{self.depth}" + (f"x{self.n_rankings}" if self.n_rankings else "")

    def rankings(self, run: Run) -> Iterator[tuple[int, NDArray[np.int32]]]:
        """(topic id, first `depth` pages) of each ranking of `run` inside this tier; none for another task."""
        if run.task != self.task:
            return
        n_seen: dict[int, int] = {}
        for index in np.argsort(run.repeats, kind="stable"):
            topic = int(run.topic_ids[index])
            n_seen[topic] = n_seen.get(topic, 0) + 1
            if self.n_rankings is None or n_seen[topic] <= self.n_rankings:
                yield topic, run.ranking(int(index))[: self.depth]


TRACK_TIERS = (Tier(task=1, depth=20), Tier(task=2, depth=5, n_rankings=25))
"""The tiers of the 2021 track (the paper's section on annotations)."""


def parse_tier(spec: str) -> Tier:
    """The tier written as TASK:DEPTH or TASK:DEPTHxRANKINGS, such as 1:20 or 2:5x25."""
    match = SPEC.fullmatch(spec.strip())
    if match is None:
        raise EvenrankError(f"not a tier: {spec!r} (write TASK:DEPTH or TASK:DEPTHxRANKINGS, such as 1:20 or 2:5x25)")
    n_rankings = match["n_rankings"]
    return Tier(cast(Task, int(match["task"])), int(match["depth"]), int(n_rankings) if n_rankings else None)
