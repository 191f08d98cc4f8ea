"""What is wrong with tables, gathered with its places so that it can be reported at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, Fault, InputError, WrongTypeError
from evenrank.items.tables import ItemTable

NOTHING = object()
"""Stands for no value: None and empty text are values that a cell may have."""
SHOWN_PER_KIND = 10
"""Rows shown of each kind of fault; the others are counted."""
MAX_SHOWN = 200
"""Faults shown in all."""
MAX_PLACE = 200
"""Characters of a place: ids may be of any length."""
MAX_KINDS = 200
"""Kinds of faults of which some are kept; a text of a file may make a kind of its own."""


@dataclass
class _Places:
    """Where one kind of fault was found: the first places in full, and how many there are."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    n_found: int = 0


@dataclass
class Faults:
    """What is wrong with some tables, gathered so that it can be reported at once."""

    rows: dict[tuple[str, str, str], _Places] = field(default_factory=dict)
    """(table, kind of fault, how to fix it) → where it was found."""
    n_more: int = 0
    """Faults of which only the number is kept."""
    checked: set[str] = field(default_factory=set)
    """Names of the tables whose malformed lines were added."""

    def add(self, table: str, kind: str, place: str, value: object = NOTHING, fix: str = "") -> None:
        """One fault: `place` is a row or a query, `value` what was found there."""
        if len(self.rows) >= MAX_KINDS and (table, kind, fix) not in self.rows:
            self.n_more += 1
            return
        places = self.rows.setdefault((table, kind, fix), _Places())
        places.n_found += 1
        if len(places.shown) < SHOWN_PER_KIND:
            place = place if len(place) <= MAX_PLACE else f"{place[:MAX_PLACE]}…"
            places.shown.append((place, "" if value is NOTHING else repr(value)[:60]))

    def add_rows(
        self, table: ItemTable, kind: str, rows: Sequence[int] | NDArray[Any], values: Any, fix: str = ""
    ) -> None:
        """The same fault in many rows of a table; `values` is the column in which it was found."""
        for row in rows[:SHOWN_PER_KIND]:
            value = values[int(row)]
            value = value.item() if isinstance(value, np.generic) else value
            self.add(table.name, kind, table.place(int(row)), value, fix)
        if len(rows) > SHOWN_PER_KIND:
            self.n_more += len(rows) - SHOWN_PER_KIND

    def add_malformed(self, table: ItemTable) -> None:
        """The lines of a file that have another number of cells than its columns, once."""
        if table.name in self.checked:
            return
        self.checked.add(table.name)
        for line, n_cells in table.malformed:
            cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
            self.add(table.name, f"{cells}, where {len(table.columns)} were expected", f"{table.row_word} {line}")
        self.n_more += table.n_malformed - len(table.malformed)

    def raise_if_any(self) -> None:
        """All faults as one InputError, ten of each kind with their places, and no more than `MAX_SHOWN` in all."""
        if not self.rows:
            return
        listed = [
            Fault(f"{table}, {place}", 0, f"{kind} {value}".strip(), fix)
            for (table, kind, fix), places in self.rows.items()
            for place, value in sorted(places.shown, key=_line_number)
        ]
        n_found = self.n_more + sum(places.n_found for places in self.rows.values())
        raise InputError(listed[:MAX_SHOWN], n_found - min(len(listed), MAX_SHOWN))


def _line_number(shown: tuple[str, str]) -> int:
    """The number that a place ends with: rows that were sorted are reported in the order of the file."""
    number = re.search(r"(?:row|line) (\d+)$", shown[0])
    return int(number[1]) if number else 0


def check_count(name: str, value: object, most: int | None = None) -> None:
    """EvenrankError for a number of things that is no whole number from 1 on; None is left alone."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise WrongTypeError(value, name, "a whole number")
    if value < 1 or (most is not None and value > most):
        raise EvenrankError(f"{name} is {value} ({f'from 1 to {most:,}' if most else 'at least 1'})")
