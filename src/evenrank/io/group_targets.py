"""Targets: the share of attention that each group should have, for all queries or for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError, listed
from evenrank.io.columns import LARGEST, Faults, as_number, ids_of, numbers_of, present
from evenrank.io.groupings import Grouping, Groupings
from evenrank.io.item_groups import group_name
from evenrank.io.item_relevance import RelevantItems
from evenrank.io.tables import ItemTable, as_table, is_series
from evenrank.io.vocabulary import Vocabulary, number_names

WORDS = ("relevant", "population", "equal")
"""`relevant`: as the relevant items of the query; `population`: as all items with groups; `equal`: all groups alike."""
Ints = NDArray[np.intp]
SHOWN_NAMES = 20
"""Unknown names of a table for which the nearest known one is looked up; the others are counted."""
SUM_ERROR = 0.01
"""How far shares may be from a sum of 1 by rounding."""
MAX_MEMBERLESS = 1000
"""Groups of a target to which no item belongs; with more, the names are those of something else."""


@dataclass(frozen=True)
class GroupTarget:
    """The target of each query over the known groups of one grouping.

    Rows are made for some queries at a time: those of a million queries over a thousand groups would fill the memory.
    """

    n_groups: int
    row: Floats | None = None
    """The target of every query, where they have the same."""
    query: Ints = field(default_factory=lambda: np.empty(0, np.intp))
    """Query of each share, ascending; shares are added up, and divided by their sum in the query."""
    kind: Ints = field(default_factory=lambda: np.empty(0, np.intp))
    """Group of each share, or the kind of item, if `kinds` are given."""
    share: Floats = field(default_factory=lambda: np.empty(0))
    kinds: Floats | None = None
    """Shares of each kind of item in each group; group 0 is unknown."""

    @property
    def width(self) -> int:
        """Cells that a row takes while it is made."""
        return self.n_groups if self.kinds is None else max(self.kinds.shape)

    def rows(self, queries: Ints) -> Floats:
        """The targets of some queries: rows that sum to 1, or are zero where a query has no target."""
        if self.row is not None:
            return np.broadcast_to(self.row, (len(queries), self.n_groups))
        distinct, place = np.unique(queries, return_inverse=True)
        first = np.searchsorted(self.query, distinct, side="left")
        counts = np.searchsorted(self.query, distinct, side="right") - first
        chosen = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
        n_kinds = self.n_groups if self.kinds is None else len(self.kinds)
        key = np.repeat(np.arange(len(distinct)), counts) * n_kinds + self.kind[chosen]
        summed: Floats = np.bincount(key, self.share[chosen], minlength=len(distinct) * n_kinds).astype(np.float64)
        mass = summed.reshape(len(distinct), n_kinds)
        if self.kinds is not None:
            mass = (mass @ self.kinds)[:, 1:]
        return _normalised(mass)[place.reshape(-1)]


class WantedGroups(NamedTuple):
    """The targets over the groups of each grouping, and the groupings with those groups that no item belongs to."""

    groupings: Groupings
    targets: list[GroupTarget]
    notes: list[str]
    counted: GroupTarget | None = None
    """The target over the known intersections, where items say what it is; else it is the product of the targets."""

    @property
    def width(self) -> int:
        """Cells that a row of any of the targets takes while it is made."""
        return max(one.width for one in (*self.targets, *([self.counted] if self.counted else [])))

    def joint(self, queries: Ints) -> Floats:
        """The targets of some queries over the known intersections of groups."""
        if self.counted is not None:
            return self.counted.rows(queries)
        joint = self.targets[0].rows(queries)
        for part in self.targets[1:]:
            joint = (joint[:, :, None] * part.rows(queries)[:, None, :]).reshape(len(joint), -1)
        return joint


def read_target(
    target: object,
    groupings: Groupings,
    relevance: RelevantItems | None,
    queries: Vocabulary,
    faults: Faults,
) -> WantedGroups:
    """The target over the groups of each grouping.

    A group of the target to which no item belongs is kept: that nobody can be shown is the worst unfairness there is.
    """
    if target is None:
        target = "relevant" if relevance is not None else "population"
    if is_series(target) and hasattr(target, "index"):  # of pandas: group → share
        target = dict(zip(target.index.tolist(), target, strict=True))
    if isinstance(target, str) and target in WORDS:
        targets = [_by_word(target, part.alignment, relevance) for part in groupings.parts]
        is_counted = len(targets) > 1 and target != "equal"
        counted = _by_word(target, groupings.known_joint(), relevance) if is_counted else None
        return WantedGroups(groupings, targets, [], counted)
    if isinstance(target, str) and not Path(target).exists() and target != "-":
        raise UnknownNameError("target", target, WORDS, "or the name of a CSV file")
    table = as_table(target, "target") if not isinstance(target, Mapping) else None
    if table is None and not isinstance(target, Mapping):
        kinds = f"{', '.join(WORDS)}, a dict of group → share, a data frame or a CSV file"
        raise WrongTypeError(target, "target", kinds)
    named = _names_in_mapping(target, groupings) if table is None else _names_in_table(table, groupings)  # type: ignore[arg-type]
    without = _memberless(named, groupings)
    whole = groupings.with_groups(without)
    notes = [
        f"{name}: no item belongs to {listed(list(map(repr, groups)), 5)}, which should get attention"
        for name, groups in without.items()
        if groups
    ]
    if table is not None:
        targets = _from_table(table, whole, queries, faults)
        return WantedGroups(whole, targets, [*notes, *_sum_notes(_shares_of_all(table))])
    notes += _sum_notes(target)  # type: ignore[arg-type]
    return WantedGroups(whole, _from_mapping(target, whole, queries, faults), notes)  # type: ignore[arg-type]


def _shares_of_all(table: ItemTable) -> dict[str, dict[int, object]]:
    """Grouping → the shares in a table that are the same for all queries, by row."""
    if table.get("query") is not None:
        return {}
    column = table.get("grouping")
    found: dict[str, dict[int, object]] = {}
    for row, share in enumerate(table.need("share").tolist()):
        found.setdefault("" if column is None else str(column[row]), {})[row] = share
    return found


def _sum_notes(target: Mapping[Any, Any]) -> list[str]:
    """A note where shares look like parts of a whole and have another sum: one may be missing, or mistyped.

    Whole numbers, such as counts and percentages, are proportions.
    """
    inner = [one for one in target.values() if isinstance(one, Mapping)]
    if inner:
        return list(dict.fromkeys(note for one in inner for note in _sum_notes(one)))[:1]
    shares = [as_number(one) for one in target.values()]
    total = sum(shares)
    if not 0.0 < total < float("inf") or abs(total - 1.0) <= SUM_ERROR or all(one == round(one) for one in shares):
        return []
    return [f"target: shares sum to {total:.4g}, not 1, and are divided by their sum"]


def _names_in_mapping(target: Mapping[Any, Any], groupings: Groupings) -> dict[str, list[str]]:
    """Grouping → names of groups that have a share: of group → share, of groupings, or of queries with one of these."""
    names: dict[str, list[str]] = {part.name: [] for part in groupings.parts}
    if not all(isinstance(one, Mapping) for one in target.values()):
        wanted = [str(group) for group, share in target.items() if group_name(group) and as_number(share) > 0.0]
        return names | {groupings.parts[0].name: wanted}
    is_by_grouping = set(map(str, target)) <= set(names)
    for key, one in target.items():
        inner = {str(key): [str(group) for group in one]} if is_by_grouping else _names_in_mapping(one, groupings)
        for name, groups in inner.items():
            names[name] += groups
    return names


def _names_in_table(table: ItemTable, groupings: Groupings) -> dict[str, list[str]]:
    """Grouping → names of groups in a table."""
    groups = [group_name(one) for one in table.need("group").tolist()]
    column = table.get("grouping")
    parts = [groupings.parts[0].name] * len(groups) if column is None else list(map(str, column.tolist()))
    names: dict[str, list[str]] = {part.name: [] for part in groupings.parts}
    for part, group in dict.fromkeys(zip(parts, groups, strict=True)):
        if part in names and group is not None:
            names[part].append(group)
    return names


def _memberless(named: Mapping[str, Iterable[str]], groupings: Groupings) -> dict[str, list[str]]:
    """Grouping → names in a target that no item belongs to.

    A name that resembles a group which has no share is a misspelling, and left to be reported; so are too many names.
    """
    found: dict[str, list[str]] = {}
    for part in groupings.parts:
        names = dict.fromkeys(named[part.name])
        known = set(part.groups)
        others = [name for name in names if name not in known]
        if len(others) > MAX_MEMBERLESS or not known & set(names):
            continue  # not one group of the items is named: these are names of something else
        unused = [group.casefold() for group in part.groups if group not in names]
        found[part.name] = [name for name in others if not get_close_matches(name.casefold(), unused, 1)]
    return found


def _by_word(word: str, alignment: Alignment, relevance: RelevantItems | None) -> GroupTarget:
    n_groups = alignment.n_groups - 1
    if word == "equal":
        return GroupTarget(n_groups, np.full(n_groups, 1.0 / max(1, n_groups)))
    if word == "population":
        return GroupTarget(n_groups, _normalised(alignment.total()[None, 1:])[0])
    if relevance is None:
        raise EvenrankError("target 'relevant' needs relevance (give relevance, or another target)")
    kind = alignment.page_type[relevance.item]
    if not alignment.is_identity:
        return GroupTarget(n_groups, None, relevance.query, kind, relevance.grade, alignment.rows)
    is_known = kind > 0
    return GroupTarget(n_groups, None, relevance.query[is_known], kind[is_known] - 1, relevance.grade[is_known])


def _normalised(mass: Floats) -> Floats:
    total = mass.sum(axis=1, keepdims=True)
    return np.asarray(mass / np.where(total > 0.0, total, 1.0))


def _from_mapping(
    target: Mapping[Any, Any], groupings: Groupings, queries: Vocabulary, faults: Faults
) -> list[GroupTarget]:
    """group → share; grouping → (group → share); or query → one of these."""
    names = {part.name for part in groupings.parts}
    is_by_query = all(isinstance(one, Mapping) for one in target.values()) and not set(map(str, target)) <= names
    if not is_by_query:
        rows = _mapping_rows(target, groupings, faults)
        return [GroupTarget(len(row), _normalised(row[None])[0]) for row in rows]
    shares: list[list[tuple[int, int, float]]] = [[] for _ in groupings.parts]
    for key, one in target.items():
        number = queries.get(str(key) if not isinstance(key, int) else key)
        if number is None:
            faults.add("target", "query is not ranked:", f"query {key!r}", key)
            continue
        for found, row in zip(shares, _mapping_rows(one, groupings, faults), strict=True):
            found += [(number, int(group), float(row[group])) for group in np.flatnonzero(row)]
    return [_by_query(len(part.groups), found) for part, found in zip(groupings.parts, shares, strict=True)]


def _by_query(n_groups: int, shares: Sequence[tuple[int, int, float]]) -> GroupTarget:
    ordered = sorted(shares)
    query, group = (np.array([one[at] for one in ordered], np.intp) for at in (0, 1))
    return GroupTarget(n_groups, None, query, group, np.array([share for *_, share in ordered], np.float64))


def _mapping_rows(target: Mapping[Any, Any], groupings: Groupings, faults: Faults) -> list[Floats]:
    """group → share, or grouping → (group → share): for each grouping the share of every group."""
    by_name = {part.name: part for part in groupings.parts}
    if all(isinstance(one, Mapping) for one in target.values()) and set(map(str, target)) <= set(by_name):
        chosen = {str(key): one for key, one in target.items()}
        missing = [name for name in by_name if name not in chosen]
        if missing:
            raise EvenrankError(f"target: no shares for {', '.join(missing)} (give shares for every grouping)")
        return [_row(chosen[part.name], part, faults) for part in groupings.parts]
    if len(groupings.parts) > 1:
        names = ", ".join(by_name)
        raise EvenrankError(f"target: several groupings ({names}), so give a dict of grouping → (group → share)")
    return [_row(target, groupings.parts[0], faults)]


def _row(shares: Mapping[Any, Any], part: Grouping, faults: Faults) -> Floats:
    """The shares of the groups of a grouping, as they are given."""
    row = np.zeros(len(part.groups))
    place_of = {group: at for at, group in enumerate(part.groups)}
    for group, share in shares.items():
        place = f"group {group!r}"
        if str(group) not in place_of:
            text = str(UnknownNameError(_kind(part), group, part.groups))
            faults.add("target", text, place)
        elif not isinstance(share, Number) or not 0.0 <= as_number(share) < float("inf"):
            faults.add("target", "share is not a number of at least 0:", place, share)
        elif as_number(share) > LARGEST:
            faults.add("target", f"share is above {LARGEST:g}:", place, share)
        else:
            row[place_of[str(group)]] = as_number(share)
    if row.sum() <= 0.0 and not faults.rows:
        faults.add("target", "no share is above 0", f"grouping {part.name}")
    return row


def _kind(part: Grouping) -> str:
    """What a group of a grouping is called in messages."""
    return "group" if part.name == "group" else f"group of {part.name}"


def _from_table(table: ItemTable, groupings: Groupings, queries: Vocabulary, faults: Faults) -> list[GroupTarget]:
    """Columns group and share, and where needed grouping and query."""
    names = [str(one) for one in table.need("group").tolist()]
    is_named = np.array([group_name(one) is not None for one in table.need("group").tolist()], bool)
    faults.add_rows(table, "no group is named:", np.flatnonzero(~is_named), names)
    shares = numbers_of(table.need("share"), table, "share", faults, low=0.0, high=LARGEST)
    column = table.get("grouping")
    if column is None and len(groupings.parts) > 1:
        raise EvenrankError(f"{table.name}: several groupings, so a column grouping is needed")
    part_of = np.zeros(len(names), np.intp)
    if column is not None:
        parts = [part.name for part in groupings.parts]
        part_of = _places(
            [str(one) for one in column.tolist()], parts, "grouping", np.arange(len(names)), table, faults
        )
    query, is_ranked = _ranked_queries(table, queries, faults)
    found = []
    for at, part in enumerate(groupings.parts):
        rows = np.flatnonzero((part_of == at) & is_named)
        group = _places([names[row] for row in rows.tolist()], part.groups, _kind(part), rows, table, faults)
        is_known = (group >= 0) & is_ranked[rows]
        rows, group = rows[is_known], group[is_known]
        key = query[rows] * max(1, len(part.groups)) + group
        order = np.argsort(key, kind="stable")
        again = np.sort(rows[order[1:][np.diff(key[order]) == 0]])
        faults.add_rows(table, "group has a share already:", again, names)
        ordered = rows[order]
        if table.get("query") is not None:
            found.append(GroupTarget(len(part.groups), None, query[ordered], group[order], shares[ordered]))
        else:
            mass = np.bincount(group, shares[rows], minlength=len(part.groups)).astype(np.float64)
            if not mass.any() and not faults.rows:
                faults.add(table.name, "no share is above 0", f"grouping {part.name}")
            found.append(GroupTarget(len(part.groups), _normalised(mass[None])[0]))
    return found


def _ranked_queries(table: ItemTable, queries: Vocabulary, faults: Faults) -> tuple[Ints, NDArray[np.bool_]]:
    """The query of each row by number, and whether it is one that is ranked; without such a column all are the same."""
    column = table.get("query")
    if column is None:
        return np.zeros(len(table), np.intp), np.ones(len(table), bool)
    n_ranked = len(queries)
    ids = ids_of(column, table, "query", faults)
    numbers = number_names(present(ids), queries)
    others = [row for row in np.flatnonzero(numbers >= n_ranked).tolist() if ids[row] is not None]
    faults.add_rows(table, "query is not ranked:", others, ids)
    return numbers, numbers < n_ranked


def _places(
    names: Sequence[str], known: Sequence[str], kind: str, rows: Ints, table: ItemTable, faults: Faults
) -> Ints:
    """The place of each name among the known ones; -1 for one that is not, which is a fault of its row."""
    place_of = {name: at for at, name in enumerate(known)}
    places = np.fromiter((place_of.get(name, -1) for name in names), np.intp, len(names))
    texts: dict[str, str] = {}
    for at in np.flatnonzero(places < 0).tolist():
        name = names[at]
        if name not in texts and len(texts) >= SHOWN_NAMES:
            faults.n_more += 1
            continue
        text = texts.get(name) or texts.setdefault(name, str(UnknownNameError(kind, name, known)))
        faults.add(table.name, text, table.place(int(rows[at])))
    return places
