"""Articles from a corpus: JSON lines of the track, or a MediaWiki XML dump.

Pages are found by their tags, not by an XML parser: a dump is regular enough, reading can start at any page, and a
damaged page costs only itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from evenrank.core.records import Article
from evenrank.core.text_ids import check_text_id
from evenrank.io.compressed import BYTE_ORDER_MARK
from evenrank.io.content import ParsedBatch, RawBatch, read_head
from evenrank.io.faults import FaultLog

LARGEST_PAGE_ID = 2**31 - 1
MAX_QUOTED = 60
"""Characters of a broken record that its fault shows."""


_UNSEEN = re.compile(r"<(script|style)\b|<!--", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style")} | {"": re.compile("-->")}
"""What ends an element whose content nobody sees; an empty name for comments."""
_TAGS = re.compile(r"<[^>]*>")


def parse_corpus(batch: RawBatch, *, has_text_ids: bool = False) -> ParsedBatch:
    """The articles of a batch of lines. Other fields than the track's are ignored, blank lines skipped.

    Where ids are text, an article has its id as `key` and no number yet.
    """
    articles: list[Article] = []
    faults = FaultLog()
    byte = batch.start.byte
    for line, record in enumerate(batch.data.split(b"\n"), batch.start.line):
        try:
            if not has_text_ids and (usual := _usual_article(record)):
                articles.append(usual)
            elif record and not record.isspace():
                fields, is_repaired = _load(record)
                articles.append(corpus_article(fields, repaired_text if is_repaired else str, has_text_ids))
                faults.n_repaired += is_repaired
        except ValueError as error:
            faults.add(batch.path, line, f"{error}, at byte {byte:,}", "this record is left out")
        byte += len(record) + 1
    return ParsedBatch(tuple(articles), faults, batch.end, batch.n_file_bytes)


def _usual_article(record: bytes) -> Article | None:
    """The article of a record as the track writes it; None for any other, which takes `_load` and
    `corpus_article`."""
    try:
        fields = orjson.loads(record)
        page_id, title, url, text = fields["id"], fields["title"], fields["url"], fields["text"]
    except (ValueError, KeyError, TypeError):
        return None
    has_types = type(page_id) is int and type(title) is type(url) is type(text) is str
    if not has_types or not 0 < page_id <= LARGEST_PAGE_ID or "\0" in text or "\0" in title or "\0" in url:
        return None
    return Article(page_id, title, url, text)


def _load(record: bytes) -> tuple[Any, bool]:
    """The JSON value of a line, and whether bytes or characters that are no text had to be replaced."""
    record = record.removeprefix(BYTE_ORDER_MARK)
    try:
        return orjson.loads(record), b"\\u0000" in record
    except orjson.JSONDecodeError:
        pass
    try:
        if not record.lstrip().startswith(b"{"):
            raise ValueError("no object")
        return json.loads(record.decode("utf-8", "replace"), strict=False), True
    except (ValueError, RecursionError) as error:
        shown = record[:MAX_QUOTED].decode("utf-8", "replace")
        raise ValueError(f"no JSON: {error}; the line starts with {shown!r}") from None


def corpus_article(fields: Any, clean: Callable[[str], str], has_text_ids: bool) -> Article:
    """The article that a JSON value describes; ValueError when it is none. `clean` makes texts fit to be written."""
    if not isinstance(fields, dict):
        raise ValueError(f"a JSON {type(fields).__name__} where an object was expected")
    page_id, key = (0, check_text_id(fields.get("id"), "id")) if has_text_ids else (_page_id(fields.get("id")), "")
    title, url, text = _text(fields, "title"), _text(fields, "url", ""), _body(fields)
    return Article(page_id, clean(title), clean(url), clean(text), key)


def _page_id(value: object) -> int:
    """A page id, also from a string of digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_PAGE_ID:
        return value
    raise ValueError(f"id is {_describe(value)} where a page id was expected")


def _text(fields: dict[str, Any], name: str, default: str | None = None) -> str:
    text = fields.get(name, default)
    if not isinstance(text, str):
        raise ValueError(f"{name} is {_describe(text)} where text was expected")
    return text


def _body(fields: dict[str, Any]) -> str:
    """The text of an article: `text`, or in the corpora of 2022 `plain` or `html`."""
    if "text" not in fields and "plain" in fields:
        return _text(fields, "plain")
    if "text" not in fields and "html" in fields:
        return text_of_html(_text(fields, "html"))
    return _text(fields, "text")


def text_of_html(html: str) -> str:
    """What a reader of the page sees: tags, scripts and styles are left out, entities replaced."""
    seen = _without_unseen(html)
    end = seen.rfind(">") + 1  # behind it there are no tags, but perhaps a million signs that each look for an end
    return unescape(_TAGS.sub(" ", seen[:end]) + seen[end:])


def _without_unseen(html: str) -> str:
    """HTML with a blank for each script, style and comment that ends; one pass, whatever is in it."""
    parts, start, place = [], 0, 0
    without_end: set[str] = set()
    while found := _UNSEEN.search(html, place):
        name = (found[1] or "").lower()
        ended = None if name in without_end else _ENDS[name].search(html, found.end())
        if ended is None:
            without_end.add(name)
            place = found.end()
        else:
            parts += [html[start : found.start()], " "]
            start = place = ended.end()
    return "".join([*parts, html[start:]])


def repaired_text(text: str) -> str:
    """A text without null characters and halves of surrogate pairs, which only a repaired record can hold."""
    whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _describe(value: object) -> str:
    return "missing" if value is None else repr(value)[:MAX_QUOTED]


CIRRUS_START = b'{"index":'
"""How the first of the two lines of each page of a Cirrus search dump begins."""
CIRRUS_BREAK = b"\n" + CIRRUS_START
"""Where such a dump is cut; lines have no line feeds inside."""
_CIRRUS_WIKI = re.compile(rb'"wiki":"([a-z_]{2,40}?)wiki"')


def parse_cirrus(batch: RawBatch, site: Site) -> ParsedBatch:
    """The articles of a Cirrus search dump, in which a wiki has parsed them: a line with the id, a line with the page.

    The text of an article is what readers see, with its headings lost but the first, and with all its categories and
    templates in the form of wikitext, those that come from templates among them.
    """
    articles: list[Article] = []
    faults = FaultLog()
    lines = ((CIRRUS_START if batch.start.byte else b"") + batch.data.removesuffix(CIRRUS_START)).split(b"\n")
    numbered = ((batch.start.line + at, line) for at, line in enumerate(lines) if line and not line.isspace())
    for number, head in numbered:
        try:
            index = _load(head)[0]
            page, is_repaired = _load(next(numbered, (number, b"{}"))[1])
            if not isinstance(index, dict) or "index" not in index or not isinstance(page, dict):
                raise ValueError("no pair of lines with index and page")
            if page.get("namespace", 0) == 0:
                page_id = _page_id(index["index"].get("_id"))
                articles.append(_cirrus_article(page_id, page, site, repaired_text if is_repaired else str))
                faults.n_repaired += is_repaired
        except (ValueError, AttributeError, TypeError) as error:
            faults.add(batch.path, number, str(error), "this page is left out")
    return ParsedBatch(tuple(articles), faults, batch.end, batch.n_file_bytes)


def _cirrus_article(page_id: int, page: dict[str, Any], site: Site, clean: Callable[[str], str]) -> Article:
    title = _text(page, "title")
    opening, body = page.get("opening_text") or "", _text(page, "text", "")
    headings = _names(page, "heading")
    if opening and body.startswith(opening):
        body = body[len(opening) :].lstrip()
        opening = f"{opening}\n\n== {headings[0]} ==\n" if headings else f"{opening}\n\n"
    else:
        opening = ""
    prefix = next((name for key, name in site.namespaces if key == CATEGORY), "Category")
    used = "".join(f"{{{{{name.partition(':')[2] or name}}}}}\n" for name in _names(page, "template"))
    filed = "".join(f"\n[[{prefix}:{name}]]" for name in _names(page, "category"))
    return Article(page_id, clean(title), page_address(site, title), clean(f"{used}{opening}{body}{filed}"))


CATEGORY = 14
"""Number of the namespace of categories."""


def _names(page: dict[str, Any], field: str) -> list[str]:
    found = page.get(field)
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def cirrus_site(path: str | os.PathLike[str]) -> Site:
    """The wiki of a Cirrus search dump, as far as its first bytes say; English Wikipedia otherwise."""
    found = _CIRRUS_WIKI.search(read_head(path))
    language = found[1].decode().replace("_", "-") if found else Site().language
    return Site(f"https://{language}.wikipedia.org/wiki/", language=language)


PAGE_END = b"</page>"
PAGE_START = b"<page>"
_HEAD = re.compile(rb"\s*<title>([^<]*)</title>\s*<ns>\s*(-?\d{1,9})\s*</ns>\s*<id>\s*(\d{1,10})\s*</id>")
_REDIRECT = re.compile(rb"\s*#redirect\b", re.IGNORECASE)
_REDIRECT_TO = re.compile(rb'<redirect(?:\s+title="([^"]*)")?')
_REVISION = re.compile(rb"<revision>\s*<id>\s*(\d{1,18})\s*</id>")
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
    names = [(int(key), _page_text(name)[0]) for key, name in _NAMESPACE.findall(head)]
    place, slash, _ = base[1].rpartition(b"/") if base else (b"", b"", b"")
    language = _LANGUAGE.search(head)
    return Site(
        _page_text(place + slash)[0] if slash else Site().base_url,
        tuple(names),
        language[1].decode().lower() if language else Site().language,
    )


def parse_dump(batch: RawBatch, site: Site) -> ParsedBatch:
    """The articles of a batch of pages; other namespaces and redirects are left out."""
    faults = FaultLog()
    pages = parse_pages(batch, frozenset({0}), faults)
    articles = [_article_of(page, site) for page in pages if page.redirect is None]
    return ParsedBatch(tuple(articles), faults, batch.end, batch.n_file_bytes)


class DumpPage(NamedTuple):
    """A page of any namespace."""

    page_id: int
    namespace: int
    title: str
    """With the name of its namespace in front."""
    text: str
    """Wikitext of its newest revision."""
    revision: int
    """Number of that revision; they rise with time over the whole wiki. 0 where the dump does not say."""
    redirect: str | None
    """Title that a redirect leads to, empty where only its text says that it is one; None for other pages."""


def parse_pages(batch: RawBatch, namespaces: frozenset[int], faults: FaultLog) -> list[DumpPage]:
    """The pages of a batch that are in some namespaces, redirects too; broken ones go to `faults`."""
    pages: list[DumpPage] = []
    for line, raw in _pages(batch):
        try:
            page, is_repaired = _dump_page(raw, namespaces)
        except ValueError as error:
            faults.add(batch.path, line, str(error), "this page is left out")
            continue
        if page is not None:
            pages.append(page)
            faults.n_repaired += is_repaired and page.redirect is None
    return pages


def page_address(site: Site, title: str) -> str:
    """Address of the page of a title."""
    return site.base_url + quote(title.replace(" ", "_"), safe="/:(),!*'@;~-._$")


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


def _dump_page(page: bytes | None, namespaces: frozenset[int]) -> tuple[DumpPage | None, bool]:
    """A page, if it is in one of the namespaces, and whether bytes that are no text were replaced in it."""
    if page is None:
        raise ValueError("a page without its start or its end")
    head = _HEAD.match(page)
    if head is None or not 0 < int(head[3]) <= LARGEST_PAGE_ID:
        raise ValueError("a page that does not start with title, ns and id")
    if int(head[2]) not in namespaces:
        return None, False
    (title, is_title_repaired), start = _page_text(head[1]), page.find(b"<revision", head.end())
    redirect = _REDIRECT_TO.search(page, head.end(), max(start, head.end()))
    target: str | None
    if redirect is not None:
        raw, target = b"", _page_text(redirect[1] or b"")[0]
    else:
        raw = _wikitext(page)
        target = "" if _REDIRECT.match(raw) else None
    text, is_text_repaired = _page_text(raw)
    number = _REVISION.match(page, start) if start >= 0 else None
    found = DumpPage(int(head[3]), int(head[2]), title, text, int(number[1]) if number else 0, target)
    return found, is_title_repaired or is_text_repaired


def _article_of(page: DumpPage, site: Site) -> Article:
    return Article(page.page_id, page.title, page_address(site, page.title), page.text)


def _wikitext(page: bytes) -> bytes:
    """Wikitext of the newest revision, as it is in the file."""
    start = page.rfind(b"<text")
    start_end = page.find(b">", start)
    if start < 0 or start_end < 0:
        raise ValueError("a page without text")
    if page[start_end - 1 : start_end] == b"/":
        return b""
    end = page.find(b"</text>", start_end)
    if end < 0:
        raise ValueError("a page whose text has no end")
    return page[start_end + 1 : end]


def _page_text(raw: bytes) -> tuple[str, bool]:
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
