"""Pages → items: by the table of page properties, by sitelinks, and by sitelinks whose title is now a redirect."""

from __future__ import annotations

import re

from evenrank.annotate.stage import StageBatch
from evenrank.annotate.store import WorkStore
from evenrank.formats.batches import RawBatch

_ITEM = re.compile(rb"\((\d{1,10}),'wikibase_item','Q(\d{1,15})'")


def annotate_page_props(batch: RawBatch) -> StageBatch:
    """Rows of `page_props` for a part of the SQL dump."""
    rows = [(int(page), int(item)) for page, item in _ITEM.findall(batch.data)]
    return StageBatch({"page_props": rows}, {"pages": len(rows)}, ())


MAX_REDIRECTS = 4
"""Redirects followed one after the other."""

BY_PAGE_PROPS = """
INSERT OR IGNORE INTO item_of_page
SELECT page_id, item FROM page_props JOIN pages USING (page_id) WHERE item IN (SELECT item FROM items)
"""
BY_SITELINK = """
INSERT OR IGNORE INTO item_of_page
SELECT page_id, MIN(item) FROM items JOIN pages USING (title) GROUP BY page_id
"""
BY_REDIRECT = """
INSERT OR IGNORE INTO item_of_page
WITH RECURSIVE way (item, title, steps) AS (
    SELECT item, target, 1 FROM items JOIN redirects USING (title) WHERE NOT is_redirect
    UNION
    SELECT item, target, steps + 1 FROM way JOIN redirects USING (title) WHERE steps < ?
)
SELECT page_id, MIN(item) FROM way JOIN pages USING (title) GROUP BY page_id
"""


def join_pages_to_items(store: WorkStore) -> dict[str, int]:
    """Number of pages that found their item, by the way they did. The first way counts."""
    n_found: dict[str, int] = {}
    with store.transaction():
        store.query("CREATE INDEX IF NOT EXISTS page_title ON pages (title)")
        store.query("DELETE FROM item_of_page")
        for way, sql, values in (
            ("page_props", BY_PAGE_PROPS, ()),
            ("sitelink", BY_SITELINK, ()),
            ("redirect", BY_REDIRECT, (MAX_REDIRECTS,)),
        ):
            n_found[way] = store.query(sql, values).rowcount
    return n_found
