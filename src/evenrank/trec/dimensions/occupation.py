"""Occupation: what the person of a biography does, in the 32 occupations of the 2022 track."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

OCCUPATIONS = (
    *("activist", "agricultural worker", "artist", "athlete", "biologist", "businessperson", "chemist"),
    *("civil servant", "clergyperson", "computer scientist", "designer", "earth scientist", "educator", "engineer"),
    *("health professional", "humanities scholar", "information professional", "journalist", "jurist", "linguist"),
    *("mathematician", "media professional", "military personnel", "musician", "performing artist", "physicist"),
    *("politician", "scientist", "social scientist", "sportsperson (non-athlete)", "transportation occupation"),
    "writer",
)

OCCUPATION = named_dimension(name="occupation", field="occupations", known=OCCUPATIONS, is_personal=True)
