"""Geography: the continents that an article is about (UN geoscheme, as in the track)."""

from __future__ import annotations

from evenrank.core.groups import UNKNOWN_MASK, Dimension, listed_values

GROUPS = (
    "Unknown",
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "Latin America and the Caribbean",
    "Northern America",
    "Oceania",
)
_BIT = {name: 1 << index for index, name in enumerate(GROUPS)}


def encode_geography(value: object) -> int:
    """Mask of a list of continents; the Unknown bit when the list is empty or null."""
    mask = 0
    for name in listed_values(value):
        if name is None:
            mask |= UNKNOWN_MASK
        elif isinstance(name, str) and name in _BIT:
            mask |= _BIT[name]
        else:
            raise ValueError(f"continent {name!r} is not one of: {', '.join(GROUPS)}")
    return mask or UNKNOWN_MASK


GEOGRAPHY = Dimension(
    name="geography",
    field="geographic_locations",
    groups=GROUPS,
    background=(0.155070563, 1.54424e-07, 0.600202585, 0.103663858, 0.08609797, 0.049616733, 0.005348137),
    encode=encode_geography,
    source="share of the world's population by continent, as used by the track",
    label="Region",
)
