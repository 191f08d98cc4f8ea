"""Languages: in how many Wikipedias a topic has an article (2022 track)."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

LANGUAGES = named_dimension(
    name="languages",
    field="num_sitelinks_category",
    known=("English only", "2-4 languages", "5+ languages"),
    has_unknown=False,
    is_ordered=True,
)
