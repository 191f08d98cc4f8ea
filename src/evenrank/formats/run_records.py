"""The record beside a run file: where it is, and what others need to know of it."""

from __future__ import annotations

import os
from pathlib import Path

import orjson


def record_path(run_path: str | os.PathLike[str]) -> Path:
    """Where the record of a run is: beside it, with `.json` after its name."""
    return Path(f"{os.fspath(run_path)}.json")


def read_protocol(run_path: str | os.PathLike[str]) -> str | None:
    """The protocol that a run was made for, by the record beside it; None without a record that says so."""
    try:
        name = orjson.loads(record_path(run_path).read_bytes())["protocol"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None
