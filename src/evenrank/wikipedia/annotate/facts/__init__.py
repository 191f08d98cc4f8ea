"""Tables of facts: countries, borders, genders, occupations, quality models. Sources in `README.md` beside them."""

from __future__ import annotations

import csv
import tomllib
from importlib.resources import files
from typing import Any


def read_csv(name: str) -> list[dict[str, str]]:
    """The rows of a table by column name."""
    text = files(__name__).joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def read_facts(name: str) -> dict[str, Any]:
    """A table of settings."""
    return tomllib.loads(files(__name__).joinpath(name).read_text("utf-8"))


def item_number(wikidata_id: str) -> int:
    """123 of Q123."""
    return int(wikidata_id.removeprefix("Q"))
