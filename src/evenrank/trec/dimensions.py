"""The dimensions of groups: how a field of the page metadata becomes groups.

`DIMENSIONS` lists those of the track and of plug-ins by name. A user's own is described in a TOML file:

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

from evenrank.core.groups import MAX_GROUPS, UNKNOWN_MASK, Dimension, listed_values, named_dimension
from evenrank.core.records import CONTINENTS
from evenrank.errors import EvenrankError, Fault, InputError, shown_value
from evenrank.io.small_files import read_toml
from evenrank.plugins import Registry, instances

CONTINENT_GROUPS = ("Unknown", *CONTINENTS)
_CONTINENT_BIT = {name: 1 << index for index, name in enumerate(CONTINENT_GROUPS)}


def encode_geography(value: object) -> int:
    """Mask of a list of continents; the Unknown bit when the list is empty or null."""
    mask = 0
    for name in listed_values(value):
        if name is None:
            mask |= UNKNOWN_MASK
        elif isinstance(name, str) and name in _CONTINENT_BIT:
            mask |= _CONTINENT_BIT[name]
        else:
            raise ValueError(f"continent {name!r} is not one of: {', '.join(CONTINENT_GROUPS)}")
    return mask or UNKNOWN_MASK


GEOGRAPHY = Dimension(
    name="geography",
    field="geographic_locations",
    groups=CONTINENT_GROUPS,
    background=(0.155070563, 1.54424e-07, 0.600202585, 0.103663858, 0.08609797, 0.049616733, 0.005348137),
    encode=encode_geography,
    source="share of the world's population by continent, as used by the track",
    label="Region",
)
"""The continents that an article is about (UN geoscheme, as in the track)."""


GENDERS = ("unknown", "female", "male", "third")
_GENDER_BIT = {name: 1 << index for index, name in enumerate(GENDERS)}
_PREFIXED = re.compile(r"(?:tran|ci)sgender\s+((?:fe)?male)")
_ERRONEOUS = "Taira no Kiyomori"
"""A person's name that appears as a gender once in the official metadata; the organisers drop it."""


def encode_gender(value: object) -> int:
    """Mask of a list of genders: missing is unknown, trans and cis are dropped, anything else is third.

    A list whose only value is dropped as erroneous leaves an empty mask: such a page is in no group.
    """
    values = listed_values(value)
    if not values:
        return _GENDER_BIT["unknown"]
    mask = 0
    for name in values:
        if name is None:
            mask |= _GENDER_BIT["unknown"]
        elif not isinstance(name, str):
            raise ValueError(f"gender {name!r} is not text")
        elif name != _ERRONEOUS:
            mask |= _GENDER_BIT.get(_PREFIXED.sub(r"\1", name), _GENDER_BIT["third"])
    return mask


GENDER = Dimension(
    name="gender",
    field="gender",
    groups=GENDERS,
    background=(0.495, 0.495, 0.01),
    encode=encode_gender,
    source="equality of women and men with a small share for all other identities, as used by the track",
    label="Gender, as totals of biographies",
    group_labels=("not a biography, or not recorded", "women", "men", "other gender identities"),
    is_personal=True,
)
"""Gender of the person a biography is about, in the track's four categories.

Collapsing identities into four categories loses most of what they mean, and assigning them to people has errors, biases
and ethical concerns (the paper's limitations section). These masks serve aggregate statistics only; nothing in this
package shows the gender of a single person.
"""

POPULATION = {
    "Antarctica": 1106,
    "Caribbean": 42517000,
    "Central America": 167387000,
    "Central Asia": 64370000,
    "Eastern Africa": 373202000,
    "Eastern Asia": 1620807000,
    "Eastern Europe": 294162000,
    "Middle Africa": 135750000,
    "Northern Africa": 210002000,
    "Northern America": 355361000,
    "Northern Europe": 100404000,
    "Oceania": 38304000,
    "South America": 406740000,
    "South-eastern Asia": 618793000,
    "Southern Africa": 60425000,
    "Southern Asia": 1749046000,
    "Southern Europe": 155827000,
    "Western Africa": 331255000,
    "Western Asia": 245707000,
    "Western Europe": 192060000,
}
"""People living in each region, as used by the track."""
MAX_COUNT = 10**9
OF_OCEANIA = ("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia")

OF_UNKNOWN = ("UNK",)
"""Names under which sources of an unknown region are counted."""
BACKGROUND = tuple(people / sum(POPULATION.values()) for people in POPULATION.values())
BACKGROUND_SOURCE = "share of the world's population by sub-region, as used by the 2022 track"
_NUMBERS = {name: number for number, name in enumerate(("Unknown", *POPULATION))}
_NUMBERS |= dict.fromkeys(OF_OCEANIA, _NUMBERS["Oceania"]) | dict.fromkeys(OF_UNKNOWN, 0)

SUB_REGION = named_dimension(
    name="sub-region",
    field="page_subcont_regions",
    known=tuple(POPULATION),
    background=BACKGROUND,
    source=BACKGROUND_SOURCE,
    also={**dict.fromkeys(OF_OCEANIA, "Oceania"), **dict.fromkeys(OF_UNKNOWN, "Unknown")},
    counts=True,
)
"""The sub-continental regions (UN geoscheme, 2022 track) that an article is about.

As in the track, the regions of Oceania are one group, because few people live there. They are added after counting, so
a page about two of them and about Southern Asia belongs to Oceania by two thirds.
"""


def count_sources(value: object) -> dict[int, int]:
    """Sources by region number, from a record of counts by region; nothing at all is unknown."""
    if value is None or value == []:
        return {0: 1}
    if not isinstance(value, dict):
        raise ValueError(f"source_subcont_regions {value!r} is not a record of counts by region")
    counts: dict[int, int] = {}
    for name, count in value.items():
        if name not in _NUMBERS:
            raise ValueError(f"source_subcont_regions {name!r} is not one of: {', '.join(_NUMBERS)}")
        if type(count) is not int or not 0 <= count <= MAX_COUNT:
            raise ValueError(f"source_subcont_regions: {name} has the count {count!r}, not a whole number of sources")
        if count:
            counts[_NUMBERS[name]] = counts.get(_NUMBERS[name], 0) + count
    return counts or {0: 1}


def _encode_sources(value: object) -> int:
    return sum(1 << number for number in count_sources(value))


SOURCE_REGION = Dimension(
    name="source-region",
    field="source_subcont_regions",
    groups=("Unknown", *POPULATION),
    background=BACKGROUND,
    encode=_encode_sources,
    source=BACKGROUND_SOURCE,
    encode_counts=count_sources,
)
"""The regions that the sources of an article come from."""


OCCUPATIONS = (
    *("activist", "agricultural worker", "artist", "athlete", "biologist", "businessperson", "chemist"),
    *("civil servant", "clergyperson", "computer scientist", "designer", "earth scientist", "educator", "engineer"),
    *("health professional", "humanities scholar", "information professional", "journalist", "jurist", "linguist"),
    *("mathematician", "media professional", "military personnel", "musician", "performing artist", "physicist"),
    *("politician", "scientist", "social scientist", "sportsperson (non-athlete)", "transportation occupation"),
    "writer",
)

OCCUPATION = named_dimension("occupation", "occupations", OCCUPATIONS, is_personal=True)
"""What the person of a biography does, in the 32 occupations of the 2022 track."""


def _bands(name: str, field: str, *known: str, also: Mapping[str, str] | None = None) -> Dimension:
    """A dimension of the 2022 track whose groups are consecutive bands, one for every page."""
    return named_dimension(name, field, known, also=also, has_unknown=False, is_ordered=True)


FIRST_LETTER = _bands("first-letter", "first_letter_category", "a-d", "e-k", "l-r", "s-", also={"s-z": "s-"})
"""The part of the alphabet in which an article's title starts."""
CREATION_DATE = _bands("creation-date", "creation_date_category", "2001-2006", "2007-2011", "2012-2016", "2017-2022")
"""When an article was begun."""
POPULARITY = _bands("popularity", "relative_pageviews_category", "Low", "Medium-Low", "Medium-High", "High")
"""How often an article is read."""
LANGUAGES = _bands("languages", "num_sitelinks_category", "English only", "2-4 languages", "5+ languages")
"""In how many Wikipedias a topic has an article."""
TOPIC_AGE = named_dimension("topic-age", "years_category", ("Pre-1900s", "20th century", "21st century"))
"""The times that an article is about (2022 track)."""

_BUILT_IN = (
    GEOGRAPHY,
    GENDER,
    SUB_REGION,
    SOURCE_REGION,
    OCCUPATION,
    FIRST_LETTER,
    CREATION_DATE,
    POPULARITY,
    LANGUAGES,
    TOPIC_AGE,
)
DIMENSIONS: Registry[Dimension] = Registry(
    "dimensions",
    {dimension.name: dimension for dimension in _BUILT_IN},
    instances(Dimension, lambda dimension: dimension.name),
)
"""Known dimensions by name, those of plug-ins included. A collection carries those whose field its metadata has."""


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
