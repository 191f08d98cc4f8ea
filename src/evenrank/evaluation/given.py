"""What a function of Python is given: runs and names of groups in their several forms."""

from __future__ import annotations

import os
from collections.abc import Iterable

from evenrank.errors import EvenrankError, WrongTypeError
from evenrank.records import Run
from evenrank.types import FilePath


def given_runs(runs: Run | FilePath | Iterable[Run | FilePath]) -> list[Run | FilePath]:
    """The runs as a list, whether one or several are given."""
    is_one = isinstance(runs, (Run, str, os.PathLike)) or not isinstance(runs, Iterable)
    listed: list[Run | FilePath] = [runs] if is_one else list(runs)  # type: ignore[list-item, arg-type]
    for run in listed:
        if not isinstance(run, (Run, str, os.PathLike)):
            raise WrongTypeError(run, "run", "a Run, the path of its file, or a list of these")
    return listed


def joined_groups(groups: str | Iterable[str]) -> str:
    """Names of dimensions, joined by commas."""
    listed = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable) else list(groups)
    if not listed or not all(isinstance(name, str) for name in listed):
        raise EvenrankError(f"groups is {groups!r} (give the name of a dimension, or a list of names)")
    return ",".join(listed)
