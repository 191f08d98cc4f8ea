"""Which groups are scored: all dimensions of the protocol, one of them, or a set."""

from __future__ import annotations

from collections.abc import Sequence

from evenrank.alignment.groups import GroupSpace
from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.protocol import Protocol

ALL = "intersection"
"""Name of the product of all dimensions of a protocol."""


def protocol_space(collection: Collection, protocol: Protocol, groups: str = ALL) -> GroupSpace:
    """The group space that `groups` names: `intersection` is all of the protocol's dimensions, and the default.

    A collection that has none of them but dimensions of its own is scored by those.

    A dimension that the collection does not have is refused by name, also where it is needed only for the margin that
    is the target of a set.
    """
    chosen = groups.strip() or ALL
    names = tuple(part.strip() for part in chosen.split(","))
    if chosen == ALL:
        names = collection.default_groups(protocol.dimensions)
    names = dict(protocol.sets).get(chosen, names)
    refuse_lacking(collection, protocol, names)
    refuse_unknown(collection, protocol.normalised)
    if protocol.set_target == "margin" and len(names) > 1 and set(names) < set(protocol.dimensions):
        refuse_lacking(collection, protocol, protocol.dimensions)
    return collection.space(",".join(names))


def refuse_unknown(collection: Collection, normalised: Sequence[str]) -> None:
    """UnknownNameError when a page is to be shared between the groups of a dimension that nobody knows."""
    known = collection.known_dimensions
    if normalised != "all" and (unknown := sorted(set(normalised) - set(known))):
        raise UnknownNameError("dimension", ", ".join(unknown), ["all", "none", *known], "in normalised")


def refuse_lacking(collection: Collection, protocol: Protocol, names: tuple[str, ...]) -> None:
    """EvenrankError that names the dimensions of the protocol that the collection does not have."""
    lacking = [name for name in protocol.dimensions if name in names and not collection.has_groups(name)]
    if lacking:
        have = [name for name in collection.masks if collection.has_groups(name)]
        raise EvenrankError(
            f"{collection.path}: no {', '.join(lacking)} in its metadata, which {protocol.name} scores "
            f"(import metadata with it, choose another --protocol, or --groups from {', '.join(have) or 'none'})"
        )
