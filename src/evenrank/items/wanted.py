"""Targets: the share of attention that each group should have, for all queries or for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.items.groupings import Grouping, Groupings
from evenrank.items.rankings import Vocabulary
from evenrank.items.relevance import RelevantItems
from evenrank.items.tables import Faults, ItemTable, as_table, ids_of, is_series, numbers_of
from evenrank.types import Floats

WORDS = ("relevant", "population", "equal")
"""`relevant`: as the relevant items of the query; `population`: as all items with groups; `equal`: all groups alike."""


def targets_of(
    target: object,
    groupings: Groupings,
    relevance: RelevantItems | None,
    queries: Vocabulary,
    faults: Faults,
) -> list[Floats]:
    """For each grouping a matrix, query by known group; a row sums to 1, or is zero where a query has no target."""
    if target is None:
        target = "relevant" if relevance is not None else "population"
    if is_series(target) and hasattr(target, "index"):  # of pandas: group → share
        target = dict(zip(target.index.tolist(), target, strict=True))
    if isinstance(target, str) and target in WORDS:
        return [_by_word(target, part, relevance, len(queries)) for part in groupings.parts]
    if isinstance(target, str) and not Path(target).exists() and target != "-":
        raise UnknownNameError("target", target, WORDS, "or the name of a CSV file")
    table = as_table(target, "target") if not isinstance(target, Mapping) else None
    if table is not None:
        return _from_table(table, groupings, queries, faults)
    if isinstance(target, Mapping):
        return _from_mapping(target, groupings, queries, faults)
    raise WrongTypeError(target, "target", f"{', '.join(WORDS)}, a dict of group → share, a data frame or a CSV file")


def joint_target(targets: list[Floats]) -> Floats:
    """The target over intersections of groups: the product of the groupings' targets; query by known intersection."""
    joint = targets[0]
    for part in targets[1:]:
        joint = (joint[:, :, None] * part[:, None, :]).reshape(len(joint), -1)
    return joint


def _by_word(word: str, part: Grouping, relevance: RelevantItems | None, n_queries: int) -> Floats:
    n_groups = len(part.groups)
    if word == "equal":
        return np.full((n_queries, n_groups), 1.0 / max(1, n_groups))
    if word == "population":
        return np.tile(_normalised(part.alignment.total()[None, 1:]), (n_queries, 1))
    if relevance is None:
        raise EvenrankError("target 'relevant' needs relevance (give relevance, or another target)")
    rows = part.alignment.rows
    kind = part.alignment.page_type[relevance.item]
    mass = np.bincount(relevance.query * len(rows) + kind, relevance.grade, minlength=n_queries * len(rows))
    return _normalised((mass.reshape(n_queries, len(rows)) @ rows)[:, 1:])


def _normalised(mass: Floats) -> Floats:
    total = mass.sum(axis=1, keepdims=True)
    return np.asarray(mass / np.where(total > 0.0, total, 1.0))


def _from_mapping(target: Mapping[Any, Any], groupings: Groupings, queries: Vocabulary, faults: Faults) -> list[Floats]:
    """group → share; grouping → (group → share); or query → one of these."""
    by_name = {part.name: part for part in groupings.parts}
    if all(isinstance(one, Mapping) for one in target.values()) and set(map(str, target)) <= set(by_name):
        chosen = {str(key): one for key, one in target.items()}
        missing = [name for name in by_name if name not in chosen]
        if missing:
            raise EvenrankError(f"target: no shares for {', '.join(missing)} (give shares for every grouping)")
        return [_everywhere(chosen[part.name], part, queries, faults) for part in groupings.parts]
    if all(isinstance(one, Mapping) for one in target.values()):
        found = [np.zeros((len(queries), len(part.groups))) for part in groupings.parts]
        for key, one in target.items():
            number = queries.get(str(key) if not isinstance(key, int) else key)
            if number is None:
                faults.add("target", "query is not ranked:", f"query {key!r}", key)
                continue
            single = Vocabulary.empty()
            single.encode([str(key)])
            for matrix, row in zip(found, _from_mapping(one, groupings, single, faults), strict=True):
                matrix[number] = row[0]
        return found
    if len(groupings.parts) > 1:
        names = ", ".join(by_name)
        raise EvenrankError(f"target: several groupings ({names}), so give a dict of grouping → (group → share)")
    return [_everywhere(target, groupings.parts[0], queries, faults)]


def _everywhere(shares: Mapping[Any, Any], part: Grouping, queries: Vocabulary, faults: Faults) -> Floats:
    return np.tile(_row(shares, part, faults), (len(queries), 1))


def _row(shares: Mapping[Any, Any], part: Grouping, faults: Faults) -> Floats:
    """One distribution over the groups of a grouping; shares are divided by their sum."""
    row = np.zeros(len(part.groups))
    for group, share in shares.items():
        place = f"group {group!r}"
        if str(group) not in part.groups:
            text = str(UnknownNameError(_kind(part), group, part.groups))
            faults.add("target", text, place)
        elif not isinstance(share, (int, float, np.integer, np.floating)) or not 0.0 <= share < float("inf"):
            faults.add("target", "share is not a number of at least 0:", place, share)
        else:
            row[part.groups.index(str(group))] = float(share)
    if row.sum() <= 0.0 and not faults.rows:
        faults.add("target", "no share is above 0", f"grouping {part.name}")
    return row / (row.sum() or 1.0)


def _kind(part: Grouping) -> str:
    """What a group of a grouping is called in messages."""
    return "group" if part.name == "group" else f"group of {part.name}"


def _from_table(table: ItemTable, groupings: Groupings, queries: Vocabulary, faults: Faults) -> list[Floats]:
    """Columns group and share, and where needed grouping and query."""
    names = [str(one) for one in table.need("group").tolist()]
    shares = numbers_of(table.need("share"), table, "share", faults, low=0.0)
    column = table.get("grouping")
    keys = [groupings.parts[0].name] * len(names) if column is None else [str(one) for one in column.tolist()]
    if column is None and len(groupings.parts) > 1:
        raise EvenrankError(f"{table.name}: several groupings, so a column grouping is needed")
    query_column = table.get("query")
    query_ids = None if query_column is None else ids_of(query_column, table, "query", faults)
    by_name = {part.name: (at, part) for at, part in enumerate(groupings.parts)}
    found = [np.zeros((len(queries), len(part.groups))) for part in groupings.parts]
    seen: set[tuple[int, int | None, str]] = set()
    for row, (key, name, share) in enumerate(zip(keys, names, shares.tolist(), strict=True)):
        if key not in by_name:
            faults.add(table.name, str(UnknownNameError("grouping", key, by_name)), table.place(row))
            continue
        at, part = by_name[key]
        if name not in part.groups:
            faults.add(table.name, str(UnknownNameError(_kind(part), name, part.groups)), table.place(row))
            continue
        number = None if query_ids is None else queries.get(query_ids[row])
        if query_ids is not None and number is None:
            if query_ids[row] is not None:
                faults.add(table.name, "query is not ranked:", table.place(row), query_ids[row])
            continue
        if (at, number, name) in seen:
            faults.add(table.name, "group has a share already:", table.place(row), name)
        seen.add((at, number, name))
        rows = slice(None) if number is None else number
        found[at][rows, part.groups.index(name)] = share
    return [_normalised(matrix) for matrix in found]
