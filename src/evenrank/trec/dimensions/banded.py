"""Dimensions whose field holds one of a few names, or a list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from evenrank.core.groups import UNKNOWN_MASK, Dimension, listed_values

NOT_BLENDED = "none: the 2022 track did not blend this dimension with a background"


def named_dimension(
    name: str,
    field: str,
    known: Sequence[str],
    *,
    background: Sequence[float] | None = None,
    source: str = NOT_BLENDED,
    also: Mapping[str, str] | None = None,
    has_unknown: bool = True,
    counts: bool = False,
    is_personal: bool = False,
    is_ordered: bool = False,
    label: str = "",
) -> Dimension:
    """A dimension with the groups `Unknown` and `known`; `also` gives other names of groups.

    With `counts` two names of one group count twice where a page is shared between its groups.
    """
    groups = ("Unknown", *known)
    numbers = {group: number for number, group in enumerate(groups)}
    numbers |= {other: numbers[group] for other, group in (also or {}).items()}
    count = group_counter(field, numbers)

    def encode(value: object) -> int:
        mask = 0
        for number in count(value):
            mask |= 1 << number
        return mask or UNKNOWN_MASK

    return Dimension(
        name,
        field,
        groups,
        tuple(background) if background is not None else None,
        encode,
        source,
        label,
        has_unknown=has_unknown,
        encode_counts=count if counts else None,
        is_personal=is_personal,
        is_ordered=is_ordered,
    )


def group_counter(field: str, numbers: Mapping[str, int]) -> Callable[[object], dict[int, int]]:
    """A function from a name or a list of names to the number of different names by group; nothing is unknown."""

    def count(value: object) -> dict[int, int]:
        counts: dict[int, int] = {}
        seen: set[str | None] = set()
        for each in listed_values(value):
            if each is not None and not (isinstance(each, str) and each in numbers):
                raise ValueError(f"{field} {each!r} is not one of: {', '.join(numbers)}")
            if each not in seen:
                seen.add(each)
                number = 0 if each is None else numbers[each]
                counts[number] = counts.get(number, 0) + 1
        return counts or {0: 1}

    return count
