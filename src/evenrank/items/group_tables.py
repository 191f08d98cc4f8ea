"""Groups from tables: long ones (item, group, share), wide ones of shares, and wide ones of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.items.columns import LARGEST, ids_of, numbers_of, present
from evenrank.items.faults import SHOWN_PER_KIND, Faults
from evenrank.items.group_cells import group_name, is_several, shares_of_items
from evenrank.items.item_shares import ItemShares
from evenrank.items.tables import ItemTable, Objects
from evenrank.items.text_numbers import ArrowTexts
from evenrank.items.vocabulary import Vocabulary

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


def _is_number(text: object) -> bool:
    try:
        float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _check_twice(table: ItemTable, encoded: NDArray[np.intp], ids: Objects, faults: Faults) -> None:
    if np.bincount(encoded).max(initial=0) <= 1:
        return
    _, first = np.unique(encoded, return_index=True)
    is_first = np.zeros(len(encoded), bool)
    is_first[first] = True
    rows = [row for row in np.flatnonzero(~is_first).tolist() if ids[row] is not None]
    faults.add_rows(table, "item appears twice:", rows, ids, "keep one of them")


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
    code = (key * (int(encoded.max(initial=0)) + 1) + encoded) * len(names) + group
    order = np.argsort(code, kind="stable")
    again = np.sort(order[1:][np.diff(code[order]) == 0])
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
