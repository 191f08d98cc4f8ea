"""Where a target comes from: the track's compromise, the field as it is, equal shares, the world, or a table.

A topic's candidates say how much of the field is in each group (`group_mass`); `target_from` makes a target of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.equal_target import equal_target
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.target import background_target, blend
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.target_table import SHOWN, TableMapping, checked_shares, read_shares, shares_of_mapping
from evenrank.trec.dimensions.dimensions import DIMENSIONS

TargetWord = Literal["track", "field", "equal", "world"]
TARGET_WORDS: dict[str, str] = {
    "track": "half the field, half the world (the track's)",
    "field": "as the field is",
    "equal": "every group that the field has the same",
    "world": "as the world is",
}
"""Words for targets, and what they mean."""
GIVEN = "the target"
"""What a table that is in no file is called."""


@dataclass(frozen=True)
class TargetChoice:
    """Where targets come from; it can be sent to another process and written into a record."""

    word: str = "track"
    """One of `TARGET_WORDS`, or the name of the file a table was read from (`the target` if there is none)."""
    dimensions: tuple[str, ...] = ()
    """Dimensions of the table; empty for a word."""
    shares: tuple[tuple[str, float], ...] = ()
    """(group, share) of the table, groups named as in `GroupSpace.names`; empty for a word."""

    @property
    def is_table(self) -> bool:
        return bool(self.dimensions)


Target = str | os.PathLike[str] | TableMapping | TargetChoice
"""What a target can be given as: a word, the path of a table, a mapping that says the same, or a choice."""


def choose_target(target: Target, known: Mapping[str, Dimension] = DIMENSIONS) -> TargetChoice:
    """A choice from a word (`track`, `field`, `equal`, `world`), the path of a table or a mapping; all faults at once.

    A table has a line per group: its name, then its share, separated by a tab or a comma. Groups are those of one
    dimension (`Africa`), or of several joined by `|` (`Africa|female`); `known` are the dimensions looked through. A
    mapping goes from groups to shares in the same way, or from dimensions to the shares of their groups.
    """
    if isinstance(target, TargetChoice):
        return _checked(target, known)
    if isinstance(target, Mapping):
        return TargetChoice(GIVEN, *shares_of_mapping(target, known))
    if not isinstance(target, (str, os.PathLike)):
        wanted = f"{', '.join(TARGET_WORDS)}, the path of a table, or a dict of groups and shares"
        raise WrongTypeError(target, "target", wanted)
    if str(target) in TARGET_WORDS:
        return TargetChoice(str(target))
    path = Path(target)
    if not _is_file(path):
        raise EvenrankError(
            f"no target {os.fspath(target)[:SHOWN]!r} (choose from {', '.join(TARGET_WORDS)}, or name a file)"
        )
    return read_target_table(path, known)


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_target_table(path: Path, known: Mapping[str, Dimension] = DIMENSIONS) -> TargetChoice:
    """The target of a file; InputError with every fault."""
    return TargetChoice(path.name, *read_shares(path, known))


def _checked(choice: TargetChoice, known: Mapping[str, Dimension]) -> TargetChoice:
    """A choice that was made in Python, if it means something."""
    if choice.is_table:
        dimensions, shares = checked_shares(choice.dimensions, choice.shares, known)
        is_in_order = dict(shares).keys() == dict(choice.shares).keys() and np.allclose(
            [share for _, share in shares], [share for _, share in choice.shares], atol=1e-12
        )
        return choice if is_in_order else TargetChoice(choice.word, dimensions, shares)
    if choice.word not in TARGET_WORDS:
        raise UnknownNameError("target", choice.word, TARGET_WORDS)
    return choice


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


def table_faults(choice: TargetChoice, dimensions: tuple[str, ...]) -> list[str]:
    """A fault where a table gives shares over other groups than those of the dimensions known to the system."""
    if not choice.is_table or dimensions == choice.dimensions:
        return []
    return [
        f"{choice.word} gives shares over {', '.join(choice.dimensions)}, but groups are those of "
        f"{', '.join(dimensions)} (set information to {','.join(choice.dimensions)})"
    ]


def _of_table(choice: TargetChoice, space: GroupSpace) -> NDArray[np.float64]:
    if faults := table_faults(choice, tuple(dimension.name for dimension in space.dimensions)):
        raise EvenrankError(faults[0])
    place = {name: index for index, name in enumerate(space.names)}
    values = np.zeros(space.n_groups)
    for group, share in choice.shares:
        values[place[group]] = share
    return values
