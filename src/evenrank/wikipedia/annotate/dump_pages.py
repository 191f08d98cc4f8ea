"""Pages of a Wikipedia dump: what quality models count on them, redirects, and their Wikidata items."""

from __future__ import annotations

import re
from html import unescape

from evenrank.io.content import RawBatch
from evenrank.io.corpus import Site, parse_dump
from evenrank.wikipedia.annotate.inline import site_names
from evenrank.wikipedia.annotate.quality import quality_counts
from evenrank.wikipedia.annotate.stage import StageBatch, WorkStore
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

_REDIRECT = re.compile(rb'<title>([^<]*)</title>\s*<ns>0</ns>\s*<id>\d+</id>\s*<redirect title="([^"]*)"')
_ID = re.compile(rb"<id>(\d{1,10})</id>")
_DAY = re.compile(rb"<timestamp>(\d{4}-\d\d-\d\d)")


def annotate_pages(batch: RawBatch, site: Site) -> StageBatch:
    """Rows of `pages` and `redirects` for a batch of pages. A pure function, for any engine to map."""
    parsed = parse_dump(batch, site)
    namespaces = site_names(site)
    pages = [
        (article.page_id, article.title, *quality_counts(parse_wikitext(article.text, namespaces).counts))
        for article in parsed.articles
    ]
    redirects = find_redirects(batch.data)
    tally = {
        "articles": len(pages),
        "redirects": len(redirects),
        "repaired": parsed.faults.n_repaired,
        "faults": parsed.faults.n_faults - len(parsed.faults.faults),
        "opened": batch.data.count(b"<mediawiki "),
        "closed": batch.data.count(b"</mediawiki>"),
    }
    return StageBatch({"pages": pages, "redirects": redirects}, tally, parsed.faults.faults)


def find_redirects(data: bytes) -> list[tuple[str, str]]:
    """(title, title it leads to) of the redirects in a part of a dump; a part of the target page is dropped."""
    found = ((_text(title), _text(target).partition("#")[0]) for title, target in _REDIRECT.findall(data))
    return [(title, target) for title, target in found if target]


def _text(xml: bytes) -> str:
    return unescape(xml.decode("utf-8", "replace"))


def annotate_history(batch: RawBatch) -> StageBatch:
    """Rows of `creation_dates` for a batch of pages of a history dump.

    A dump of current pages holds only the last revision. The first one is in `stub-meta-history`, whose pages list
    their revisions oldest first.
    """
    rows = [first for page in batch.data.split(b"</page>") if (first := first_revision(page))]
    tally = {
        "pages": len(rows),
        "opened": batch.data.count(b"<mediawiki "),
        "closed": batch.data.count(b"</mediawiki>"),
    }
    return StageBatch({"creation_dates": rows}, tally, ())


def first_revision(page: bytes) -> tuple[int, str] | None:
    """Page id and day of the first revision; None where a page does not say. Each byte is looked at twice at most."""
    start = page.find(b"<page>")
    number = _ID.search(page, start) if start >= 0 else None
    day = _DAY.search(page, number.end()) if number else None
    return (int(number[1]), day[1].decode()) if number and day else None


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
