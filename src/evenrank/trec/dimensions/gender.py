"""Gender of the person a biography is about, in the track's four categories.

Collapsing identities into four categories loses most of what they mean, and assigning them to people has
errors, biases and ethical concerns (the paper's limitations section). These masks serve aggregate
statistics only; nothing in this package shows the gender of a single person.
"""

from __future__ import annotations

import re

from evenrank.core.groups import Dimension, listed_values

GROUPS = ("unknown", "female", "male", "third")
_BIT = {name: 1 << index for index, name in enumerate(GROUPS)}
_PREFIXED = re.compile(r"(?:tran|ci)sgender\s+((?:fe)?male)")
_ERRONEOUS = "Taira no Kiyomori"
"""A person's name that appears as a gender once in the official metadata; the organisers drop it."""


def encode_gender(value: object) -> int:
    """Mask of a list of genders: missing is unknown, trans and cis are dropped, anything else is third.

    A list whose only value is dropped as erroneous leaves an empty mask: such a page is in no group.
    """
    values = listed_values(value)
    if not values:
        return _BIT["unknown"]
    mask = 0
    for name in values:
        if name is None:
            mask |= _BIT["unknown"]
        elif not isinstance(name, str):
            raise ValueError(f"gender {name!r} is not text")
        elif name != _ERRONEOUS:
            mask |= _BIT.get(_PREFIXED.sub(r"\1", name), _BIT["third"])
    return mask


GENDER = Dimension(
    name="gender",
    field="gender",
    groups=GROUPS,
    background=(0.495, 0.495, 0.01),
    encode=encode_gender,
    source="equality of women and men with a small share for all other identities, as used by the track",
    label="Gender, as totals of biographies",
    group_labels=("not a biography, or not recorded", "women", "men", "other gender identities"),
    is_personal=True,
)
