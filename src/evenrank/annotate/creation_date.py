"""Creation date of a page: the time of its first revision, from a history dump, → the four bands of the 2022 track.

A dump of current pages holds only the last revision. The first one is in `stub-meta-history`, whose pages list
their revisions oldest first.
"""

from __future__ import annotations

import re

from evenrank.annotate.stage import StageBatch
from evenrank.formats.batches import RawBatch

BANDS = (("2001-2006", 2006), ("2007-2011", 2011), ("2012-2016", 2016), ("2017-2022", 2022))
LATER = "2017-2022"
"""The track's last band; pages made later are in it too."""

_FIRST_REVISION = re.compile(rb"<page>.*?<id>(\d+)</id>.*?<timestamp>(\d{4}-\d\d-\d\d)", re.DOTALL)


def creation_band(date: str) -> str:
    """Band of a date such as `2004-05-17`."""
    year = int(date[:4])
    return next((band for band, last in BANDS if year <= last), LATER)


def annotate_history(batch: RawBatch) -> StageBatch:
    """Rows of `creation_dates` for a batch of pages of a history dump."""
    rows = [
        (int(first[1]), first[2].decode())
        for page in batch.data.split(b"</page>")
        if (first := _FIRST_REVISION.search(page))
    ]
    tally = {
        "pages": len(rows),
        "opened": batch.data.count(b"<mediawiki "),
        "closed": batch.data.count(b"</mediawiki>"),
    }
    return StageBatch({"creation_dates": rows}, tally, ())
