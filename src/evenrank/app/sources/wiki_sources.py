"""Sources that are read from the configured wiki: a category with depth, a project banner, the links of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenrank.app.pages.i18n import Message
from evenrank.app.sources.brought import SourceError, WikiArticles
from evenrank.app.sources.source import Source
from evenrank.wikipedia.mediawiki.categories import banner_pages, category_members
from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.publish import ADVICE
from evenrank.wikipedia.mediawiki.settings import WikiError
from evenrank.wikipedia.mediawiki.titles import WikiPage, page_links, resolve_titles

MAX_RESOLVED = 1000
"""Titles that are looked up on the wiki because the collection does not have them; 50 take one request."""


@dataclass(frozen=True)
class WikiSources:
    """The sources of one wiki, behind `brought.Wiki`."""

    client: WikiClient

    def read(self, source: Source) -> WikiArticles:
        """The articles of a source; SourceError, in words for people, when the wiki does not give them."""
        try:
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
            found = resolve_titles(self.client, titles[:MAX_RESOLVED])
        except WikiError:
            return {}
        return {given: page.page_id for given, page in found.pages.items()}

    def _category(self, source: Source) -> WikiArticles:
        found = category_members(self.client, source.text, source.depth)
        shown = found.levels if source.depth else ()
        levels = [Message("level %(n)s: %(added)s", n=level.depth, added=level.n_added) for level in shown]
        return WikiArticles(_pages(found.pages), notes=_notes(levels, found.is_complete))

    def _banner(self, source: Source) -> WikiArticles:
        found = banner_pages(self.client, source.text)
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
