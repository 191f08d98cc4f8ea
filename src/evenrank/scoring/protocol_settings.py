"""The protocol and the groups of an evaluation: settings changed by text (`task1_depth=50`) or from Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeAlias, get_type_hints

from evenrank.core.exposure import parse_attention
from evenrank.core.groups import Dimension, GroupNames, GroupSpace
from evenrank.core.protocol import PROTOCOLS, Protocol
from evenrank.core.settings import check_value, parse_value, read_pairs
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.trec.collection import Collection

FIXED = ("name", "summary", "dimensions", "sets")
"""Fields of a protocol that say what it is and cannot be set."""
LEAST = {"min_tier": 0, "interval_seed": 0, "n_resamples": 2}
"""Smallest whole number of a setting; 1 for the others."""
MOST = 1_000_000
"""Largest whole number of a setting, except of the seed: rankings are shorter, and more would fill the memory."""


ProtocolSettings: TypeAlias = dict[str, Any]
"""Settings of a `Protocol` by name, which explains each and says its type; `depth` stands for `task1_depth` and
`task2_depth`, `rankings` for `task2_rankings`."""


@cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Protocol)


def protocol_setting_names() -> tuple[str, ...]:
    """The settings of a protocol that can be changed."""
    return tuple(field.name for field in fields(Protocol) if field.name not in FIXED)


def parse_protocol_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE texts; all faults are reported in one EvenrankError."""
    settings: dict[str, Any] = {}
    faults = []
    for spelling, text in read_pairs(pairs).items():
        name = spelling.replace("-", "_")
        try:
            settings[name] = check_protocol_setting(name, _parse(name, text))
        except (ValueError, EvenrankError) as error:
            faults.append(str(error) if name == "attention" else f"--set {spelling}={text}: {error}")
    if faults:
        raise EvenrankError("\n".join(faults))
    return settings


def _parse(name: str, text: str) -> Any:
    if name not in protocol_setting_names():
        raise UnknownNameError("setting", name, protocol_setting_names())
    return math.e if name == "log_base" and text == "e" else parse_value(text, _hints()[name])


def check_protocol_setting(name: str, value: Any) -> Any:
    """The value in the setting's own type; ValueError or UnknownNameError says what would be valid."""
    if name not in protocol_setting_names():
        raise UnknownNameError("setting", name, protocol_setting_names())
    if name == "normalised" and isinstance(value, str):
        value = parse_value(value, _hints()[name])
    if name == "attention":
        value = str(parse_attention(value))
    value = check_value(value, _hints()[name], "the value")
    _check_range(name, value)
    return value


def _check_range(name: str, value: Any) -> None:
    if type(value) is int and value < (least := LEAST.get(name, 1)):
        raise ValueError(f"{value} is too small (at least {least})")
    if type(value) is int and name != "interval_seed" and value > MOST:
        raise ValueError(f"{value} is too large (at most {MOST:,})")
    if name == "confidence" and not 0.0 < value < 1.0:
        raise ValueError(f"{value} is not between 0 and 1")
    if name == "blend" and not 0.0 <= value <= 1.0:
        raise ValueError(f"{value} is not from 0 to 1")
    if name == "log_base" and not value > 1.0:
        raise ValueError(f"{value} is not a number above 1")


ALL = "intersection"
"""Name of the product of all dimensions of a protocol."""


def joined_groups(groups: GroupNames) -> str:
    """Names of dimensions, joined by commas."""
    given = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable) else list(groups)
    names = [one.name if isinstance(one, Dimension) else one for one in given]
    if not names or not all(isinstance(name, str) for name in names):
        raise EvenrankError(f"groups is {groups!r} (give the name of a dimension, or a list of names)")
    return ",".join(names)


def protocol_space(collection: Collection, protocol: Protocol, groups: GroupNames = ALL) -> GroupSpace:
    """The group space that `groups` names: `intersection` is all of the protocol's dimensions, and the default.

    A collection that has none of them but dimensions of its own is scored by those.

    A dimension that the collection does not have is refused by name, also where it is needed only for the margin that
    is the target of a set; so is one that nobody knows in `normalised`.
    """
    chosen = joined_groups(groups).strip() or ALL
    names = tuple(part.strip() for part in chosen.split(","))
    if chosen == ALL:
        names = collection.default_groups(protocol.dimensions)
    names = dict(protocol.sets).get(chosen, names)
    refuse_lacking(collection, protocol, names)
    known = collection.known_dimensions
    if protocol.normalised != "all" and (unknown := sorted(name for name in protocol.normalised if name not in known)):
        raise UnknownNameError("dimension", ", ".join(unknown), ["all", "none", *known], "in normalised")
    if protocol.set_target == "margin" and len(names) > 1 and set(names) < set(protocol.dimensions):
        refuse_lacking(collection, protocol, protocol.dimensions)
    return collection.space(",".join(names))


def refuse_lacking(collection: Collection, protocol: Protocol, names: tuple[str, ...]) -> None:
    """EvenrankError that names the dimensions of the protocol that the collection does not have."""
    lacking = [name for name in protocol.dimensions if name in names and not collection.has_groups(name)]
    if lacking:
        have = [name for name in collection.masks if collection.has_groups(name)]
        raise EvenrankError(
            f"{collection.path}: no {', '.join(lacking)} in its metadata, which {protocol.name} scores "
            f"(import metadata with it, choose another --protocol, or --groups from {', '.join(have) or 'none'})"
        )


def settle_protocol(protocol: str | Protocol, **settings: Any) -> Protocol:
    """A protocol with some settings changed; `depth` and `rankings` change those of both tasks.

    Setting `depth` or `rankings` lifts `min_tier` unless that is set too: the tier says which topics were judged down
    to the published cut, and says nothing about another one.
    """
    if isinstance(protocol, str):
        if protocol not in PROTOCOLS:
            raise UnknownNameError("protocol", protocol, PROTOCOLS)
        protocol = PROTOCOLS[protocol]
    if protocol not in PROTOCOLS.builtin.values():
        _check_protocol(protocol)
    changes: dict[str, Any] = dict(settings)
    depth = changes.pop("depth", None)
    rankings = changes.pop("rankings", None)
    if depth is not None:
        changes = {"task1_depth": depth, "task2_depth": depth} | changes
    if rankings is not None:
        changes = {"task2_rankings": rankings} | changes
    if depth is not None or rankings is not None:
        changes = {"min_tier": 0} | changes
    for name, value in changes.items():
        try:
            changes[name] = check_protocol_setting(name, value)
        except ValueError as error:
            raise EvenrankError(f"{name}: {error}") from error
    return replace(protocol, **changes)


def _check_protocol(protocol: Protocol) -> None:
    """EvenrankError with the choices of a protocol of others that are not valid."""
    faults = []
    for name in protocol_setting_names():
        try:
            check_protocol_setting(name, getattr(protocol, name))
        except (ValueError, EvenrankError) as error:
            faults.append(f"protocol {protocol.name}: {name}: {error}")
    if faults:
        raise EvenrankError("\n".join(faults))
