"""Tables of wanted shares, from a file or from a mapping: every fault with its line or its place."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from evenrank.core.groups import Dimension, GroupSpace
from evenrank.errors import Fault, InputError, input_error
from evenrank.io.small_files import read_small_text

SUM_ERROR = 0.005
"""How far shares of a table may be from a sum of 1, so that rounded numbers are welcome."""
MAX_CELLS = 100_000
"""Most groups that the dimensions of a table may have together."""
MAX_FAULTS = 20
"""Faults of a table that are listed; the others are counted."""
MAX_QUOTED = 100
"""Characters of a cell that a message repeats."""
OF_MAPPING = "target"
"""What faults call a table that is in no file."""

TableMapping = Mapping[str, float] | Mapping[str, Mapping[str, float]]
"""Group → share, or dimension → group → share."""
Shares = tuple[tuple[str, float], ...]
"""(group, share), groups named as in `GroupSpace.names`."""


class ShareRow(NamedTuple):
    """A line of a table."""

    line: int
    """From 1; 0 in a mapping."""
    group: str
    share: float


def read_shares(path: Path, known: Mapping[str, Dimension]) -> tuple[tuple[str, ...], Shares]:
    """Dimensions and shares of the table in a file; InputError with every fault."""
    rows, faults = _read_rows(path)
    space, unknown = _space_of(str(path), rows, known)
    return _table(str(path), rows, space, faults, unknown)


def shares_of_mapping(given: TableMapping, known: Mapping[str, Dimension]) -> tuple[tuple[str, ...], Shares]:
    """Dimensions and shares of a mapping; InputError with every fault.

    Group → share means what a table with these lines does. In dimension → group → share, the shares of each dimension
    sum to 1, and those of several dimensions are multiplied: a third of half is a sixth.
    """
    if any(isinstance(value, Mapping) for value in given.values()):
        return _product(given, known)
    rows, faults = _rows_of(OF_MAPPING, given.items())
    space, unknown = _space_of(OF_MAPPING, rows, known) if rows or not faults else (GroupSpace(()), [])
    return _table(OF_MAPPING, rows, space, faults, unknown)


def checked_shares(
    dimensions: Sequence[str], shares: Shares, known: Mapping[str, Dimension]
) -> tuple[tuple[str, ...], Shares]:
    """Dimensions and shares that were given as such; InputError with everything wrong with them."""
    if any(len(pair) != 2 for pair in shares):
        raise input_error(OF_MAPPING, 0, "shares that are not pairs", "give (group, share) for each group")
    rows, faults = _rows_of(OF_MAPPING, shares)
    space = GroupSpace.of(dimensions, known)
    return _table(OF_MAPPING, rows, space, faults, list(_unknown_groups(OF_MAPPING, rows, space)))


def _product(given: Mapping[str, object], known: Mapping[str, Dimension]) -> tuple[tuple[str, ...], Shares]:
    """Shares by dimension, multiplied."""
    faults: list[Fault] = []
    parts: list[Shares] = []
    for name, shares in given.items():
        place = f"{OF_MAPPING}, {name!s:.{MAX_QUOTED}}"
        if name not in known:
            faults.append(
                Fault(OF_MAPPING, 0, f"no dimension {str(name)[:MAX_QUOTED]!r}", f"choose from {', '.join(known)}")
            )
        elif not isinstance(shares, Mapping):
            faults.append(
                Fault(place, 0, f"{repr(shares)[:MAX_QUOTED]} is not a dict", "give its groups and their shares")
            )
        else:
            rows, wrong = _rows_of(place, shares.items())
            space = GroupSpace((known[name],))
            try:
                parts.append(_table(place, rows, space, wrong, list(_unknown_groups(place, rows, space)))[1])
            except InputError as error:
                faults += error.faults
    if math.prod(map(len, parts)) > MAX_CELLS:
        faults.append(Fault(OF_MAPPING, 0, f"groups of {len(parts)} dimensions", f"at most {MAX_CELLS:,} together"))
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))
    cells = product(*parts)
    return tuple(given), tuple(("|".join(g for g, _ in cell), math.prod(share for _, share in cell)) for cell in cells)


def _rows_of(place: str, given: Iterable[tuple[str, object]]) -> tuple[list[ShareRow], list[Fault]]:
    """The lines that pairs of groups and shares stand for, and what is wrong with them."""
    rows: list[ShareRow] = []
    faults: list[Fault] = []
    for group, share in given:
        try:
            number = math.nan if isinstance(share, (bool, str)) else float(share)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not 0.0 <= number <= 1.0:
            shown = f"{number:g}" if math.isfinite(number) else repr(share)[:MAX_QUOTED]
            faults.append(Fault(place, 0, f"the share of {str(group)[:MAX_QUOTED]} is {shown}", "give one from 0 to 1"))
        rows.append(ShareRow(0, str(group).strip(), number))
    return rows, faults


def _table(
    place: str, rows: Sequence[ShareRow], space: GroupSpace, faults: Sequence[Fault], unknown: Sequence[Fault]
) -> tuple[tuple[str, ...], Shares]:
    """Dimensions and shares of a table; InputError with all that is wrong with it."""
    total = sum(row.share for row in rows)
    found = [*faults, *unknown, *_repeated(place, rows)]
    if not rows and not found:
        found.append(Fault(place, 0, "no groups", "give each group and its share"))
    elif not unknown and abs(total - 1.0) > SUM_ERROR:
        found.append(Fault(place, 0, f"the shares sum to {total:g}", "they must sum to 1"))
    if found:
        raise InputError(sorted(found)[:MAX_FAULTS], max(0, len(found) - MAX_FAULTS))
    names = {name.casefold(): name for name in space.names}
    shares = tuple((names[row.group.casefold()], row.share / total) for row in rows)
    return tuple(dimension.name for dimension in space.dimensions), shares


def _repeated(place: str, rows: Sequence[ShareRow]) -> Iterator[Fault]:
    seen: set[str] = set()
    for row in rows:
        if row.group.casefold() in seen:
            yield Fault(place, row.line, f"{row.group[:MAX_QUOTED]} again", "name each group once")
        seen.add(row.group.casefold())


def _read_rows(path: Path) -> tuple[list[ShareRow], list[Fault]]:
    """The lines of a table, and what is wrong with them."""
    faults: list[Fault] = []
    rows: list[ShareRow] = []
    lines = read_small_text(path, "give a table in UTF-8").splitlines(keepends=True)
    try:
        table = list(csv.reader(lines, delimiter="\t" if lines and "\t" in lines[0] else ","))
    except csv.Error as error:
        fix = "give a line per group: its name, then its share"
        raise input_error(path, 0, f"not a table: {error}", fix) from error
    for number, cells in enumerate(table, 1):
        if not "".join(cells).strip():
            continue
        if number == 1 and [cell.strip().casefold() for cell in cells[:2]] == ["group", "share"]:
            continue
        try:
            group, share = cells[0].strip(), float(cells[1])
        except (IndexError, ValueError):
            faults.append(Fault(str(path), number, f"{'  '.join(cells)[:MAX_QUOTED]!r}", "give a group and its share"))
            continue
        if not 0.0 <= share <= 1.0:
            found = f"the share of {group[:MAX_QUOTED]} is {share:g}"
            faults.append(Fault(str(path), number, found, "give one from 0 to 1"))
        rows.append(ShareRow(number, group, share))
    return rows, faults


def _space_of(
    place: str, rows: Sequence[ShareRow], dimensions: Mapping[str, Dimension]
) -> tuple[GroupSpace, list[Fault]]:
    """The dimensions whose groups a table names, and a fault for each name that is not one of their groups."""
    if not rows:
        return GroupSpace(()), [Fault(place, 0, "no groups", "give a line per group: its name, then its share")]
    number, first, _ = rows[0]
    chosen: list[Dimension] = []
    for at in range(min(first.count("|") + 1, len(dimensions))):
        words = {parts[at] for _, group, _ in rows if len(parts := group.casefold().split("|")) > at}
        found = max(dimensions.values(), key=lambda d: len(words & {name.casefold() for name in d.groups}))
        chosen.append(found)
    space = GroupSpace(tuple(chosen))
    names = [dimension.name for dimension in chosen]
    if len(set(names)) < len(names) or space.n_groups > MAX_CELLS:
        found_there = f"{first[:MAX_QUOTED]!r} joins groups of {', '.join(names)}"
        return GroupSpace(()), [Fault(place, number, found_there, "join groups of two or three dimensions by |")]
    return space, list(_unknown_groups(place, rows, space))


def _unknown_groups(place: str, rows: Sequence[ShareRow], space: GroupSpace) -> Iterator[Fault]:
    known = {name.casefold() for name in space.names}
    choices = ", ".join(space.names[:9]) + (", …" if space.n_groups > 9 else "")
    for row in rows:
        if row.group.casefold() not in known:
            yield Fault(place, row.line, f"no group {row.group[:MAX_QUOTED]!r}", f"choose from {choices}")
