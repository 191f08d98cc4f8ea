"""Rankings in many forms → arrays: systems, queries and items by number, ranking after ranking."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count, islice
from numbers import Number
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evenrank.formats.runs import run_name
from evenrank.items.tables import (
    ONLY_QUERY,
    Faults,
    ItemTable,
    Objects,
    as_number,
    as_table,
    from_series,
    from_to_dict,
    ids_of,
    is_series,
    numbers_of,
    present,
    read_item_table,
    unreadable,
)
from evenrank.items.text_numbers import MANY, ArrowTexts, TextNumbers

ITEMS = "items"
"""What messages call the rankings that are ranked again; there, scores say how relevant an item is."""
WANTED = "a dict of query → items, a data frame with the columns query and item, or a TREC run file"
Ints = NDArray[np.intp]


def _numbering(known: Mapping[str | int, int]) -> defaultdict[str | int, int]:
    """A dict that numbers its keys as they come, in one pass and without a line of Python for each."""
    return defaultdict(count(len(known)).__next__, known)


@dataclass
class Vocabulary:
    """Ids by number, in the order of their first appearance.

    Tables may have integers for the ids that are text in another one (a file knows text alone): then integers are
    compared as text.
    """

    numbers: defaultdict[str | int, int] = field(default_factory=lambda: _numbering({}))
    """Id → number; an id that is looked up for the first time gets the next one."""
    listed: list[Any] = field(default_factory=list)
    """The ids by number, while `texts` does not number them."""
    kinds: set[type] = field(default_factory=set)
    is_text: bool = False
    """Whether the keys of `numbers` are text whatever the ids are, because there were both kinds."""
    texts: TextNumbers | None = None
    """Numbers the ids in place of `numbers` while all of them are text and there are many."""

    @classmethod
    def empty(cls) -> Vocabulary:
        return cls()

    @property
    def names(self) -> list[Any]:
        """The ids by number."""
        if self.texts is not None and len(self.listed) < self.texts.n_texts:
            self.listed = self.texts.names()
        return self.listed

    def encode(self, ids: Iterable[str | int] | ArrowTexts) -> Ints:
        """The numbers of ids; new ones are added."""
        given = ids if isinstance(ids, (list, ArrowTexts)) else list(ids)
        self.kinds |= {str} if isinstance(given, ArrowTexts) else set(map(type, given))
        if self.kinds <= {str} and (self.texts is not None or (len(given) >= MANY and not self.listed)):
            self.texts = self.texts or TextNumbers()
            if (numbered := self.texts.encode(cast("list[str]", given))) is not None:
                return numbered
        return self._encode_singly(given.tolist() if isinstance(given, ArrowTexts) else given)

    def _encode_singly(self, ids: list[Any]) -> Ints:
        if self.texts is not None:
            self.numbers = _numbering({name: number for number, name in enumerate(self.names)})
            self.texts = None
        if len(self.kinds) > 1 and not self.is_text:
            self.is_text = True
            self.numbers = _numbering({str(key): number for key, number in self.numbers.items()})
        keys: list[str | int] = list(map(str, ids)) if self.is_text else ids
        found = np.fromiter(map(self.numbers.__getitem__, keys), np.intp, len(keys))
        fresh = list(islice(self.numbers, len(self.listed), None))
        given = dict(zip(keys, ids, strict=True)) if self.is_text and fresh else {}
        self.listed += [given[key] for key in fresh] if self.is_text else fresh
        return found

    def get(self, one: str | int) -> int | None:
        """The number of an id; None when it is unknown. An integer and its text are the same id."""
        spellings = (one, str(one), int(one) if isinstance(one, str) and one.isdecimal() else one)
        if self.texts is not None:
            return next((at for at, name in enumerate(self.names) if name in spellings), None)
        return next((self.numbers[key] for key in spellings if key in self.numbers), None)

    def __len__(self) -> int:
        return len(self.listed) if self.texts is None else self.texts.n_texts


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

    @property
    def starts(self) -> Ints:
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.intp)


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


def read_rankings(value: object, items: Vocabulary, faults: Faults, name: str = "rankings") -> RankedItems:
    """Rankings of one system or of several; every fault is added with its place."""
    value = from_series(value) if is_series(value) else from_to_dict(value)
    table = as_table(value, name)
    if table is not None:
        system = run_name(value) if isinstance(value, (str, os.PathLike)) else name
        return _from_table(table, system, items, faults)
    if isinstance(value, Mapping):
        if value and all(isinstance(one, (str, os.PathLike)) for one in value.values()):
            tables = {str(key): read_item_table(Path(path)) for key, path in value.items()}
            return _joined([_from_table(one, key, items, faults) for key, one in tables.items()])
        if value and all(_is_system(one) for one in value.values()):
            parts = [read_rankings(one, items, faults, str(key)) for key, one in value.items()]
            return _joined([_named(part, str(key)) for part, key in zip(parts, value, strict=True)])
        return _from_rows(_mapping_rows(value, name, faults), name, items, faults)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return _from_rows(_mapping_rows(dict(enumerate(value.tolist())), name, faults), name, items, faults)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return _from_rows(_mapping_rows({ONLY_QUERY: list(value)}, name, faults), name, items, faults)
    raise unreadable(value, name, WANTED)


def _is_system(value: object) -> bool:
    """Whether a value of a mapping is the rankings of a whole system: a table, or a mapping to lists."""
    value = from_to_dict(value)
    if isinstance(value, Mapping):
        return bool(value) and all(not isinstance(one, Number) for one in value.values())
    return hasattr(value, "columns")


def _mapping_rows(value: Mapping[Any, Any], name: str, faults: Faults) -> _Rows:
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
            raise unreadable(listed, f"ranking of {where}", "a list of items, or a dict of item → score")
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


def _from_rows(rows: _Rows, name: str, items: Vocabulary, faults: Faults) -> RankedItems:
    table = _PlacedTable(name, {}, where=rows.place)
    column = np.empty(len(rows.item), object)
    column[:] = rows.item
    ids = ids_of(column, table, "item", faults)
    queries = Vocabulary.empty()
    query = queries.encode(rows.query)
    scores = None if rows.score is None else np.array(rows.score)
    ranking = np.array(rows.ranking, np.intp)
    encoded, system = items.encode(present(ids)), np.zeros(len(query), np.intp)
    return _built((name,), system, queries, query, ranking, ids, encoded, scores, table, faults)


@dataclass(frozen=True)
class _PlacedTable(ItemTable):
    """A table whose rows have places of their own: they came from a mapping, or were sorted."""

    where: Callable[[int], str] = str

    def place(self, row: int) -> str:
        return self.where(row)


def _from_table(table: ItemTable, system: str, items: Vocabulary, faults: Faults) -> RankedItems:
    ids = ids_of(table.need("item"), table, "item", faults)
    column = table.get("query")
    queries = Vocabulary.empty()
    if column is None:
        query = queries.encode([ONLY_QUERY] * len(ids))
    else:
        query = number_names(present(ids_of(column, table, "query", faults)), queries)
    names = table.get("system")
    is_run_file = table.row_word == "line"
    systems = Vocabulary.empty()
    of_system = np.zeros(len(ids), np.intp)
    if names is not None and not is_run_file:
        of_system = number_names(_texts(names, table, "system", faults), systems)
    repeats = table.get("ranking")
    ranking = np.zeros(len(ids), np.intp)
    if repeats is not None:
        ranking = number_names(_texts(repeats, table, "ranking", faults), Vocabulary.empty())
    scores = table.get("score")
    values = None if scores is None else numbers_of(scores, table, "score", faults)
    order = _order(table, values, of_system, query, ranking, faults)
    encoded = items.encode(present(ids))
    placed = _PlacedTable(table.name, {}, where=lambda row: table.place(int(order[row])))
    return _built(
        tuple(map(str, systems.names)) or (system,),
        of_system[order],
        queries,
        query[order],
        ranking[order],
        ids[order],
        encoded[order],
        None if values is None else values[order],
        placed,
        faults,
    )


def _texts(column: Any, table: ItemTable, what: str, faults: Faults) -> list[str] | ArrowTexts:
    """Names of systems or rankings, which may be numbers, as text."""
    names = present(ids_of(column, table, what, faults))
    return names if isinstance(names, ArrowTexts) else list(map(str, names))


def _order(
    table: ItemTable, scores: NDArray[np.float64] | None, system: Ints, query: Ints, ranking: Ints, faults: Faults
) -> Ints:
    """Rows ranking by ranking: by score, else by rank, else as they are; equal ones as they are."""
    ranks = table.get("rank")
    keys: list[NDArray[Any]] = []
    if ranks is not None:
        keys.append(numbers_of(ranks, table, "rank", faults))
    if scores is not None and (ranks is None or table.row_word == "line"):
        keys.append(-scores)
    order = np.arange(len(query))
    for key in (*keys, *map(_narrow, (ranking, query, system))):  # the last one decides first: stable sorts
        ordered = key[order]
        if (ordered[1:] < ordered[:-1]).any():
            order = order[_stable_order(ordered)]
    return order


def _stable_order(values: NDArray[Any]) -> Ints:
    """The order of values, equal ones as they are. Floats are sorted by numpy's fastest sort, and then equal ones."""
    if values.dtype.kind != "f":
        return np.argsort(values, kind="stable")
    order = np.argsort(values)
    ordered = values[order]
    is_equal = ordered[1:] == ordered[:-1]
    if is_equal.any():
        run = np.cumsum(np.concatenate([[0], ~is_equal]))
        rows = np.flatnonzero(np.concatenate([is_equal, [False]]) | np.concatenate([[False], is_equal]))
        order[rows] = np.sort(run[rows] * len(order) + order[rows]) % len(order)
    return order


def _narrow(numbers: Ints) -> NDArray[Any]:
    """Numbers in the narrowest type that holds them: those of 16 bits are sorted without comparing them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False)


def number_names(names: list[Any] | ArrowTexts, known: Vocabulary) -> Ints:
    """The numbers of names that mostly repeat; new ones are added."""
    if isinstance(names, ArrowTexts):
        listed, places = names.numbered()
        return known.encode(listed)[places]
    distinct: dict[Any, None] = {}
    for start in range(0, len(names), MANY):
        distinct.update(dict.fromkeys(names[start : start + MANY]))
        if len(distinct) >= max(MANY, len(names) // 4):  # a dict of all would take most of the memory
            return known.encode(names)
    number = dict(zip(distinct, known.encode(list(distinct)).tolist(), strict=True))
    return np.fromiter(map(number.__getitem__, names), np.intp, len(names))


def _built(
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
    faults.add_rows(table, "item appears twice in one ranking:", rows, ids)


def _named(part: RankedItems, name: str) -> RankedItems:
    systems = (name,) if len(part.systems) == 1 else tuple(f"{name} {one}" for one in part.systems)
    return RankedItems(systems, part.queries, part.system, part.query, part.lengths, part.items, part.scores)


def _joined(parts: Sequence[RankedItems]) -> RankedItems:
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
    )
