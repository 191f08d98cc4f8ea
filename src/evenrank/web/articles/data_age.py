"""How old the data are: what the operator says, else the date of the sources; never the date of a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from evenrank.collection.collection import Collection

UNKNOWN = "age unknown"


@dataclass(frozen=True)
class DataAge:
    """The age of the data in words."""

    text: str
    """E.g. `1 October 2021`, or `age unknown` when neither the sources nor the operator say it."""
    is_synthetic: bool
    """Whether the collection is a generated one."""


def data_age(collection: Collection, said: str = "") -> DataAge:
    """The age of a collection's data. Articles and metadata are a snapshot: nothing newer is known."""
    manifest = collection.manifest
    return DataAge(said or date_in_words(manifest.data_date) or UNKNOWN, "generated" in manifest.settings)


def date_in_words(text: str | None) -> str:
    """`2021-10-01` as `1 October 2021`, `2021-10` as `October 2021`; empty for None."""
    if text is None:
        return ""
    has_day = len(text) > len("2021-10")
    day = date.fromisoformat(text if has_day else f"{text}-01")
    return f"{day.day} {day:%B %Y}" if has_day else f"{day:%B %Y}"
