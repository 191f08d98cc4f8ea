"""A dimension of the user's own: a field of the page metadata, and the wanted share of each group in a TOML file.

label = "Outlet"              # heading for readers; the dimension's name without it
source = "audience survey"    # where the shares come from
personal = false              # true for an attribute of people: shown as totals only

[shares]
public = 0.5
commercial = 0.3
community = 0.2
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenrank.core.groups import MAX_GROUPS, Dimension, named_dimension
from evenrank.errors import EvenrankError, Fault, InputError, shown_value
from evenrank.io.small_files import read_toml
from evenrank.trec.dimensions import DIMENSIONS

SUM_ERROR = 0.005
"""How far shares may be from a sum of 1, so that rounded numbers are accepted."""
OPTION_FORM = "NAME=FIELD:SHARES.toml"
RESERVED = frozenset({"intersection", "all", "none"})
"""Words that commands accept in place of a dimension's name."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_KEYS = {"label": str, "source": str, "personal": bool, "shares": dict}


def read_dimension(text: str) -> Dimension:
    """The dimension that `NAME=FIELD:SHARES.toml` describes; all faults of the file in one InputError."""
    name, equals, rest = text.partition("=")
    field, colon, path = rest.partition(":")
    if not (equals and colon and field and path):
        raise EvenrankError(f"dimension {text!r}: give {OPTION_FORM}, such as outlet=publisher:outlets.toml")
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise EvenrankError(f"dimension {name!r}: give a name of small letters, digits and hyphens")
    if name in DIMENSIONS:
        raise EvenrankError(f"dimension {name!r}: Evenrank has a dimension of that name (choose another name)")
    return _from_record(name, field, _read_shares(Path(path)))


def own_record(dimension: Dimension) -> dict[str, Any]:
    """What a manifest keeps of an own dimension."""
    return {
        "field": dimension.field,
        "label": dimension.label,
        "source": dimension.source,
        "personal": dimension.is_personal,
        "shares": dict(zip(dimension.groups[1:], dimension.background or (), strict=True)),
    }


def own_dimension(name: str, record: Mapping[str, Any]) -> Dimension:
    """The dimension of a record that `own_record` made."""
    return _from_record(name, str(record["field"]), record)


def _from_record(name: str, field: str, record: Mapping[str, Any]) -> Dimension:
    shares: Mapping[str, float] = record["shares"]
    return named_dimension(
        name,
        field,
        tuple(shares),
        background=tuple(shares.values()),
        source=str(record.get("source", "")) or "shares given at the import",
        is_personal=bool(record.get("personal", False)),
        label=str(record.get("label", "")),
    )


def _read_shares(path: Path) -> dict[str, Any]:
    """The content of a TOML file of shares, checked; shares are scaled to a sum of exactly 1."""
    text, record = read_toml(path, "give a TOML file that lists groups under [shares]")
    faults = _faults(str(path), text, record)
    if faults:
        raise InputError(faults[:20], max(0, len(faults) - 20))
    total = math.fsum(record["shares"].values())
    return {**record, "shares": {group: share / total for group, share in record["shares"].items()}}


def _faults(path: str, text: str, record: dict[str, Any]) -> list[Fault]:
    faults = []
    for key, value in record.items():
        if key not in _KEYS:
            faults.append(Fault(path, _line(text, key), f"unknown key {key!r}", f"choose from {', '.join(_KEYS)}"))
        elif not isinstance(value, _KEYS[key]):
            wanted = {str: "text", bool: "true or false", dict: "a table"}[_KEYS[key]]
            faults.append(Fault(path, _line(text, key), f"{key} is {shown_value(value)}", f"give {wanted}"))
    shares = record.get("shares", {})
    if not isinstance(shares, dict):
        return faults
    for group, share in shares.items():
        if group == "Unknown" or "|" in group or not group.strip():
            fix = "choose another name: Unknown is kept for pages without a value, and | joins groups"
            faults.append(Fault(path, _line(text, group), f"group {group!r}", fix))
        if type(share) not in (int, float) or not 0.0 < share <= 1.0:
            found = f"the share of {group} is {shown_value(share)}"
            faults.append(Fault(path, _line(text, group), found, "give one from 0 to 1"))
    if len(shares) < 2 or len(shares) >= MAX_GROUPS:
        faults.append(Fault(path, 0, f"{len(shares)} groups under [shares]", f"give 2 to {MAX_GROUPS - 1}"))
    if not faults and abs(math.fsum(shares.values()) - 1.0) > SUM_ERROR:
        faults.append(Fault(path, 0, f"the shares sum to {math.fsum(shares.values()):g}", "they must sum to 1"))
    return faults


def _line(text: str, key: str) -> int:
    """The line on which a key appears; 0 when it cannot be found."""
    start = re.compile(rf"\s*[\[\"']?{re.escape(key)}[\]\"']?\s*(=|$)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if start.match(line)), 0)
