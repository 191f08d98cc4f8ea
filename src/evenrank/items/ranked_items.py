"""Rankings as arrays: systems, queries and items by number, ranking after ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evenrank.items.faults import Faults
from evenrank.items.tables import (
    ItemTable,
    Objects,
)
from evenrank.items.vocabulary import Ints, Vocabulary


@dataclass(frozen=True)
class RankedItems:
    """All rankings of all systems. Rows run beside each other, ranking after ranking, rank by rank."""

    systems: tuple[str, ...]
    queries: Vocabulary
    system: Ints
    """System of each ranking."""
    query: Ints
    """Query of each ranking."""
    lengths: Ints
    """Items of each ranking."""
    items: Ints
    """Items of all rankings by number."""
    scores: NDArray[np.float64] | None
    """Scores beside the items; None when none were given."""
    notes: tuple[str, ...] = ()
    """What readers of results should know of how they were read."""

    @property
    def starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.intp)


@dataclass(frozen=True)
class PlacedTable(ItemTable):
    """A table whose rows have places of their own: they came from a mapping, or were sorted."""

    where: Callable[[int], str] = str

    def place(self, row: int) -> str:
        return self.where(row)


def ranked_items(
    systems: tuple[str, ...],
    system: Ints,
    queries: Vocabulary,
    query: Ints,
    ranking: Ints,
    ids: Objects,
    items: Ints,
    scores: NDArray[np.float64] | None,
    table: ItemTable,
    faults: Faults,
) -> RankedItems:
    """The arrays of sorted rows; an item twice in one ranking is a fault."""
    is_start = np.ones(len(query), bool)
    same = (system[1:] == system[:-1]) & (query[1:] == query[:-1]) & (ranking[1:] == ranking[:-1])
    is_start[1:] = ~same
    starts = np.flatnonzero(is_start)
    number = np.cumsum(is_start) - 1
    _check_repeated(number, items, ids, table, faults)
    lengths = np.diff(np.append(starts, len(query)))
    return RankedItems(systems, queries, system[starts], query[starts], lengths, items, scores)


def _check_repeated(number: Ints, items: Ints, ids: Objects, table: ItemTable, faults: Faults) -> None:
    if np.bincount(items).max(initial=0) <= 1:
        return
    key = np.sort(number * (int(items.max(initial=0)) + 1) + items)
    if not (key[1:] == key[:-1]).any():
        return
    order = np.lexsort([np.arange(len(items)), items, number])
    again = (items[order][1:] == items[order][:-1]) & (number[order][1:] == number[order][:-1])
    rows = [row for row in np.sort(order[1:][again]).tolist() if ids[row] is not None]
    faults.add_rows(table, "item appears twice in one ranking:", rows, ids, "keep one of them")


def named(part: RankedItems, name: str) -> RankedItems:
    systems = (name,) if len(part.systems) == 1 else tuple(f"{name} {one}" for one in part.systems)
    return replace(part, systems=systems)


def joined(parts: Sequence[RankedItems]) -> RankedItems:
    """Several systems as one; queries of equal names are the same query."""
    queries = Vocabulary.empty()
    query = [queries.encode(part.queries.names)[part.query] for part in parts]
    offsets = np.cumsum([0, *(len(part.systems) for part in parts)])
    scores = [part.scores for part in parts if part.scores is not None]
    return RankedItems(
        systems=tuple(name for part in parts for name in part.systems),
        queries=queries,
        system=np.concatenate([part.system + offset for part, offset in zip(parts, offsets[:-1], strict=True)]),
        query=np.concatenate(query),
        lengths=np.concatenate([part.lengths for part in parts]),
        items=np.concatenate([part.items for part in parts]),
        scores=np.concatenate(scores) if len(scores) == len(parts) else None,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )
