"""Types of options that refuse what click's own let through."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A number in a range; neither `nan`, which no comparison finds outside of it, nor `inf`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class NamedPath(click.Path):
    """A path with a name: the empty one would stand for the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty (write . for the current folder).", param, ctx)
        return super().convert(value, param, ctx)


class StoreLocation(NamedPath):
    """A file, or the address of a PostgreSQL database, which stays text."""

    def __init__(self, *, exists: bool = False, dir_okay: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from evenrank.database import is_database_address

        return value if is_database_address(value) else super().convert(value, param, ctx)


class Seed(click.types.IntParamType):
    """A whole number that every file can keep: JSON and SQLite have none of more than 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if not -(2**63) <= number < 2**63:
            self.fail(f"{value!r} is too large for a seed.", param, ctx)
        return number


SEED = Seed()
STORE = StoreLocation(exists=True)
NEW_STORE = StoreLocation()
