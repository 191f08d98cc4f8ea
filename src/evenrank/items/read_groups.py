"""Groups of items in many forms → groupings."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np

from evenrank.errors import EvenrankError, WrongTypeError
from evenrank.items.columns import ids_of, present
from evenrank.items.faults import Faults
from evenrank.items.group_cells import shares_of_items
from evenrank.items.group_tables import table_columns
from evenrank.items.groupings import Groupings
from evenrank.items.item_shares import ItemShares, grouping_of
from evenrank.items.tables import ItemTable, as_table, is_series
from evenrank.items.vocabulary import Vocabulary

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
