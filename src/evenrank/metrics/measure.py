"""What a measure knows about itself: name, direction, range, value of an empty list, citation."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.records import Task


@dataclass(frozen=True, slots=True)
class Measure:
    """The facts of one measure; the number itself comes from the pure function beside it."""

    name: str
    """Name in tables and JSON."""
    task: Task
    label: str
    """What it measures, in a few words."""
    higher_is_better: bool
    low: float
    """Smallest possible value."""
    high: float
    """Largest possible value."""
    if_empty: str
    """Value of a ranking without pages."""
    formula: str
    citation: str
    is_companion: bool = False
    """Whether it is printed beside the track's measures, to show relevance, and is not one of them."""
