"""Popularity: how often an article is read, as a band of page views (2022 track)."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

POPULARITY = named_dimension(
    name="popularity",
    field="relative_pageviews_category",
    known=("Low", "Medium-Low", "Medium-High", "High"),
    has_unknown=False,
    is_ordered=True,
)
