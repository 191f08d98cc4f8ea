"""Rankings in many forms → arrays: systems, queries and items by number, ranking after ranking."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from numbers import Number
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, WrongTypeError, listed
from evenrank.io.columns import Faults, as_number, ids_of, numbers_of, present, repeated_rows
from evenrank.io.runs import run_name
from evenrank.io.tables import (
    ONLY_QUERY,
    QRELS_COLUMNS,
    ItemTable,
    Objects,
    as_table,
    from_series,
    from_to_dict,
    is_series,
    read_item_table,
)
from evenrank.io.vocabulary import ArrowTexts, Ints, Vocabulary, number_names


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
    key = number * (int(items.max(initial=0)) + 1) + items
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    rows = [row for row in repeated_rows(key).tolist() if ids[row] is not None]
    faults.add_rows(table, "item appears twice in one ranking:", rows, ids, "keep one of them")


def named(part: RankedItems, name: str) -> RankedItems:
    systems = (name,) if len(part.systems) == 1 else tuple(f"{name} {one}" for one in part.systems)
    return replace(part, systems=systems)


def join_rankings(parts: Sequence[RankedItems]) -> RankedItems:
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
    for query, (key, given) in zip(query_ids(value, name, faults), value.items(), strict=True):
        where = f"query {key!r}"
        if isinstance(given, Mapping):
            ordered = sorted(given.items(), key=lambda pair: -as_number(pair[1]))
            values = [as_number(score) for _, score in ordered]
            scores += [value if np.isfinite(value) else 0.0 for value in values]
            for item, score in ordered:
                if not np.isfinite(as_number(score)):
                    faults.add(name, "score is not a finite number:", f"{where}, item {item!r}", score)
            rankings = [[item for item, _ in ordered]]
        elif not _is_listed(given):
            wanted = "a list of items, or a dict of item → score"
            if all(isinstance(one, Number) and not isinstance(one, bool) for one in value.values()):
                wanted += (
                    f'; a dict of item → score is one ranking: put it into one of queries, {{"q": {{{key!r}: …}}}}'
                )
            raise WrongTypeError(given, f"ranking of {where}", wanted)
        else:
            without.append(where)
            found = list(given)
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


WANTED = "a dict of query → items, a data frame with the columns query and item, or a TREC run file"


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
            return join_rankings([_from_table(one, key, items, faults) for key, one in tables.items()])
        if value and all(_is_system(one) for one in value.values()):
            parts = [read_rankings(one, items, faults, str(key)) for key, one in value.items()]
            return join_rankings([named(part, str(key)) for part, key in zip(parts, value, strict=True)])
        return rankings_from_rows(mapping_rows(value, name, faults), name, items, faults)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return rankings_from_rows(mapping_rows(dict(enumerate(value.tolist())), name, faults), name, items, faults)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return rankings_from_rows(mapping_rows({ONLY_QUERY: list(value)}, name, faults), name, items, faults)
    raise WrongTypeError(value, name, WANTED)


def source_name(value: object, name: str) -> str:
    """What messages call rankings: their files, else `name`."""
    paths = list(value.values()) if isinstance(value, Mapping) else [value]
    return ", ".join(map(str, paths)) if all(isinstance(one, (str, os.PathLike)) for one in paths) and paths else name


def _is_system(value: object) -> bool:
    """Whether a value of a mapping is the rankings of a whole system: a table, or a mapping to lists."""
    value = from_to_dict(value)
    if isinstance(value, Mapping):
        return bool(value) and all(not isinstance(one, Number) for one in value.values())
    return hasattr(value, "columns")


def _from_table(table: ItemTable, system: str, items: Vocabulary, faults: Faults) -> RankedItems:
    if table.columns.keys() == set(QRELS_COLUMNS):
        problem = f"{table.name}: judgments (query, iteration, item, grade), where rankings are expected"
        raise EvenrankError(f"{problem} (are the run and the qrels swapped?)")
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
    placed = PlacedTable(table.name, {}, where=lambda row: table.place(int(order[row])))
    found = ranked_items(
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
    return replace(found, notes=_order_notes(table)) if scores is None else found


def _order_notes(table: ItemTable) -> tuple[str, ...]:
    """A note where rows keep their order although the table may well have a score under another name."""
    others = table.without_meaning()
    if table.get("rank") is not None or not others:
        return ()
    unused = listed([name[:60] for name in others], 5)
    return (f"{table.name}: no column score or rank, so items are ranked as they are listed (not used: {unused})",)


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
