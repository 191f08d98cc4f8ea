"""Groups of items in many forms → for each grouping a matrix of shares, item by group, unknown first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.alignment import Alignment, distinct_codes
from evenrank.alignment.groups import Dimension, GroupSpace
from evenrank.errors import EvenrankError
from evenrank.items.rankings import Vocabulary
from evenrank.items.tables import (
    LARGEST,
    SHOWN_PER_KIND,
    Faults,
    ItemTable,
    Objects,
    as_number,
    as_table,
    ids_of,
    is_missing,
    is_series,
    numbers_of,
    present,
    unreadable,
)
from evenrank.items.text_numbers import ArrowTexts
from evenrank.types import Floats

Name = TypeVar("Name", str, str | None)
UNKNOWN = "unknown"
"""Name of the group of items without one; it counts neither in exposure nor in targets."""
MAX_GROUPINGS = 16
"""Groupings that are measured together, over the intersections of their groups."""
MAX_NAMES = 1 << 16
"""Different groups of one grouping."""
MAX_SHARES = 1 << 24
"""Shares of kinds of items in groups, or in their intersections, that are held at once: 128 MiB."""
WANTED = "a dict of item → group, a data frame with the column item and one column per grouping, or a CSV file"


@dataclass(frozen=True, slots=True)
class ItemDimension(Dimension):
    """A dimension of items that are not packed into masks, so that it may have any number of groups."""

    def __post_init__(self) -> None:
        return


@dataclass(frozen=True)
class Grouping:
    """One attribute along which items fall into groups."""

    name: str
    groups: tuple[str, ...]
    """Names of the known groups."""
    alignment: Alignment
    """Shares of each item by number; group 0 is unknown, rows sum to 1."""

    def dimension(self) -> Dimension:
        """As policies know it, all groups being equally large in the world."""
        n_groups = max(1, len(self.groups))
        return ItemDimension(
            name=self.name,
            field=self.name,
            groups=(UNKNOWN, *self.groups),
            background=(1.0 / n_groups,) * len(self.groups),
            encode=lambda value: 0,
            source="equal shares",
        )


@dataclass(frozen=True)
class Groupings:
    """All groupings, and the space of their intersections."""

    parts: tuple[Grouping, ...]

    @property
    def space(self) -> GroupSpace:
        return GroupSpace(tuple(part.dimension() for part in self.parts))

    def joint(self) -> Alignment:
        """Shares over intersections of groups; an item that is unknown in one grouping is unknown altogether.

        Group 0 is unknown. The share in an intersection is the product of the shares.
        """
        if len(self.parts) == 1:
            return self.parts[0].alignment
        rows = np.ones((1, 1))
        item_type = np.zeros(len(self.parts[0].alignment), np.intp)
        for part in self.parts:
            other = part.alignment
            codes = item_type * len(other.rows) + other.page_type
            pairs, item_type = distinct_codes(codes, len(rows) * len(other.rows))
            _refuse_large(len(pairs), rows.shape[1] * other.rows.shape[1])
            left, right = rows[pairs // len(other.rows)], other.rows[pairs % len(other.rows)]
            rows = (left[:, :, None] * right[:, None, :]).reshape(len(pairs), -1)
        return Alignment(_known_or_unknown(rows, self.space.shape), item_type)


def has_plain_rows(alignment: Alignment) -> bool:
    """Whether the rows are those of the identity: sums over kinds of items are sums over groups, without a product."""
    n_kinds, n_groups = alignment.rows.shape
    return bool(n_kinds == n_groups == np.count_nonzero(alignment.rows) and np.all(alignment.rows.diagonal() == 1.0))


def _refuse_large(n_kinds: int, n_cells: int) -> None:
    """EvenrankError where the shares of every kind of item in every group would fill the memory."""
    if n_kinds * n_cells > MAX_SHARES:
        found = f"groups: {n_kinds:,} kinds of items over {n_cells:,} groups or intersections of groups are too many"
        raise EvenrankError(f"{found} (leave some groupings out, or merge small groups)")


def _known_or_unknown(rows: Floats, shape: tuple[int, ...]) -> Floats:
    """The mass of intersections in which some grouping is unknown, moved to the fully unknown one in place."""
    is_known = np.ones(shape, bool)
    for axis in range(len(shape)):
        is_known[(slice(None),) * axis + (0,)] = False
    rows[:, ~is_known.reshape(-1)] = 0.0
    rows[:, 0] = 1.0 - rows.sum(axis=1)
    return rows


def read_groups(value: object, items: Vocabulary, faults: Faults, name: str = "groups") -> Groupings:
    """The groups of items; items that no table lists are unknown. New items are added to the vocabulary."""
    if is_series(value) and hasattr(value, "index"):  # of pandas: item → group
        value = dict(zip(value.index.tolist(), value, strict=True))
    table = as_table(value, name)
    if table is not None:
        columns = _table_columns(table, items, faults)
    elif isinstance(value, Mapping):
        columns = _mapping_columns(value, items, name, faults)
    else:
        raise unreadable(value, "groups", WANTED)
    name = name if table is None else table.name
    if not columns:
        raise EvenrankError(f"{name}: no grouping is given (add a column that names the group of each item)")
    if len(columns) > MAX_GROUPINGS:
        found = f"{name}: {len(columns):,} groupings, where up to {MAX_GROUPINGS} are measured together"
        raise EvenrankError(f"{found} (leave some columns out)")
    if not any(len(column.item) for column in columns.values()) and not faults.rows:
        raise EvenrankError(f"{name}: no item is listed (name the group of each item)")
    return Groupings(tuple(_grouping(key, column, len(items)) for key, column in columns.items()))


@dataclass
class _Shares:
    """Shares of one grouping as they come: item, group, share."""

    item: NDArray[np.intp]
    group: NDArray[np.intp]
    """Place of the group among `names`."""
    share: Floats
    names: list[str | None]

    @classmethod
    def of(
        cls, item: Sequence[int] | NDArray[np.intp], groups: Sequence[str | None], share: Sequence[float]
    ) -> _Shares:
        """Shares from the names of groups, which mostly repeat."""
        names = list(dict.fromkeys(groups))
        place = {name: at for at, name in enumerate(names)}
        group = np.fromiter(map(place.__getitem__, groups), np.intp, len(groups))
        return cls(np.asarray(item, np.intp), group, np.asarray(share, np.float64), names)


def _grouping(name: str, shares: _Shares, n_items: int) -> Grouping:
    """The matrix of shares, as distinct rows; what is missing to 1 is unknown, and rows above 1 are scaled."""
    groups = tuple(sorted({group for group in shares.names if group is not None}))
    number = {group: at for at, group in enumerate(groups, 1)} | {None: 0}
    item, share = shares.item, shares.share
    group = np.array([number[one] for one in shares.names], np.intp)[shares.group]
    if np.all(share == 1.0) and np.bincount(item).max(initial=0) <= 1:
        _refuse_large(len(groups) + 1, len(groups) + 1)
        kind = np.zeros(n_items, np.intp)
        kind[item] = group
        return Grouping(name, groups, Alignment(np.eye(len(groups) + 1), kind))
    listed, place = np.unique(item, return_inverse=True)
    place = place.reshape(-1)
    alike, first = _alike(place, group, share, len(listed))
    _refuse_large(len(first) + 1, len(groups) + 1)
    is_first = first[alike[place]] == place
    dense = np.zeros((len(first), len(groups) + 1))
    np.add.at(dense, (alike[place[is_first]], group[is_first]), share[is_first])
    dense /= np.maximum(dense.sum(axis=1, keepdims=True), 1.0)
    dense[:, 0] += 1.0 - dense.sum(axis=1)
    unknown = np.zeros((1, len(groups) + 1))
    unknown[0, 0] = 1.0
    rows, kind_of_dense = np.unique(np.concatenate([unknown, dense]), axis=0, return_inverse=True)
    kinds = kind_of_dense.reshape(-1)
    kind = np.full(n_items, kinds[0], np.intp)
    kind[listed] = kinds[1:][alike]
    return Grouping(name, groups, Alignment(rows, kind))


def _alike(
    place: NDArray[np.intp], group: NDArray[np.intp], share: Floats, n_items: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each item the number of its kind, items of the same shares being of one; and one item of each kind.

    Two sums of 64-bit hashes over the shares of an item decide it, so that no row has to be written out.
    """
    sums = []
    for multiplier in (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)):
        mixed = (share.view(np.uint64) ^ (group.astype(np.uint64) * multiplier)) * multiplier
        mixed = (mixed ^ (mixed >> np.uint64(31))) * multiplier
        total = np.zeros(n_items, np.uint64)
        np.add.at(total, place, mixed ^ (mixed >> np.uint64(29)))
        sums.append(total)
    order = np.lexsort(sums)
    is_new = np.ones(n_items, bool)
    is_new[1:] = (sums[0][order][1:] != sums[0][order][:-1]) | (sums[1][order][1:] != sums[1][order][:-1])
    kind = np.empty(n_items, np.intp)
    kind[order] = np.cumsum(is_new) - 1
    return kind, order[is_new]


def _table_columns(table: ItemTable, items: Vocabulary, faults: Faults) -> dict[str, _Shares]:
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
    faults.add_rows(table, "item appears twice:", rows, ids)


def _long_columns(table: ItemTable, encoded: NDArray[np.intp], ids: Objects, faults: Faults) -> dict[str, _Shares]:
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
        columns[name] = _Shares(encoded[rows], place.reshape(-1), shares[rows], [names[one] for one in own.tolist()])
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


def _of_triples(rows: Sequence[tuple[int, str | None, float]]) -> _Shares:
    return _Shares.of([item for item, _, _ in rows], [group for _, group, _ in rows], [share for *_, share in rows])


def _wide_shares(
    table: ItemTable, others: dict[str, NDArray[Any]], encoded: NDArray[np.intp], faults: Faults
) -> _Shares:
    shares = [
        numbers_of(values, table, f"share of {key}", faults, low=0.0, high=LARGEST) for key, values in others.items()
    ]
    group = np.repeat(np.arange(len(others)), len(encoded))
    return _Shares(np.tile(encoded, len(others)), group, np.concatenate(shares), list(others))


def _names(values: Any, encoded: NDArray[np.intp], table: ItemTable, key: str, faults: Faults) -> _Shares:
    """One group of each item; or its groups, where cells are lists, or dicts of shares."""
    if isinstance(values, ArrowTexts):
        texts, group = values.numbered()
        return _Shares(encoded, group, np.ones(len(encoded)), [group_name(one) for one in texts])
    listed = values.tolist()
    if values.dtype.kind == "O" and any(_is_several(one) for one in listed):
        places = (f"{table.place(row)}, {key}" for row in range(len(listed)))
        return _item_shares(zip(encoded.tolist(), listed, places, strict=True), table.name, faults)
    names, group = _numbered(listed, group_name, table, faults)
    return _Shares(encoded, group, np.ones(len(encoded)), names)


def group_name(value: object) -> str | None:
    """The name of a group; None for the unknown one: nothing, NaN, an empty text, or `unknown`."""
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return text if text and text.casefold() != UNKNOWN else None


def _mapping_columns(value: Mapping[Any, Any], items: Vocabulary, name: str, faults: Faults) -> dict[str, _Shares]:
    """Item → group, groups or shares; or grouping → such a mapping."""
    if value and all(_is_grouping(one) for one in value.values()):
        return {str(key): _mapping_shares(one, items, f"{name}, {key}", faults) for key, one in value.items()}
    return {"group": _mapping_shares(value, items, name, faults)}


def _is_grouping(value: object) -> bool:
    """Whether a value of a mapping is a mapping of items, and not the shares of one item, which are numbers."""
    return isinstance(value, Mapping) and not all(isinstance(one, Number) for one in value.values())


def _mapping_shares(value: Mapping[Any, Any], items: Vocabulary, name: str, faults: Faults) -> _Shares:
    keys = np.empty(len(value), object)
    keys[:] = list(value)
    ids = ids_of(keys, ItemTable(name, {}, row_word="entry"), "item", faults)
    encoded = items.encode(present(ids))
    places = (f"item {key!r}" for key in value)
    return _item_shares(zip(encoded.tolist(), value.values(), places, strict=True), name, faults)


def _item_shares(items: Iterable[tuple[int, object, str]], name: str, faults: Faults) -> _Shares:
    """Shares from items by number, the group, groups or shares of each, and its place for messages."""
    rows: list[tuple[int, str | None, float]] = []
    for item, groups, place in items:
        for group, share in _shares_of(groups):
            number = as_number(share)
            if not 0.0 <= number <= LARGEST:
                is_large = LARGEST < number < float("inf")
                kind = f"share is above {LARGEST:g}:" if is_large else "share is not a number of at least 0:"
                faults.add(name, kind, f"{place}, group {group!r}", share)
            elif _is_several(group):
                faults.add(name, "group is neither a name nor a number:", place, group)
            else:
                rows.append((item, group_name(group), number))
    return _of_triples(rows)


def _is_several(value: object) -> bool:
    """Whether a value is several groups: a list of them, or a dict of shares."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike))


def _shares_of(groups: object) -> list[tuple[object, object]]:
    """Groups of an item with shares: equal ones where only names are given."""
    if isinstance(groups, Mapping):
        return list(groups.items())
    if not _is_several(groups):
        return [(groups, 1.0)]
    listed = list(groups)  # type: ignore[call-overload]
    return [(group, 1.0 / len(listed)) for group in listed]
