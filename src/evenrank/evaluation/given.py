"""What was given to a function of Python: a collection, runs and names of groups in their several forms."""

from __future__ import annotations

import os
from collections.abc import Iterable

from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.records import Run

FilePath = str | os.PathLike[str]


def given_collection(collection: Collection | FilePath) -> Collection:
    """The collection itself, or the one in a folder."""
    if isinstance(collection, Collection):
        return collection
    if not isinstance(collection, (str, os.PathLike)):
        raise EvenrankError(f"{_kind(collection)} is no collection (give a Collection, or the path of its folder)")
    return Collection.open(collection)


def given_runs(runs: Run | FilePath | Iterable[Run | FilePath]) -> list[Run | FilePath]:
    """The runs as a list, whether one or several are given."""
    is_one = isinstance(runs, (Run, str, os.PathLike)) or not isinstance(runs, Iterable)
    listed: list[Run | FilePath] = [runs] if is_one else list(runs)  # type: ignore[list-item, arg-type]
    for run in listed:
        if not isinstance(run, (Run, str, os.PathLike)):
            raise EvenrankError(f"{_kind(run)} is no run (give a Run, the path of its file, or a list of these)")
    return listed


def joined_groups(groups: str | Iterable[str]) -> str:
    """Names of dimensions, joined by commas."""
    listed = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable) else list(groups)
    if not listed or not all(isinstance(name, str) for name in listed):
        raise EvenrankError(f"groups is {groups!r} (give the name of a dimension, or a list of names)")
    return ",".join(listed)


def _kind(value: object) -> str:
    """A value as errors show it: None, or what type it has."""
    return "None" if value is None else f"a value of type {type(value).__name__}"
