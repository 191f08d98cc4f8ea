"""Age of topic: the times that an article is about (2022 track)."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

TOPIC_AGE = named_dimension(
    name="topic-age", field="years_category", known=("Pre-1900s", "20th century", "21st century")
)
