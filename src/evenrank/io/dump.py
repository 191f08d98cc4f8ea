"""MediaWiki XML dumps: the articles of namespace 0, without redirects.

Pages are found by their tags, not by an XML parser: a dump is regular enough, reading can start at any page, and a
damaged page costs only itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from evenrank.core.records import Article
from evenrank.io.content import ParsedBatch, RawBatch, read_head
from evenrank.io.corpus import LARGEST_PAGE_ID
from evenrank.io.faults import FaultLog

PAGE_END = b"</page>"
PAGE_START = b"<page>"
_HEAD = re.compile(rb"\s*<title>([^<]*)</title>\s*<ns>\s*(-?\d{1,9})\s*</ns>\s*<id>\s*(\d{1,10})\s*</id>")
_REDIRECT = re.compile(rb"\s*#redirect\b", re.IGNORECASE)
_LANGUAGE = re.compile(rb'<mediawiki[^>]{0,2000}?\sxml:lang="([A-Za-z0-9-]{2,20})"')
_BASE = re.compile(rb"<base>([^<]*)</base>")
_NAMESPACE = re.compile(rb'<namespace key="(-?\d{1,9})"[^>]*>([^<]*)</namespace>')
_ESCAPES = ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&#039;", b"'"), (b"&amp;", b"&"))


@dataclass(frozen=True, slots=True)
class Site:
    """What a dump says about its wiki."""

    base_url: str = "https://en.wikipedia.org/wiki/"
    """Address of a page, without its title."""
    namespaces: tuple[tuple[int, str], ...] = ()
    """Numbers and names; 6 holds files, 14 categories."""
    language: str = "en"
    """Code of the wiki's language."""


def read_site(path: str | os.PathLike[str]) -> Site:
    """The wiki of a dump, from its first lines; English Wikipedia where they do not say."""
    head = read_head(path)
    base = _BASE.search(head)
    names = [(int(key), _text(name)[0]) for key, name in _NAMESPACE.findall(head)]
    place, slash, _ = base[1].rpartition(b"/") if base else (b"", b"", b"")
    language = _LANGUAGE.search(head)
    return Site(
        _text(place + slash)[0] if slash else Site().base_url,
        tuple(names),
        language[1].decode().lower() if language else Site().language,
    )


def parse_dump(batch: RawBatch, site: Site) -> ParsedBatch:
    """The articles of a batch of pages; other namespaces and redirects are left out."""
    articles: list[Article] = []
    faults = FaultLog()
    for line, page in _pages(batch):
        try:
            article, is_repaired = _article(page, site)
        except _BrokenPageError as error:
            faults.add(batch.path, line, str(error), "this page is left out")
            continue
        if article is not None:
            articles.append(article)
            faults.n_repaired += is_repaired
    return ParsedBatch(tuple(articles), faults, batch.end, batch.n_file_bytes)


class _BrokenPageError(ValueError):
    """A page that cannot be read; the message says what was found."""


def _pages(batch: RawBatch) -> Iterator[tuple[int, bytes | None]]:
    """Line and content of each page; None for one without an end."""
    line = batch.start.line
    *ended, rest = batch.data.split(PAGE_END)
    for piece, has_end in [*((piece, True) for piece in ended), (rest, False)]:
        between, *pages = piece.split(PAGE_START)
        line += between.count(b"\n")
        for number, page in enumerate(pages, 1):
            yield line, page if has_end and number == len(pages) else None
            line += page.count(b"\n")
        if has_end and not pages:
            yield line, None


def _article(page: bytes | None, site: Site) -> tuple[Article | None, bool]:
    """The article of a page, if it is one, and whether bytes that are no text were replaced in it."""
    if page is None:
        raise _BrokenPageError("a page without its start or its end")
    head = _HEAD.match(page)
    if head is None or not 0 < int(head[3]) <= LARGEST_PAGE_ID:
        raise _BrokenPageError("a page that does not start with title, ns and id")
    is_redirect = page.find(b"<redirect", head.end(), page.find(b"<revision", head.end())) >= 0
    if int(head[2]) != 0 or is_redirect:
        return None, False
    raw = _wikitext(page)
    if _REDIRECT.match(raw):
        return None, False
    (title, is_title_repaired), (text, is_text_repaired) = _text(head[1]), _text(raw)
    url = site.base_url + quote(title.replace(" ", "_"), safe="/:(),!*'@;~-._$")
    return Article(int(head[3]), title, url, text), is_title_repaired or is_text_repaired


def _wikitext(page: bytes) -> bytes:
    """Wikitext of the newest revision, as it is in the file."""
    start = page.rfind(b"<text")
    start_end = page.find(b">", start)
    if start < 0 or start_end < 0:
        raise _BrokenPageError("a page without text")
    if page[start_end - 1 : start_end] == b"/":
        return b""
    end = page.find(b"</text>", start_end)
    if end < 0:
        raise _BrokenPageError("a page whose text has no end")
    return page[start_end + 1 : end]


def _text(raw: bytes) -> tuple[str, bool]:
    """Characters of an XML text, and whether bytes that are no text were replaced."""
    if b"&" in raw:
        for escape, character in _ESCAPES:
            raw = raw.replace(escape, character)
    try:
        text, is_repaired = raw.decode("utf-8"), False
    except UnicodeDecodeError:
        text, is_repaired = raw.decode("utf-8", "replace"), True
    if "\0" in text:
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}"), True
    return text, is_repaired
