"""Dimensions whose field holds one of a few names, or a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenrank.alignment.dimension import UNKNOWN_MASK, Dimension, listed_values

NOT_BLENDED = "equal shares; the 2022 track did not blend this dimension with a background"


def named_dimension(
    name: str,
    field: str,
    known: Sequence[str],
    *,
    background: Sequence[float] | None = None,
    source: str = NOT_BLENDED,
    also: Mapping[str, str] | None = None,
    is_personal: bool = False,
) -> Dimension:
    """A dimension with the groups `Unknown` and `known`; `also` gives other names of groups."""
    groups = ("Unknown", *known)
    bits = {group: 1 << index for index, group in enumerate(groups)}
    bits |= {other: bits[group] for other, group in (also or {}).items()}

    def encode(value: object) -> int:
        mask = 0
        for each in listed_values(value):
            if each is None:
                mask |= UNKNOWN_MASK
            elif isinstance(each, str) and each in bits:
                mask |= bits[each]
            else:
                raise ValueError(f"{field} {each!r} is not one of: {', '.join(groups)}")
        return mask or UNKNOWN_MASK

    shares = tuple(background) if background is not None else (1 / len(known),) * len(known)
    return Dimension(name, field, groups, shares, encode, source, is_personal=is_personal)
