"""Rankings in many forms → arrays; those of tables are put in order."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import WrongTypeError, listed
from evenrank.io.runs import run_name
from evenrank.items.columns import ids_of, numbers_of, present
from evenrank.items.faults import Faults
from evenrank.items.mapped_rankings import mapping_rows, rankings_from_rows
from evenrank.items.ranked_items import PlacedTable, RankedItems, joined, named, ranked_items
from evenrank.items.tables import (
    ONLY_QUERY,
    ItemTable,
    as_table,
    from_series,
    from_to_dict,
    is_series,
    read_item_table,
)
from evenrank.items.text_numbers import ArrowTexts
from evenrank.items.vocabulary import Ints, Vocabulary, number_names

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
            return joined([_from_table(one, key, items, faults) for key, one in tables.items()])
        if value and all(_is_system(one) for one in value.values()):
            parts = [read_rankings(one, items, faults, str(key)) for key, one in value.items()]
            return joined([named(part, str(key)) for part, key in zip(parts, value, strict=True)])
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
