"""Types of options that refuse what click's own let through."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from evenrank.errors import UnknownNameError
from evenrank.plugins import Registry


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


class InputFile(NamedPath):
    """A file to read; `-` is standard input, kept in a file until the command ends, because it may be read twice."""

    def __init__(self, *, exists: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=False, allow_dash=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value) != "-" or ctx is None:
            return super().convert(value, param, ctx)
        if ctx.meta.get(__name__):
            self.fail("standard input (-) is named twice, and can be read once.", param, ctx)
        ctx.meta[__name__] = True
        folder = ctx.with_resource(TemporaryDirectory(prefix="evenrank-"))
        path = Path(folder) / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path


class StoreLocation(NamedPath):
    """A file, or the address of a PostgreSQL database, which stays text."""

    def __init__(self, *, exists: bool = False, dir_okay: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=dir_okay, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from evenrank.database.database import is_database_address

        return value if is_database_address(value) else super().convert(value, param, ctx)


class Seed(click.types.IntParamType):
    """A whole number that every file can keep: JSON and SQLite have none of more than 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = int(super().convert(value, param, ctx))
        if not -(2**63) <= number < 2**63:
            self.fail(f"{value!r} is too large for a seed.", param, ctx)
        return number


class NameIn(click.types.StringParamType):
    """The name of something in a registry; plug-ins are looked for only when no built-in one has the name."""

    def __init__(self, kind: str, registry: Registry[Any]) -> None:
        self.kind, self.registry = kind, registry

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join(self.registry.builtin)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.registry:
            raise UnknownNameError(self.kind, value, self.registry)
        return str(value)


SEED = Seed()
STORE = StoreLocation(exists=True)
NEW_STORE = StoreLocation()
