"""What a measure is: a function over one topic, with its name, direction, range and source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenrank.protocol import Protocol
from evenrank.records import Task

if TYPE_CHECKING:
    from evenrank.metrics.view import TopicView


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure that computes itself: `measure(view)` is its value on one topic."""

    name: str
    """Name in tables and JSON."""
    tasks: tuple[Task, ...]
    """Tasks whose runs it can score."""
    label: str
    """What it measures, in a few words."""
    formula: str
    higher_is_better: bool
    low: float
    """Smallest possible value."""
    high: float
    """Largest possible value."""
    if_empty: float | Callable[[TopicView], float]
    """Value of a ranking without pages; a function where the topic or the protocol decides."""
    citation: str
    compute: Callable[[TopicView], float]
    """Value on one topic; NaN where it is undefined."""
    official_in: tuple[Task, ...] = ()
    """Tasks of the track whose published tables have it; in the others it is a companion, which shows relevance."""
    on_request: bool = False
    """Whether it is computed only when it is asked for by name."""
    heading_has_depth: bool = False
    """Whether a companion's heading names the depth that is scored, as in `P@20`."""
    depth: int | None = None
    """Ranks that are considered; None for all that the protocol scores."""

    def __call__(self, view: TopicView) -> float:
        """The value on one topic, computed once for each view."""
        seen = view if self.depth is None else view.cut(self.depth)
        if self.name not in seen.values:
            seen.values[self.name] = float(self.compute(seen))
        return seen.values[self.name]

    @property
    def key(self) -> str:
        """Name with its depth, as in `nDCG@10`; the key of its values."""
        return self.name if self.depth is None else f"{self.name}@{self.depth}"

    def at(self, depth: int) -> Measure:
        """The same measure on the first `depth` ranks."""
        return replace(self, depth=depth)

    def heading(self, task: Task, protocol: Protocol) -> str:
        """Heading of a column."""
        if self.depth is None and self.heading_has_depth and self.is_companion(task):
            return f"{self.name}@{protocol.depth(task)}"
        return self.key

    def is_companion(self, task: Task) -> bool:
        """Whether it is printed beside the track's measures of a task and is not one of them."""
        return task not in self.official_in

    def facts(self) -> dict[str, Any]:
        """What is known of it, for lists and documentation; None for an infinite bound or a value that varies."""
        return {
            "name": self.name,
            "tasks": list(self.tasks),
            "label": self.label,
            "formula": self.formula,
            "higher_is_better": self.higher_is_better,
            "low": self.low if math.isfinite(self.low) else None,
            "high": self.high if math.isfinite(self.high) else None,
            "if_empty": None if callable(self.if_empty) else self.if_empty,
            "citation": self.citation,
            "official_in": list(self.official_in),
            "on_request": self.on_request,
        }

    def empty_value(self, view: TopicView) -> float:
        """Value of a ranking without pages on the topic of `view`."""
        return self.if_empty(view) if callable(self.if_empty) else self.if_empty
