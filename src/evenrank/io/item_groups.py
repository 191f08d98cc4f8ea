"""Groups of items in many forms → groupings: dicts, long tables (item, group, share), wide ones of shares or names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Number
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError, WrongTypeError
from evenrank.io.columns import (
    LARGEST,
    SHOWN_PER_KIND,
    Faults,
    as_number,
    ids_of,
    is_missing,
    numbers_of,
    present,
    repeated_rows,
)
from evenrank.io.groupings import UNKNOWN, Groupings, ItemShares, grouping_of
from evenrank.io.tables import ItemTable, Objects, as_table, is_series
from evenrank.io.vocabulary import ArrowTexts, Vocabulary


def group_name(value: object) -> str | None:
    """The name of a group; None for the unknown one: nothing, NaN, an empty text, or `unknown`."""
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return text if text and text.casefold() != UNKNOWN else None


def shares_of_items(items: Iterable[tuple[int, object, str]], name: str, faults: Faults) -> ItemShares:
    """Shares from items by number, the group, groups or shares of each, and its place for messages."""
    rows: list[tuple[int, str | None, float]] = []
    for item, groups, place in items:
        for group, share in _shares_of(groups):
            number = as_number(share)
            if not 0.0 <= number <= LARGEST:
                is_large = LARGEST < number < float("inf")
                kind = f"share is above {LARGEST:g}:" if is_large else "share is not a number of at least 0:"
                faults.add(name, kind, f"{place}, group {group!r}", share)
            elif is_several(group):
                faults.add(name, "group is neither a name nor a number:", place, group)
            else:
                rows.append((item, group_name(group), number))
    names = list(dict.fromkeys(group for _, group, _ in rows))
    number_of = {name: at for at, name in enumerate(names)}
    return ItemShares(
        np.array([item for item, _, _ in rows], np.intp),
        np.array([number_of[group] for _, group, _ in rows], np.intp),
        np.array([share for *_, share in rows], np.float64),
        names,
    )


def is_several(value: object) -> bool:
    """Whether a value is several groups: a list of them, or a dict of shares."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike))


def _shares_of(groups: object) -> list[tuple[object, object]]:
    """Groups of an item with shares: equal ones where only names are given."""
    if isinstance(groups, Mapping):
        return list(groups.items())
    if not is_several(groups):
        return [(groups, 1.0)]
    listed = list(groups)  # type: ignore[call-overload]
    return [(group, 1.0 / len(listed)) for group in listed]


Name = TypeVar("Name", str, str | None)
MAX_NAMES = 1 << 16
"""Different groups of one grouping."""


def table_columns(table: ItemTable, items: Vocabulary, faults: Faults) -> dict[str, ItemShares]:
    """Long tables (item, group, share), wide ones of shares (numbers), and wide ones of names."""
    column = table.find("item")
    ids = ids_of(table.need("item"), table, "item", faults)
    encoded = items.encode(present(ids))
    if table.get("group") is not None and (table.get("share") is not None or table.get("grouping") is not None):
        return _long_columns(table, encoded, ids, faults)
    others = {key: values for key, values in table.columns.items() if key != column}
    _check_twice(table, encoded, ids, faults)
    if others and all(_are_shares(values) for values in others.values()):
        is_one = len(others) == 1  # shares of a single group would say nothing
        if not (is_one and all(map(_are_codes, others.values()))):
            return {"group": _wide_shares(table, others, encoded, faults)}
    return {key: _names(values, encoded, table, key, faults) for key, values in others.items()}


def _are_shares(values: Any) -> bool:
    """Whether a column holds shares and not names: fractions as numbers, or as the text of a file."""
    if values.dtype.kind in "fb":
        return True
    if values.dtype.kind != "O" or not len(values) or not _is_number(values[0]):
        return False
    if not all(isinstance(one, str) for one in values.tolist()):
        return False
    try:
        [float(one) for one in values.tolist()]
    except ValueError:
        return False
    return any("." in one for one in values.tolist())


def _are_codes(values: Any) -> bool:
    """Whether a column of numbers that would be shares has whole ones only, as pandas writes codes of groups of which
    some are missing."""
    numbers = np.asarray(values, np.float64)
    known = numbers[~np.isnan(numbers)]
    return bool(len(known) and np.isfinite(known).all() and (known == np.floor(known)).all())


def _is_number(text: object) -> bool:
    try:
        float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _check_twice(table: ItemTable, encoded: NDArray[np.intp], ids: Objects, faults: Faults) -> None:
    if np.bincount(encoded).max(initial=0) <= 1:
        return
    rows = [row for row in repeated_rows(encoded).tolist() if ids[row] is not None]
    several = "; an item of several groups has a column `share` or `grouping`" if table.get("group") is not None else ""
    faults.add_rows(table, "item appears twice:", rows, ids, f"keep one of them{several}")


def _long_columns(table: ItemTable, encoded: NDArray[np.intp], ids: Objects, faults: Faults) -> dict[str, ItemShares]:
    names, group = _numbered(table.need("group").tolist(), group_name, table, faults)
    groupings = table.get("grouping")
    keys, key = (
        (["group"], np.zeros_like(group)) if groupings is None else _numbered(groupings.tolist(), str, table, faults)
    )
    column = table.get("share")
    shares = (
        np.ones(len(group)) if column is None else numbers_of(column, table, "share", faults, low=0.0, high=LARGEST)
    )
    again = repeated_rows((key * (int(encoded.max(initial=0)) + 1) + encoded) * len(names) + group)
    found = {row: f"{ids[row]}, {names[group[row]]}" for row in again[:SHOWN_PER_KIND].tolist()}
    faults.add_rows(table, "item is listed twice in one group:", again, found)
    columns = {}
    for number, name in enumerate(keys):
        rows = np.flatnonzero(key == number)
        own, place = np.unique(group[rows], return_inverse=True)
        columns[name] = ItemShares(encoded[rows], place.reshape(-1), shares[rows], [names[one] for one in own.tolist()])
    return columns


def _numbered(
    values: list[Any], name_of: Callable[[object], Name], table: ItemTable, faults: Faults
) -> tuple[list[Name], NDArray[np.intp]]:
    """The different names of values, which mostly repeat, and the place of each value's among them."""
    try:
        distinct = dict.fromkeys(values)
    except TypeError:
        wrong = {row for row, value in enumerate(values) if not _is_hashable(value)}
        faults.add_rows(table, "group is neither a text nor a number:", sorted(wrong), values)
        values = [None if row in wrong else value for row, value in enumerate(values)]
        distinct = dict.fromkeys(values)
    if len(distinct) > MAX_NAMES:
        found = f"{table.name}: {len(distinct):,} different groups of one grouping are too many"
        raise EvenrankError(f"{found} (give up to {MAX_NAMES:,}; is every column a grouping?)")
    name_by_value = {value: name_of(value) for value in distinct}
    names = list(dict.fromkeys(name_by_value.values()))
    place = {name: at for at, name in enumerate(names)}
    place_of = {value: place[name] for value, name in name_by_value.items()}
    return names, np.fromiter(map(place_of.__getitem__, values), np.intp, len(values))


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _wide_shares(
    table: ItemTable, others: dict[str, NDArray[Any]], encoded: NDArray[np.intp], faults: Faults
) -> ItemShares:
    shares = [
        numbers_of(values, table, f"share of {key}", faults, low=0.0, high=LARGEST) for key, values in others.items()
    ]
    group = np.repeat(np.arange(len(others)), len(encoded))
    return ItemShares(np.tile(encoded, len(others)), group, np.concatenate(shares), list(others))


def _names(values: Any, encoded: NDArray[np.intp], table: ItemTable, key: str, faults: Faults) -> ItemShares:
    """One group of each item; or its groups, where cells are lists, or dicts of shares."""
    if isinstance(values, ArrowTexts):
        texts, group = values.numbered()
        return ItemShares(encoded, group, np.ones(len(encoded)), [group_name(one) for one in texts])
    listed = values.tolist()
    if values.dtype.kind == "O" and any(is_several(one) for one in listed):
        places = (f"{table.place(row)}, {key}" for row in range(len(listed)))
        return shares_of_items(zip(encoded.tolist(), listed, places, strict=True), table.name, faults)
    names, group = _numbered(listed, group_name, table, faults)
    return ItemShares(encoded, group, np.ones(len(encoded)), names)


MAX_GROUPINGS = 16
"""Groupings that are measured together, over the intersections of their groups."""
WANTED = "a dict of item → group, a data frame with the column item and one column per grouping, or a CSV file"


def read_groups(value: object, items: Vocabulary, faults: Faults, name: str = "groups") -> Groupings:
    """The groups of items; items that no table lists are unknown. New items are added to the vocabulary."""
    if is_series(value) and hasattr(value, "index"):  # of pandas: item → group
        value = dict(zip(value.index.tolist(), value, strict=True))
    table = as_table(value, name)
    if table is not None:
        columns = table_columns(table, items, faults)
    elif isinstance(value, Mapping):
        columns = _mapping_columns(value, items, name, faults)
    else:
        raise WrongTypeError(value, "groups", WANTED)
    name = name if table is None else table.name
    if not columns:
        raise EvenrankError(f"{name}: no grouping is given (add a column that names the group of each item)")
    if len(columns) > MAX_GROUPINGS:
        found = f"{name}: {len(columns):,} groupings, where up to {MAX_GROUPINGS} are measured together"
        raise EvenrankError(f"{found} (leave some columns out)")
    if not any(len(column.item) for column in columns.values()) and not faults.rows:
        raise EvenrankError(f"{name}: no item is listed (name the group of each item)")
    return Groupings(tuple(grouping_of(key, column, len(items)) for key, column in columns.items()))


def _mapping_columns(value: Mapping[Any, Any], items: Vocabulary, name: str, faults: Faults) -> dict[str, ItemShares]:
    """Item → group, groups or shares; or grouping → such a mapping."""
    if value and all(_is_grouping(one) for one in value.values()):
        return {str(key): _mapping_shares(one, items, f"{name}, {key}", faults) for key, one in value.items()}
    return {"group": _mapping_shares(value, items, name, faults)}


def _is_grouping(value: object) -> bool:
    """Whether a value of a mapping is a mapping of items, and not the shares of one item, which are numbers."""
    return isinstance(value, Mapping) and not all(isinstance(one, Number) for one in value.values())


def _mapping_shares(value: Mapping[Any, Any], items: Vocabulary, name: str, faults: Faults) -> ItemShares:
    keys = np.empty(len(value), object)
    keys[:] = list(value)
    ids = ids_of(keys, ItemTable(name, {}, row_word="entry"), "item", faults)
    encoded = items.encode(present(ids))
    places = (f"item {key!r}" for key in value)
    return shares_of_items(zip(encoded.tolist(), value.values(), places, strict=True), name, faults)
