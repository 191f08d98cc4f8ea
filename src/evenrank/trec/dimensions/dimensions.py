"""The visible list of dimensions. A new one is one file and one line here."""

from __future__ import annotations

from evenrank.core.groups import Dimension
from evenrank.trec.dimensions.creation_date import CREATION_DATE
from evenrank.trec.dimensions.first_letter import FIRST_LETTER
from evenrank.trec.dimensions.gender import GENDER
from evenrank.trec.dimensions.geography import GEOGRAPHY
from evenrank.trec.dimensions.languages import LANGUAGES
from evenrank.trec.dimensions.occupation import OCCUPATION
from evenrank.trec.dimensions.popularity import POPULARITY
from evenrank.trec.dimensions.sub_region import SOURCE_REGION, SUB_REGION
from evenrank.trec.dimensions.topic_age import TOPIC_AGE

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
