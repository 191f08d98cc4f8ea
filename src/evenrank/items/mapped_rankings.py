"""Rankings from dicts and lists: query → items, lists of items, or item → score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from evenrank.errors import WrongTypeError
from evenrank.items.columns import as_number, ids_of, present
from evenrank.items.faults import Faults
from evenrank.items.ranked_items import PlacedTable, RankedItems, ranked_items
from evenrank.items.tables import (
    ItemTable,
)
from evenrank.items.vocabulary import Vocabulary

ITEMS = "items"
"""What messages call the rankings that are ranked again; there, scores say how relevant an item is."""


@dataclass
class _Rows:
    """Rows gathered from mappings, before they are numbered."""

    query: list[str | int]
    ranking: list[int]
    item: list[object]
    score: list[float] | None
    rank: list[int]

    def place(self, row: int) -> str:
        return f"query {self.query[row]!r}, rank {self.rank[row]}"


def mapping_rows(value: Mapping[Any, Any], name: str, faults: Faults) -> _Rows:
    """Query → items, lists of items, or item → score."""
    rows = _Rows([], [], [], [], [])
    scores: list[float] = []
    without: list[str] = []
    for query, (key, listed) in zip(query_ids(value, name, faults), value.items(), strict=True):
        where = f"query {key!r}"
        if isinstance(listed, Mapping):
            ordered = sorted(listed.items(), key=lambda pair: -as_number(pair[1]))
            values = [as_number(score) for _, score in ordered]
            scores += [value if np.isfinite(value) else 0.0 for value in values]
            for item, score in ordered:
                if not np.isfinite(as_number(score)):
                    faults.add(name, "score is not a finite number:", f"{where}, item {item!r}", score)
            rankings = [[item for item, _ in ordered]]
        elif not _is_listed(listed):
            raise WrongTypeError(listed, f"ranking of {where}", "a list of items, or a dict of item → score")
        else:
            without.append(where)
            found = list(listed)
            is_many = bool(found) and all(isinstance(one, (list, tuple, np.ndarray)) for one in found)
            rankings = [list(one) for one in found] if is_many else [found]
        for number, ranking in enumerate(rankings):
            if not ranking:
                faults.add(name, "no item is ranked", where if len(rankings) == 1 else f"{where}, ranking {number + 1}")
            rows.query += [query] * len(ranking)
            rows.ranking += [number] * len(ranking)
            rows.item += [one.item() if isinstance(one, np.generic) else one for one in ranking]
            rows.rank += range(1, len(ranking) + 1)
    rows.score = scores if scores and not without else None
    if name == ITEMS and scores:
        for where in without:
            faults.add(name, "no scores, where other queries have them", where)
    return rows


def _is_listed(value: object) -> bool:
    """Whether a value lists items in an order."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Set))


def query_ids(value: Mapping[Any, Any], name: str, faults: Faults) -> list[Any]:
    """The keys of a mapping as ids of queries; a missing one, or a mixture of both kinds, is a fault."""
    keys = np.empty(len(value), object)
    keys[:] = [one.item() if isinstance(one, np.generic) else one for one in value]
    ids = ids_of(keys, ItemTable(name, {}, row_word="entry"), "query", faults)
    return cast("list[Any]", present(ids))


def rankings_from_rows(rows: _Rows, name: str, items: Vocabulary, faults: Faults) -> RankedItems:
    table = PlacedTable(name, {}, where=rows.place)
    column = np.empty(len(rows.item), object)
    column[:] = rows.item
    ids = ids_of(column, table, "item", faults)
    queries = Vocabulary.empty()
    query = queries.encode(rows.query)
    scores = None if rows.score is None else np.array(rows.score)
    ranking = np.array(rows.ranking, np.intp)
    encoded, system = items.encode(present(ids)), np.zeros(len(query), np.intp)
    return ranked_items((name,), system, queries, query, ranking, ids, encoded, scores, table, faults)
