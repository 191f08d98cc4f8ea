"""Where a target comes from: the track's compromise, the field as it is, equal shares, the world, or a table.

A topic's candidates say how much of the field is in each group (`group_mass`); `target_from` makes a target of it.
`estimated_target` is the true target's formula with expectations in place of judgments: a page counts with its
probability, a quality class with the expected number of its relevant pages. No judgment is read here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import LOG, Attention
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.records import NO_CLASS, Task
from evenrank.core.target import EstimatedTarget, background_target, blend, equal_target
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.target_table import MAX_QUOTED, TableMapping, checked_shares, read_shares, shares_of_mapping
from evenrank.trec.dimensions import DIMENSIONS

TARGET_WORDS: dict[str, str] = {
    "track": "half the candidates by relevance, half the world (the track's)",
    "field": "as the candidates are, by relevance",
    "equal": "the same for every group that the candidates have",
    "world": "as the world is",
}
"""Words for targets, and what they mean."""
MARGIN_ROUNDS = 20
"""How often a target is scaled to each of several margins."""
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
    as_field: tuple[str, ...] = ()
    """Dimensions in which the target is as the field is, whatever the word says of the others."""

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
            f"no target {os.fspath(target)[:MAX_QUOTED]!r} (choose from {', '.join(TARGET_WORDS)}, or name a file)"
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
    if kept := [dimension.name for dimension in space.dimensions if dimension.name in choice.as_field]:
        wanted = with_margins(wanted, field, space, kept)
    if within is None or not (wanted * within).sum() > 0.0:
        return np.asarray(wanted)
    wanted = np.where(within, wanted, 0.0)
    return np.asarray(wanted / wanted.sum())


def with_margins(
    wanted: NDArray[np.float64], field: NDArray[np.float64], space: GroupSpace, names: list[str]
) -> NDArray[np.float64]:
    """A target with the field's shares in some dimensions: its cells are scaled to them in turn (Deming and Stephan
    1940); in all dimensions, it is the field."""
    if len(names) == len(space.dimensions):
        return field
    for name in names * (1 if len(names) == 1 else MARGIN_ROUNDS):
        has, should = (space.margin(values, name) for values in (wanted, field))
        factors = np.divide(should, has, out=np.zeros_like(has), where=has > 0.0)
        shape = [len(factors) if dimension.name == name else 1 for dimension in space.dimensions]
        wanted = (wanted.reshape(space.shape) * factors.reshape(shape)).reshape(-1)
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


TRACK_TARGET = TargetChoice("track")


def estimated_target(
    topic_id: int,
    task: Task,
    relevance: NDArray[np.float64],
    quality_class: NDArray[np.integer],
    alignment: Alignment,
    space: GroupSpace,
    *,
    keep_unknown: bool | None = None,
    group_odds: NDArray[np.float64] | None = None,
    choice: TargetChoice = TRACK_TARGET,
    within: NDArray[np.bool_] | None = None,
    attention: Attention = LOG,
) -> EstimatedTarget:
    """What a topic's target should be, given the relevance probabilities of its candidates.

    `keep_unknown` says whether the fully unknown cell takes part; by default it does in Task 2 only. `group_odds`
    correct the total of each group, where groups are found more often than they are relevant. `choice` says where the
    target comes from, `within` which groups a restriction leaves, `attention` how people read.
    """
    if keep_unknown is None:
        keep_unknown = task == 2
    mass = group_mass(task, relevance, quality_class, alignment, attention)
    if group_odds is not None:
        mass = mass * group_odds
    n_pages = alignment.total() if choice.word == "equal" else None
    values = target_from(choice, mass, space, keep_unknown=keep_unknown, within=within, n_pages=n_pages)
    return EstimatedTarget(topic_id, space, values)


def group_mass(
    task: Task,
    relevance: NDArray[np.float64],
    quality_class: NDArray[np.integer],
    alignment: Alignment,
    attention: Attention = LOG,
) -> NDArray[np.float64]:
    """What the pages give to each group: expected relevant pages (Task 1), or their ideal exposure (Task 2)."""
    return alignment.total(page_mass(task, relevance, quality_class, attention))


def page_mass(
    task: Task, relevance: NDArray[np.float64], quality_class: NDArray[np.integer], attention: Attention = LOG
) -> NDArray[np.float64]:
    """What each page adds to the target: its probability (Task 1), times its ideal exposure (Task 2)."""
    return relevance if task == 1 else relevance * soft_exposure(relevance, quality_class, attention)


def soft_exposure(
    relevance: NDArray[np.float64], quality_class: NDArray[np.integer], attention: Attention = LOG
) -> NDArray[np.float64]:
    """Ideal exposure of each page if it is relevant: the mean attention over the expected block of its class.

    Pages without a quality class have no ideal exposure, as in the true target.
    """
    expected_counts = np.bincount(quality_class, relevance, minlength=NO_CLASS + 1)[:NO_CLASS]
    of_class = np.append(soft_block_exposure(expected_counts.astype(np.float64), attention), 0.0)
    return np.asarray(of_class[quality_class], np.float64)


def soft_block_exposure(counts: NDArray[np.float64], attention: Attention = LOG) -> NDArray[np.float64]:
    """Mean attention of consecutive blocks of `counts` ranks, which may be fractions; 0 for an empty block.

    The cumulative attention is interpolated between whole ranks, so whole counts give `exposure.block_exposure`.
    """
    ends = np.cumsum(counts)
    n_ranks = int(np.ceil(ends[-1])) if len(ends) else 0
    cumulative = np.concatenate([[0.0], np.cumsum(attention.weights(n_ranks))])
    at = np.interp(np.concatenate([[0.0], ends]), np.arange(n_ranks + 1), cumulative)
    filled = counts > 1e-9
    return np.where(filled, np.diff(at) / np.where(filled, counts, 1.0), 0.0)
