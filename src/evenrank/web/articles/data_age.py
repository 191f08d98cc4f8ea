"""How old the data are: what the operator says, else the newest file that the collection was made from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from evenrank.collection.collection import Collection
from evenrank.collection.manifest import FILE_NAME


@dataclass(frozen=True)
class DataAge:
    """The age of the data in words."""

    text: str
    """E.g. `October 2021`, or `files of 15 November 2021` when nobody said how old they are."""
    is_synthetic: bool
    """Whether the collection is a generated one."""


def data_age(collection: Collection, said: str = "") -> DataAge:
    """The age of a collection's data. Articles and metadata are a snapshot: nothing newer is known."""
    return DataAge(said or _age_of_files(collection), "generated" in collection.manifest.settings)


def _age_of_files(collection: Collection) -> str:
    paths = [collection.path / source.path for source in collection.manifest.sources.values()]
    times = [path.stat().st_mtime for path in paths if path.is_file()]
    newest = max(times, default=(collection.path / FILE_NAME).stat().st_mtime)
    day = datetime.fromtimestamp(newest, UTC).strftime("%d %B %Y").lstrip("0")
    return f"files of {day}" if times else f"imported on {day}"
