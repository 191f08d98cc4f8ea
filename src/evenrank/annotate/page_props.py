"""The SQL dump of the table `page_props` → the Wikidata item of each page."""

from __future__ import annotations

import re

from evenrank.annotate.stage import StageBatch
from evenrank.formats.batches import RawBatch

_ITEM = re.compile(rb"\((\d+),'wikibase_item','Q(\d+)'")


def annotate_page_props(batch: RawBatch) -> StageBatch:
    """Rows of `page_props` for a part of the SQL dump."""
    rows = [(int(page), int(item)) for page, item in _ITEM.findall(batch.data)]
    return StageBatch({"page_props": rows}, {"pages": len(rows)}, ())
