"""The visible list of dimensions. A new one is one file and one line here."""

from __future__ import annotations

from evenrank.alignment.creation_date import CREATION_DATE
from evenrank.alignment.first_letter import FIRST_LETTER
from evenrank.alignment.gender import GENDER
from evenrank.alignment.geography import GEOGRAPHY
from evenrank.alignment.groups import Dimension
from evenrank.alignment.languages import LANGUAGES
from evenrank.alignment.occupation import OCCUPATION
from evenrank.alignment.popularity import POPULARITY
from evenrank.alignment.sub_region import SOURCE_REGION, SUB_REGION
from evenrank.alignment.topic_age import TOPIC_AGE

DIMENSIONS: dict[str, Dimension] = {
    dimension.name: dimension
    for dimension in (
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
}
"""Known dimensions by name. A collection carries those whose field its metadata has."""
