"""Articles that people bring to a list: each source is read, from a text or from the wiki, matched, then combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.app.articles.source import (
    MAX_ENTRIES,
    TOO_MANY,
    WIKI_KINDS,
    EntriesError,
    Source,
    SourceEntry,
    parse_entries,
)
from evenrank.app.articles.titles import TitleIndex
from evenrank.app.pages.i18n import Message
from evenrank.app.request.capacity import BusyError, waiting_elsewhere
from evenrank.trec.collection import Collection
from evenrank.trec.title_hashes import normal_title
from evenrank.wikipedia.mediawiki.categories import banner_pages, category_members
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import ADVICE
from evenrank.wikipedia.mediawiki.settings import WikiError
from evenrank.wikipedia.mediawiki.titles import WikiPage, page_links, resolve_titles

MAX_ARTICLES = 10_000
"""Articles that a question may choose from when people bring them: they take about a second to rank."""
MAX_LISTED = 500
"""Unmatched entries that are kept for each source; more are counted."""
NOT_HERE = "not in this collection"
NOT_ARTICLE = "not an article"
MAX_RESOLVED = 1000
"""Titles that are looked up on the wiki because the collection does not have them; 50 take one request."""


class SourceError(Exception):
    """A source that cannot be read; the text says why."""


@dataclass(frozen=True)
class WikiArticles:
    """What a wiki answers about a source."""

    pages: Sequence[tuple[int, str, str]]
    """Page id, title and importance (empty when unknown) of each article."""
    missing: Sequence[str] = ()
    """Titles without an article."""
    notes: Sequence[Message] = ()
    """What the reader should know, such as what each level of a category adds."""


@dataclass(frozen=True)
class SourceReport:
    """What became of one source."""

    label: str
    role: str
    n_given: int
    n_matched: int
    unmatched: tuple[tuple[str, str], ...] = ()
    """Entries that match no article here, with the reason; the first of them when there are many."""
    n_unmatched: int = 0
    note: str = ""
    """What the reader should know, in reports from before notes were translated."""
    notes: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The same as texts with their values."""


@dataclass(frozen=True)
class UserArticles:
    """The articles of a project as people brought them."""

    page_ids: NDArray[np.int32]
    """Ascending; all of them are in the collection."""
    reports: tuple[SourceReport, ...]
    importance: Mapping[int, str] = field(default_factory=dict)
    """Importance by page id, where a banner gives it."""
    never: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    """Articles that must not be shown, when nothing else was brought."""
    is_restricting: bool = True
    """False when sources only say what must not be shown."""

    def to_json(self, left_out: Mapping[str, int]) -> str:
        """The reports and importances as they are stored, and how many articles are not listed, by reason."""
        accounts = {"n_brought": len(self.page_ids), "left_out": left_out} if self.is_restricting else {}
        record = {"reports": [asdict(report) for report in self.reports], "importance": self.importance, **accounts}
        return orjson.dumps(record, option=orjson.OPT_NON_STR_KEYS).decode()


def reports_from_json(text: str | None) -> tuple[SourceReport, ...]:
    """Stored reports."""
    if not text:
        return ()
    records: list[dict[str, Any]] = orjson.loads(text)["reports"]
    return tuple(
        SourceReport(**{**record, "unmatched": tuple((given, reason) for given, reason in record["unmatched"])})
        for record in records
    )


def left_out_from_json(text: str | None) -> tuple[int, dict[str, int]]:
    """How many articles were brought, and how many of them are not listed, by reason; 0 where that was not stored."""
    record = orjson.loads(text) if text else {}
    return record.get("n_brought", 0), record.get("left_out", {})


def importance_from_json(text: str | None) -> dict[int, str]:
    """Stored importances by page id."""
    return {int(page): value for page, value in orjson.loads(text)["importance"].items()} if text else {}


def combine_sources(
    collection: Collection, index: TitleIndex, sources: Iterable[Source], wiki: WikiSources | None
) -> UserArticles:
    """The articles in any of the `in` sources, in each of the `and` sources, and in none of the `not` sources."""
    read: list[tuple[Source, _Found]] = []
    for source in sources:
        read.append((source, _read(collection, index, source, wiki)))
        if (n_given := sum(found.report.n_given for _, found in read)) > MAX_ENTRIES:
            raise too_many(source.label, n_given, MAX_ENTRIES)
    importance: dict[int, str] = {}
    for _, found in read:
        importance |= found.importance
    by_role = {role: [found.rows for source, found in read if source.role == role] for role in ("in", "and", "not")}
    starting = by_role["in"] or by_role["and"][:1]
    rows = np.unique(np.concatenate(starting)) if starting else np.zeros(0, np.intp)
    for other in by_role["and"]:
        rows = np.intersect1d(rows, other)
    unwanted = np.unique(np.concatenate(by_role["not"])) if by_role["not"] else np.zeros(0, np.intp)
    rows = np.setdiff1d(rows, unwanted)
    if len(rows) > MAX_ARTICLES:
        raise too_many(", ".join(source.label for source, _ in read if source.role != "not"), len(rows), MAX_ARTICLES)
    return UserArticles(
        page_ids=np.asarray(collection.page_ids[rows], np.int32),
        reports=tuple(found.report for _, found in read),
        importance={page: value for page, value in importance.items() if value},
        never=np.asarray(collection.page_ids[unwanted], np.int32),
        is_restricting=bool(starting),
    )


def too_many(source: str, n: int, most: int) -> SourceError:
    """The error when a source brings more articles than a question may have."""
    return SourceError(Message("%(source)s: %(reason)s.", source=source, reason=Message(TOO_MANY, n=n, most=most)))


@dataclass(frozen=True)
class _Found:
    rows: NDArray[np.intp]
    report: SourceReport
    importance: Mapping[int, str] = field(default_factory=dict)


def _read(collection: Collection, index: TitleIndex, source: Source, wiki: WikiSources | None) -> _Found:
    if source.kind in WIKI_KINDS:
        if wiki is None:
            raise SourceError("This server is not connected to a wiki; paste titles or send a file.")
        return _match_wiki_articles(collection, index, source, wiki.read(source))
    try:
        entries = parse_entries(source.text, source.name)
    except EntriesError as error:
        raise SourceError(Message("%(source)s: %(reason)s.", source=source.label, reason=error.args[0])) from error
    return _match_entries(collection, index, source, entries, wiki)


def _match_entries(
    collection: Collection, index: TitleIndex, source: Source, entries: Sequence[SourceEntry], wiki: WikiSources | None
) -> _Found:
    rows = _rows_by_id(collection, entries)
    for at, entry in enumerate(entries):
        if rows[at] < 0 and entry.title and entry.is_article:
            found = index.find(entry.title)
            rows[at] = -1 if found is None else found
    missing = [at for at in range(len(entries)) if rows[at] < 0 and entries[at].is_article and entries[at].title]
    if wiki is not None and missing and collection.text_ids is None:  # a wiki answers with the numbers of its pages
        redirected = wiki.resolve([entries[at].title for at in missing])
        for at in missing:
            page = redirected.get(entries[at].title)
            if page is not None:
                rows[at] = collection.rows_of(np.array([page]))[0]
    unmatched = [
        (entry.given, NOT_HERE if entry.is_article else NOT_ARTICLE)
        for entry, row in zip(entries, rows.tolist(), strict=True)
        if row < 0
    ]
    return _Found(np.unique(rows[rows >= 0]), _report(source, len(entries), unmatched))


def _rows_by_id(collection: Collection, entries: Sequence[SourceEntry]) -> NDArray[np.intp]:
    """Rows of entries that have a page id; −1 for the others."""
    rows = np.full(len(entries), -1, np.intp)
    if collection.text_ids is not None:
        numbers = [collection.text_ids.find(entry.text_id) for entry in entries]
        return collection.rows_of(np.array(numbers or [0], np.int64))[: len(entries)]
    known = [at for at, entry in enumerate(entries) if entry.page_id is not None and entry.page_id < 2**31]
    if known:
        rows[known] = collection.rows_of(np.array([entries[at].page_id for at in known], np.int64))
    return rows


def _match_wiki_articles(collection: Collection, index: TitleIndex, source: Source, answer: WikiArticles) -> _Found:
    """Articles of the wiki by id where titles agree, else by title: a wiki that was imported again has other ids.

    Collections whose ids are text do not have the wiki's, which are numbers.
    """
    pages = [page if collection.text_ids is None else 0 for page, _, _ in answer.pages]
    rows = collection.rows_of(np.array(pages or [0], np.int64))[: len(answer.pages)]
    titles = collection.titles
    unmatched, kept, importance = [], [], {}
    for (_, title, value), row in zip(answer.pages, rows.tolist(), strict=True):
        normal = normal_title(title)
        is_same = row >= 0 and (titles is None or normal_title(titles[row]) == normal)
        found = row if is_same else index.find(normal)
        if found is None:
            unmatched.append((title, NOT_HERE))
        else:
            kept.append(found)
            importance[int(collection.page_ids[found])] = value
    unmatched += [(title, "no article on the wiki") for title in answer.missing]
    n_given = len(answer.pages) + len(answer.missing)
    return _Found(np.unique(np.array(kept, np.intp)), _report(source, n_given, unmatched, answer.notes), importance)


def _report(
    source: Source, n_given: int, unmatched: list[tuple[str, str]], notes: Sequence[Message] = ()
) -> SourceReport:
    return SourceReport(
        label=source.label,
        role=source.role,
        n_given=n_given,
        n_matched=n_given - len(unmatched),
        unmatched=tuple(unmatched[:MAX_LISTED]),
        n_unmatched=len(unmatched),
        notes=tuple((note.template, dict(note.values)) for note in notes),
    )


@dataclass(frozen=True)
class WikiSources:
    """Reads sources from the configured wiki."""

    client: WikiClient

    def read(self, source: Source) -> WikiArticles:
        """The articles of a source; SourceError, in words for people, when the wiki does not give them."""
        try:
            with waiting_elsewhere():
                return {"category": self._category, "banner": self._banner, "links": self._links}[source.kind](source)
        except WikiError as error:
            raise SourceError(
                Message(
                    "%(source)s: the wiki did not give its articles: %(reason)s.",
                    source=source.label,
                    reason=wiki_fault(error),
                )
            ) from error

    def resolve(self, titles: Sequence[str]) -> Mapping[str, int]:
        """Page ids of titles with redirects followed; a wiki that does not answer resolves none."""
        try:
            with waiting_elsewhere():
                found = resolve_titles(self.client, titles[:MAX_RESOLVED])
        except (WikiError, BusyError):
            return {}
        return {given: page.page_id for given, page in found.pages.items()}

    def _category(self, source: Source) -> WikiArticles:
        found = category_members(self.client, source.text, source.depth)
        if not found.pages:
            raise SourceError(
                Message("%(source)s: the wiki has no such category, or no article in it.", source=source.label)
            )
        shown = found.levels if source.depth else ()
        levels = [Message("level %(n)s: %(added)s", n=level.depth, added=level.n_added) for level in shown]
        return WikiArticles(_pages(found.pages), notes=_notes(levels, found.is_complete))

    def _banner(self, source: Source) -> WikiArticles:
        found = banner_pages(self.client, source.text)
        if not found.pages:
            raise SourceError(Message("%(source)s: no article of the wiki has this banner.", source=source.label))
        without = found.n_without_article
        left_out = [Message("talk pages without an article, left out: %(n)s", n=without)] if without else []
        return WikiArticles(_pages(found.pages), notes=_notes(left_out, found.is_complete))

    def _links(self, source: Source) -> WikiArticles:
        found = page_links(self.client, source.text)
        return WikiArticles(_pages(found.pages), found.missing, _notes([], found.is_complete))


def _pages(pages: Sequence[WikiPage]) -> list[tuple[int, str, str]]:
    return [(page.page_id, page.title, page.importance) for page in pages]


def _notes(notes: list[Message], is_complete: bool) -> list[Message]:
    return notes if is_complete else [*notes, Message("there are more than could be read")]


def wiki_fault(error: WikiError) -> Message:
    """The error as a message; advice inside it is a message too, what the wiki itself said stays as it is."""
    values = {
        name: Message(value) if isinstance(value, str) and value in ADVICE.values() else value
        for name, value in error.values.items()
    }
    return Message(error.template, **values)
