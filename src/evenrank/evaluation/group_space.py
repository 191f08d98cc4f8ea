"""Which groups are scored: all dimensions of the protocol, one of them, or a set."""

from __future__ import annotations

from evenrank.alignment.groups import GroupSpace
from evenrank.collection.collection import Collection
from evenrank.errors import EvenrankError
from evenrank.protocol import Protocol

ALL = "intersection"
"""Name of the product of all dimensions of a protocol."""


def protocol_space(collection: Collection, protocol: Protocol, groups: str = ALL) -> GroupSpace:
    """The group space that `groups` names: `intersection` is all of the protocol's dimensions, and the default.

    A dimension that the collection does not have is refused by name, also where it is needed only for the margin that
    is the target of a set.
    """
    chosen = groups.strip() or ALL
    names = protocol.dimensions if chosen == ALL else tuple(part.strip() for part in chosen.split(","))
    names = dict(protocol.sets).get(chosen, names)
    refuse_lacking(collection, protocol, names)
    if protocol.set_target == "margin" and len(names) > 1 and set(names) < set(protocol.dimensions):
        refuse_lacking(collection, protocol, protocol.dimensions)
    return collection.space(",".join(names))


def refuse_lacking(collection: Collection, protocol: Protocol, names: tuple[str, ...]) -> None:
    """EvenrankError that names the dimensions of the protocol that the collection does not have."""
    lacking = [name for name in protocol.dimensions if name in names and is_lacking(collection, name)]
    if lacking:
        have = [name for name in collection.masks if not is_lacking(collection, name)]
        raise EvenrankError(
            f"{collection.path}: no {', '.join(lacking)} in its metadata, which {protocol.name} scores "
            f"(import metadata with it, choose another --protocol, or --groups from {', '.join(have) or 'none'})"
        )


def is_lacking(collection: Collection, dimension: str) -> bool:
    """Whether the metadata of a collection has nothing on a dimension."""
    return dimension not in collection.masks or dimension in collection.manifest.absent
