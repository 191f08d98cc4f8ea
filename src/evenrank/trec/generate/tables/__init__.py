"""The word lists and counts that generated collections are made of, read once from the files beside this one."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def toml(name: str) -> dict[str, Any]:
    """Contents of `<name>.toml`."""
    return tomllib.loads(_text(f"{name}.toml"))


@cache
def table_rows(name: str) -> tuple[dict[str, str], ...]:
    """Records of `<name>.csv`."""
    return tuple(csv.DictReader(_text(f"{name}.csv").splitlines()))


def _text(file_name: str) -> str:
    return files(__name__).joinpath(file_name).read_text("utf-8")
