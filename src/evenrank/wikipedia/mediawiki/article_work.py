"""What a wiki says of articles now: what they have and lack, how often they are read, how important they are."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from evenrank.wikipedia.annotate.inline import ENGLISH, Namespaces
from evenrank.wikipedia.annotate.work_counts import NOT_COUNTED, WorkCounts, count_work
from evenrank.wikipedia.mediawiki.categories import talk_page_importances
from evenrank.wikipedia.mediawiki.client import (
    NEWEST_TEXT,
    Record,
    WikiClient,
    newest_text,
    object_at,
    record_number,
    records,
    text,
)
from evenrank.wikipedia.mediawiki.settings import WikiError
from evenrank.wikipedia.mediawiki.titles import ARTICLE, PER_CALL, greatest_importance

VIEW_DAYS = 30
"""Days of which page views are added up."""


class WikiFacts(NamedTuple):
    """What a wiki says of one article."""

    work: WorkCounts
    """Counted in its present text."""
    views: int = NOT_COUNTED
    """How often it was read in `VIEW_DAYS` days; `NOT_COUNTED` where the wiki does not say."""
    importance: str = ""
    """The greatest that a project gives it, such as `High`; empty where none does."""


def count_on_wiki(
    client: WikiClient, titles: Mapping[int, str], namespaces: Namespaces = ENGLISH
) -> dict[int, WikiFacts]:
    """The facts of articles, given as page ids with the titles that they should have; 50 articles in a call.

    An article that is gone, that has become a redirect, or whose title differs is left out: its number may be that of
    another article on this wiki. Page views come from the extension PageViewInfo, importance from PageAssessments or,
    without it, from the categories of talk pages; a wiki that has neither leaves them unknown.
    """
    found: dict[int, WikiFacts] = {}
    page_ids = list(titles)
    for start in range(0, len(page_ids), PER_CALL):
        some = "|".join(map(str, page_ids[start : start + PER_CALL]))
        counted: dict[int, WorkCounts] = {}
        for part in client.query(pageids=some, **{**NEWEST_TEXT, "prop": "info|revisions"}):
            for record in records(part, "pages"):
                wikitext = _wikitext_of(record, titles)
                if wikitext is not None:
                    counted[record_number(record, "pageid")] = count_work(wikitext, namespaces)
        views, importances = _read_extensions(client, list(counted)) if counted else ({}, {})
        for page, work in counted.items():
            found[page] = WikiFacts(work, views.get(page, NOT_COUNTED), importances.get(page, ""))
    return found


def _read_extensions(client: WikiClient, page_ids: list[int]) -> tuple[dict[int, int], dict[int, str]]:
    """Page views and importance of articles; an extension that fails leaves unknown what it would have said."""
    views: dict[int, int] = {}
    talk_pages: dict[str, int] = {}
    assessed: dict[int, list[str]] = {}
    asked = {"prop": "info|pageassessments|pageviews", "inprop": "associatedpage", "palimit": "max"}
    with suppress(WikiError):
        for part in client.query(pageids="|".join(map(str, page_ids)), pvipdays=str(VIEW_DAYS), **asked):
            for record in records(part, "pages"):
                page = record_number(record, "pageid")
                talk_pages[text(record, "associatedpage")] = page
                by_day = object_at(record, "pageviews", optional=True).values()
                by_project = object_at(record, "pageassessments", optional=True).values()
                if days := [n for n in by_day if isinstance(n, int)]:  # a day of which nothing is known is null
                    views[page] = views.get(page, 0) + sum(days)
                assessed.setdefault(page, []).extend(_importance_of(one) for one in by_project)
        if not any(assessed.values()):
            found = talk_page_importances(client, list(talk_pages))
            return views, {talk_pages[title]: found[title] for title in found.keys() & talk_pages.keys()}
    return views, {page: greatest_importance(values) for page, values in assessed.items()}


def _importance_of(assessment: object) -> str:
    return str(assessment.get("importance", "")) if isinstance(assessment, dict) else ""


def _wikitext_of(record: Record, titles: Mapping[int, str]) -> str | None:
    """The text of an article that is the one asked for; None in the parts of an answer that do not have it."""
    if record.get("missing") or record.get("redirect"):
        return None
    wanted = titles.get(record_number(record, "pageid"), "")
    if record_number(record, "ns") != ARTICLE or text(record, "title") != unicodedata.normalize("NFC", wanted):
        return None
    return newest_text(record)
