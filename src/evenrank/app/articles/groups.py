"""The groups of articles as pages show them: the collection's dimensions, without those that describe a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK, Dimension
from evenrank.trec.collection import Collection

ADDRESS_NAMES = {"geography": "region"}
"""Names of filters in addresses where they differ from the dimension's name."""


USUAL = ("geography", "gender")
"""Dimensions that a goal is about when nobody chose any."""


def dimensions_of(collection: Collection, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions of a goal, as far as the collection has them."""
    known = collection.masks
    kept = [name for name in chosen if name in known]
    return tuple(kept) or collection.default_groups(name for name in USUAL if name in known) or tuple(known)[:1]


def shown_dimensions(collection: Collection) -> tuple[Dimension, ...]:
    """The dimensions whose groups may be shown beside an article."""
    return tuple(dimension for dimension in collection.dimensions if not dimension.is_personal)


def restricts_people(restriction: str, known: Mapping[str, Dimension]) -> bool:
    """Whether `dimension=group` names a group of people, such as a gender: a list of them would tell it of each one."""
    name, _, group = (part.strip() for part in restriction.partition("="))
    return name in known and known[name].is_personal and group.casefold() != "known"


def valid_restrictions(within: Iterable[str], known: Mapping[str, Dimension]) -> list[str]:
    """The restrictions `dimension=group` whose group there is: newer data may lack one that a stored question names."""
    return [text for text in within if _is_valid(text, known)]


def _is_valid(restriction: str, known: Mapping[str, Dimension]) -> bool:
    name, _, group = (part.strip() for part in restriction.partition("="))
    return name in known and group.casefold() in ("known", *map(str.casefold, known[name].groups))


def address_name(dimension: Dimension) -> str:
    """What a dimension is called in the address of a filtered list."""
    return ADDRESS_NAMES.get(dimension.name, dimension.name)


def masks_of_rows(collection: Collection, rows: NDArray[np.intp], dimension: Dimension) -> NDArray[np.integer]:
    """The mask of each row in a dimension; a page without metadata is unknown."""
    return np.where(rows >= 0, collection.masks[dimension.name][rows], UNKNOWN_MASK)


def group_labels(mask: int, dimension: Dimension) -> tuple[str, ...]:
    """The groups in a mask, in words."""
    names = dimension.readable_groups
    return tuple(name for place, name in enumerate(names) if mask >> place & 1) or (names[0],)
