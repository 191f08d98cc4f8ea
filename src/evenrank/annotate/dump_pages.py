"""Pages of a Wikipedia dump → what the quality models count on them, and redirects."""

from __future__ import annotations

import re
from html import unescape

from evenrank.annotate.links import Namespaces
from evenrank.annotate.quality import quality_counts
from evenrank.annotate.stage import StageBatch
from evenrank.annotate.wikitext import parse_wikitext
from evenrank.formats.batches import RawBatch
from evenrank.formats.dump import Site, parse_dump

_REDIRECT = re.compile(rb'<title>([^<]*)</title>\s*<ns>0</ns>\s*<id>\d+</id>\s*<redirect title="([^"]*)"')
_ID = re.compile(rb"<id>(\d{1,10})</id>")
_DAY = re.compile(rb"<timestamp>(\d{4}-\d\d-\d\d)")


def annotate_pages(batch: RawBatch, site: Site) -> StageBatch:
    """Rows of `pages` and `redirects` for a batch of pages. A pure function, for any engine to map."""
    parsed = parse_dump(batch, site)
    namespaces = Namespaces.local(site.namespace(6, "File"), site.namespace(14, "Category"))
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
