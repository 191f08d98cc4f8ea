"""Age of a topic: the years that its item states → before 1900, 20th century, 21st century (2022 track)."""

from __future__ import annotations

from collections.abc import Iterable

PROPERTIES = {
    "P569": "date of birth",
    "P570": "date of death",
    "P571": "inception",
    "P575": "time of discovery or invention",
    "P576": "dissolved, abolished or demolished",
    "P577": "publication date",
    "P580": "start time",
    "P582": "end time",
    "P585": "point in time",
    "P1191": "date of first performance",
    "P1619": "date of official opening",
}
"""Properties that say when a topic was."""

BEFORE, TWENTIETH, LATER = "Pre-1900s", "20th century", "21st century"


def age_categories(years: Iterable[int]) -> list[str]:
    """Categories of some years, earliest first, without repetition."""
    found = {BEFORE if year < 1900 else TWENTIETH if year < 2000 else LATER for year in years}
    return [name for name in (BEFORE, TWENTIETH, LATER) if name in found]
