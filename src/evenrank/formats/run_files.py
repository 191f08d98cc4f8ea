"""Several run files at once: `name=path` gives a run a name, and every fault of every file is reported together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from evenrank.errors import Fault, InputError
from evenrank.formats.runs import read_run, run_name
from evenrank.records import Run
from evenrank.text_ids import TextIds
from evenrank.types import FilePath


def split_name(path: FilePath) -> tuple[str, Path]:
    """Name and file of a run: `fair=runs/a.gz` is the file runs/a.gz with the name fair, unless such a file exists."""
    text = os.fspath(path)
    name, equals, rest = text.partition("=")
    if equals and name and rest and "/" not in name and not Path(text).exists():
        return name, Path(rest)
    return run_name(text), Path(text)


def read_runs(paths: Iterable[FilePath], ids: TextIds | None = None) -> list[Run]:
    """The runs in some files; InputError lists the faults of all files. With `ids` page ids are text."""
    named = [split_name(path) for path in paths]
    runs: list[Run] = []
    faults: list[Fault] = []
    n_more = 0
    for name, path in named:
        try:
            runs.append(replace(read_run(path, ids), name=name))
        except InputError as error:
            faults += error.faults
            n_more += error.n_more
    faults += _same_names(named)
    if faults:
        raise InputError(faults, n_more)
    return runs


def _same_names(named: Iterable[tuple[str, Path]]) -> list[Fault]:
    """A fault for each file whose run has the name of an earlier one."""
    first: dict[str, Path] = {}
    faults = []
    for name, path in named:
        if name in first:
            found = f"run name {name!r} is also that of {first[name]}"
            faults.append(Fault(str(path), 0, found, f"give one a name of its own: NAME={path}"))
        first.setdefault(name, path)
    return faults
