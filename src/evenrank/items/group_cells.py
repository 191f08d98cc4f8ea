"""The groups of one item: a name, several names, or shares by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from evenrank.items.columns import LARGEST, as_number, is_missing
from evenrank.items.faults import Faults
from evenrank.items.groupings import UNKNOWN
from evenrank.items.item_shares import ItemShares, shares_of_rows


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
    return shares_of_rows(rows)


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
