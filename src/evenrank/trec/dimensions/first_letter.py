"""First letter: the band of the alphabet in which an article's title starts (2022 track)."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

FIRST_LETTER = named_dimension(
    name="first-letter",
    field="first_letter_category",
    known=("a-d", "e-k", "l-r", "s-"),
    also={"s-z": "s-"},
    has_unknown=False,
    is_ordered=True,
)
