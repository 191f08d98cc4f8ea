"""Creation date: when an article was begun (2022 track)."""

from __future__ import annotations

from evenrank.trec.dimensions.banded import named_dimension

CREATION_DATE = named_dimension(
    name="creation-date",
    field="creation_date_category",
    known=("2001-2006", "2007-2011", "2012-2016", "2017-2022"),
    has_unknown=False,
    is_ordered=True,
)
