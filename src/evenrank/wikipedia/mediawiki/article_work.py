"""What articles have and lack on the wiki now, counted in their present text."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from evenrank.wikipedia.annotate.inline import ENGLISH, Namespaces
from evenrank.wikipedia.annotate.work_counts import WorkCounts, count_work
from evenrank.wikipedia.mediawiki.client import (
    NEWEST_TEXT,
    Record,
    WikiClient,
    newest_text,
    record_number,
    records,
    text,
)
from evenrank.wikipedia.mediawiki.titles import ARTICLE, PER_CALL


def count_on_wiki(
    client: WikiClient, titles: Mapping[int, str], namespaces: Namespaces = ENGLISH
) -> dict[int, WorkCounts]:
    """The counts of articles, given as page ids with the titles that they should have; 50 articles in a call.

    An article that is gone, that has become a redirect, or whose title differs is left out: its number may be that of
    another article on this wiki.
    """
    found: dict[int, WorkCounts] = {}
    page_ids = list(titles)
    for start in range(0, len(page_ids), PER_CALL):
        some = "|".join(map(str, page_ids[start : start + PER_CALL]))
        for part in client.query(pageids=some, **{**NEWEST_TEXT, "prop": "info|revisions"}):
            for record in records(part, "pages"):
                wikitext = _wikitext_of(record, titles)
                if wikitext is not None:
                    found[record_number(record, "pageid")] = count_work(wikitext, namespaces)
    return found


def _wikitext_of(record: Record, titles: Mapping[int, str]) -> str | None:
    """The text of an article that is the one asked for; None in the parts of an answer that do not have it."""
    if record.get("missing") or record.get("redirect"):
        return None
    wanted = titles.get(record_number(record, "pageid"), "")
    if record_number(record, "ns") != ARTICLE or text(record, "title") != unicodedata.normalize("NFC", wanted):
        return None
    return newest_text(record)
