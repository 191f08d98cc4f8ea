"""Where a target comes from: the track's compromise, the field as it is, equal shares, the world, or a table.

A topic's candidates say how much of the field is in each group (`group_mass`); `target_from` makes a target of it.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.dimensions import DIMENSIONS
from evenrank.alignment.groups import Dimension, GroupSpace
from evenrank.errors import EvenrankError, Fault, InputError, input_error
from evenrank.formats.small_files import read_small_text
from evenrank.targets.equal import equal_target
from evenrank.targets.target import background_target, blend

TargetWord = Literal["track", "field", "equal", "world"]
TARGET_WORDS: dict[str, str] = {
    "track": "half the field, half the world (the track's)",
    "field": "as the field is",
    "equal": "every group that the field has the same",
    "world": "as the world is",
}
"""Words for targets, and what they mean."""
SUM_ERROR = 0.005
"""How far shares of a table may be from a sum of 1, so that rounded numbers are welcome."""
MAX_CELLS = 100_000
"""Most groups that the dimensions of a table may have together."""
SHOWN = 100
"""Characters of a cell that a message repeats."""


@dataclass(frozen=True)
class TargetChoice:
    """Where targets come from; it can be sent to another process and written into a record."""

    word: str = "track"
    """One of `TARGET_WORDS`, or the name of the file a table was read from."""
    dimensions: tuple[str, ...] = ()
    """Dimensions of the table; empty for a word."""
    shares: tuple[tuple[str, float], ...] = ()
    """(group, share) of the table, groups named as in `GroupSpace.names`; empty for a word."""

    @property
    def is_table(self) -> bool:
        return bool(self.dimensions)


def choose_target(
    target: str | os.PathLike[str] | TargetChoice, known: Mapping[str, Dimension] = DIMENSIONS
) -> TargetChoice:
    """A choice from a word (`track`, `field`, `equal`, `world`) or the path of a table; all faults at once.

    A table has a line per group: its name, then its share, separated by a tab or a comma. Groups are those of one
    dimension (`Africa`), or of several joined by `|` (`Africa|female`); `known` are the dimensions looked through.
    """
    if isinstance(target, TargetChoice):
        return target
    if str(target) in TARGET_WORDS:
        return TargetChoice(str(target))
    path = Path(target)
    if not path.is_file():
        raise EvenrankError(f"no target {os.fspath(target)!r} (choose from {', '.join(TARGET_WORDS)}, or name a file)")
    return read_target_table(path, known)


def read_target_table(path: Path, known: Mapping[str, Dimension] = DIMENSIONS) -> TargetChoice:
    """The target of a file; InputError with every fault."""
    rows, faults = _read_shares(path)
    space, unknown = _space_of(path, rows, known)
    faults += unknown
    seen: set[str] = set()
    for number, group, _ in rows:
        if group.casefold() in seen:
            faults.append(Fault(str(path), number, f"{group[:SHOWN]} again", "name each group once"))
        seen.add(group.casefold())
    total = sum(share for _, _, share in rows)
    if not unknown and abs(total - 1.0) > SUM_ERROR:
        faults.append(Fault(str(path), 0, f"the shares sum to {total:g}", "they must sum to 1"))
    if faults:
        raise InputError(sorted(faults)[:20], max(0, len(faults) - 20))
    names = {name.casefold(): name for name in space.names}
    shares = tuple((names[group.casefold()], share / total) for _, group, share in rows)
    return TargetChoice(path.name, tuple(dimension.name for dimension in space.dimensions), shares)


def _read_shares(path: Path) -> tuple[list[tuple[int, str, float]], list[Fault]]:
    """(line, group, share) of a table, and what is wrong with its lines."""
    faults: list[Fault] = []
    rows: list[tuple[int, str, float]] = []
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
            faults.append(Fault(str(path), number, f"{'  '.join(cells)[:SHOWN]!r}", "give a group and its share"))
            continue
        if not 0.0 <= share <= 1.0:
            found = f"the share of {group[:SHOWN]} is {share:g}"
            faults.append(Fault(str(path), number, found, "give one from 0 to 1"))
        rows.append((number, group, share))
    return rows, faults


def _space_of(
    path: Path, rows: Sequence[tuple[int, str, float]], dimensions: Mapping[str, Dimension]
) -> tuple[GroupSpace, list[Fault]]:
    """The dimensions whose groups a table names, and a fault for each name that is not one of their groups."""
    if not rows:
        return GroupSpace(()), [Fault(str(path), 0, "no groups", "give a line per group: its name, then its share")]
    number, first, _ = rows[0]
    chosen: list[Dimension] = []
    for place in range(min(first.count("|") + 1, len(dimensions))):
        words = {parts[place] for _, group, _ in rows if len(parts := group.casefold().split("|")) > place}
        found = max(dimensions.values(), key=lambda d: len(words & {name.casefold() for name in d.groups}))
        chosen.append(found)
    space = GroupSpace(tuple(chosen))
    names = [dimension.name for dimension in chosen]
    if len(set(names)) < len(names) or space.n_groups > MAX_CELLS:
        found_there = f"{first[:SHOWN]!r} joins groups of {', '.join(names)}"
        return GroupSpace(()), [Fault(str(path), number, found_there, "join groups of two or three dimensions by |")]
    known = {name.casefold() for name in space.names}
    choices = ", ".join(space.names[:9]) + (", …" if space.n_groups > 9 else "")
    return space, [
        Fault(str(path), number, f"no group {group[:SHOWN]!r}", f"choose from {choices}")
        for number, group, _ in rows
        if group.casefold() not in known
    ]


def target_from(
    choice: TargetChoice,
    group_mass: NDArray[np.float64],
    space: GroupSpace,
    *,
    keep_unknown: bool,
    within: NDArray[np.bool_] | None = None,
    n_pages: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The wanted distribution over all groups, from what the field gives to each of them.

    Each pattern of known and unknown dimensions keeps the mass it has in the field; the choice decides how it is spread
    over the groups of the pattern. Without `keep_unknown` the fully unknown group is emptied first. `within` marks the
    groups that a restriction leaves: the others get nothing. `n_pages` are the pages of each group, by which `equal`
    decides which groups the field has.
    """
    if choice.is_table:
        return _of_table(choice, space)
    mass = group_mass.astype(np.float64, copy=True)
    if not keep_unknown:
        mass[0] = 0.0
    field = mass / mass.sum() if mass.sum() > 0.0 else background_target(space)
    if choice.word == "track":
        wanted = blend(field, space)
    elif choice.word == "field":
        wanted = field
    elif choice.word == "world":
        wanted = 2.0 * blend(field, space) - field
    else:
        wanted = equal_target(field, space, n_pages)
    if within is None or not (wanted * within).sum() > 0.0:
        return np.asarray(wanted)
    wanted = np.where(within, wanted, 0.0)
    return np.asarray(wanted / wanted.sum())


def _of_table(choice: TargetChoice, space: GroupSpace) -> NDArray[np.float64]:
    dimensions = tuple(dimension.name for dimension in space.dimensions)
    if dimensions != choice.dimensions:
        raise EvenrankError(
            f"{choice.word} gives shares over {', '.join(choice.dimensions)}, but groups are those of "
            f"{', '.join(dimensions)} (set information to {','.join(choice.dimensions)})"
        )
    place = {name: index for index, name in enumerate(space.names)}
    values = np.zeros(space.n_groups)
    for group, share in choice.shares:
        values[place[group]] = share
    return values
