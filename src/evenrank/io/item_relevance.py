"""Graded relevance in many forms → arrays of query, item and grade, sorted for looking up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.errors import EvenrankError, WrongTypeError
from evenrank.io.columns import LARGEST, Faults, as_number, ids_of, numbers_of, present, repeated_rows
from evenrank.io.rankings import query_ids
from evenrank.io.tables import ONLY_QUERY, ItemTable, as_table, from_series, from_to_dict, is_series
from evenrank.io.vocabulary import ArrowTexts, Vocabulary, number_names

WANTED = "a dict of query → items or item → grade, a data frame with the columns query and item, or a qrels file"
Ints = NDArray[np.intp]
Ids: TypeAlias = list[Any] | ArrowTexts


@dataclass(frozen=True)
class RelevantItems:
    """Items that are relevant, with a grade above 0, sorted by query and item number."""

    query: Ints
    item: Ints
    grade: Floats
    other_query: Ints = field(default_factory=lambda: np.empty(0, np.intp))
    """Query of each item that was judged not to be relevant."""
    other_item: Ints = field(default_factory=lambda: np.empty(0, np.intp))

    @property
    def says_judged(self) -> bool:
        """Whether items that are not relevant are listed too, so that those which are left out were not judged."""
        return len(self.other_query) > 0

    def is_judged(self, query: Ints, item: Ints, n_items: int) -> NDArray[np.bool_]:
        """Whether each pair of query and item was judged; all were where only relevant items are listed."""
        if not self.says_judged:
            return np.ones(len(query), bool)
        queries, items = np.append(self.query, self.other_query), np.append(self.item, self.other_item)
        return np.isin(query * n_items + item, queries * n_items + items)

    def of(self, query: Ints, item: Ints, n_items: int) -> Floats:
        """The grade of each pair of query and item; 0 where nothing is said."""
        keys = self.query * n_items + self.item
        wanted = query * n_items + item
        at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        return np.where(keys[at] == wanted, self.grade[at], 0.0) if len(keys) else np.zeros(len(wanted))


def read_relevance(
    value: object, queries: Vocabulary, items: Vocabulary, faults: Faults, name: str = "relevance"
) -> RelevantItems:
    """Grades of items; those of 0 and below are not relevant. New queries and items are added to the vocabularies."""
    value = from_series(value) if is_series(value) else from_to_dict(value)
    table = as_table(value, name)
    if table is not None:
        query_ids, item_ids, grades = _table_parts(table, faults)
    elif isinstance(value, Mapping):
        query_ids, item_ids, grades = _mapping_parts(value, name, faults)
    else:
        raise WrongTypeError(value, "relevance", WANTED)
    query = number_names(query_ids, queries)
    item = items.encode(item_ids)
    if table is not None:
        _check_twice(table, query, item, item_ids, faults)
    order = np.lexsort([item, query])
    is_relevant = grades[order] > 0.0
    kept, others = order[is_relevant], order[~is_relevant]
    return RelevantItems(query[kept], item[kept], grades[kept], query[others], item[others])


def _table_parts(table: ItemTable, faults: Faults) -> tuple[Ids, Ids, Floats]:
    if table.get("rank") is not None and table.get("score") is not None and table.get("grade") is None:
        found = f"{table.name}: rankings (with rank and score, without grade), where relevance is expected"
        raise EvenrankError(f"{found} (are the run and the qrels swapped?)")
    ids = ids_of(table.need("item"), table, "item", faults)
    column = table.get("query")
    query: Ids = [ONLY_QUERY] * len(ids)
    if column is not None:
        query = present(ids_of(column, table, "query", faults))
    grade = table.get("grade")
    grades = np.ones(len(ids)) if grade is None else numbers_of(grade, table, "grade", faults, high=LARGEST)
    return query, present(ids), grades


def _check_twice(table: ItemTable, query: Ints, item: Ints, names: Ids, faults: Faults) -> None:
    """A fault for every row that judges an item for a query again."""
    key = query * (int(item.max(initial=0)) + 1) + item
    rows = [row for row in repeated_rows(key).tolist() if names[row] != ""]
    faults.add_rows(table, "item is judged twice for one query:", rows, names)


def _mapping_parts(value: Mapping[Any, Any], name: str, faults: Faults) -> tuple[Ids, Ids, Floats]:
    if value and all(isinstance(one, Number) for one in value.values()):
        value = {ONLY_QUERY: value}
    query: list[Any] = []
    item: list[Any] = []
    grades: list[float] = []
    for query_id, (key, judged) in zip(query_ids(value, name, faults), value.items(), strict=True):
        pairs = _pairs(judged, key)
        for one, grade in pairs:
            if grade > LARGEST or not np.isfinite(grade):
                kind = f"grade is above {LARGEST:g}:" if np.isfinite(grade) else "grade is not a finite number:"
                faults.add(name, kind, f"query {key!r}, item {one!r}", grade)
        query += [query_id] * len(pairs)
        item += [one for one, _ in pairs]
        grades += [grade if np.isfinite(grade) else 0.0 for _, grade in pairs]
    column = np.empty(len(item), object)
    column[:] = item
    table = ItemTable(name, {}, row_word="entry")
    ids = ids_of(column, table, "item", faults)
    return query, present(ids), np.array(grades)


def _pairs(judged: object, query: object) -> list[tuple[Any, float]]:
    if isinstance(judged, Mapping):
        return [(item, as_number(grade)) for item, grade in judged.items()]
    if isinstance(judged, str) or not isinstance(judged, Iterable):
        raise WrongTypeError(
            judged, f"relevance of query {query!r}", "a list of relevant items, or a dict of item → grade"
        )
    listed = list(judged)
    with suppress(TypeError):  # what has no hash is no id, and reported with the others
        listed = list(dict.fromkeys(listed))
    return [(item, 1.0) for item in listed]
