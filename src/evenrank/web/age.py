"""How old the data are: the newest file that the collection was made from, or the day it was imported."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from evenrank.collection.collection import Collection
from evenrank.collection.manifest import FILE_NAME


@dataclass(frozen=True)
class DataAge:
    """A day, and what it is the day of."""

    day: str
    what: str
    is_invented: bool
    """Whether the collection is a generated one."""


def data_age(collection: Collection) -> DataAge:
    """The age of a collection's data. Articles and metadata are a snapshot: nothing newer is known."""
    is_invented = "generated" in collection.manifest.settings
    paths = [collection.path / source.path for source in collection.manifest.sources.values()]
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    what = "the newest file it was made from" if times else "the day it was imported"
    newest = max(times, default=(collection.path / FILE_NAME).stat().st_mtime)
    return DataAge(datetime.fromtimestamp(newest, UTC).strftime("%d %B %Y").lstrip("0"), what, is_invented)
