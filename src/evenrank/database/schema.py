"""A kind of store: the tables of each version in SQL, as SQLite files have them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Schema:
    """A kind of store: its tables, and how stores of earlier versions become stores of this one."""

    name: str
    """The kind in words, with its article: "a judgments file"."""
    version: int
    script: str
    """SQL that creates the tables of this version."""
    table: str
    """A table that every store of this kind has."""
    fix: str
    """What to do about a store of another kind."""
    upgrades: Mapping[int, str] = field(default_factory=dict)
    """SQL that leads to each version from the one before it."""
    first_rows: Callable[[Any], object] = lambda connection: None
    """What a new store holds."""
    namespace: str = ""
    """Schema of PostgreSQL that has the tables, for kinds that may be there too."""


def statements_of(script: str) -> Iterator[str]:
    """The statements of a script, one by one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
