"""What an assessor reads of an article: its cleaned text, without anything that reveals its quality."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import orjson

from evenrank.core.records import Article
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

_UPKEEP = re.compile(
    r"\b(?:stubs?|good articles|featured articles|wikipedia|articles? (?:with|needing|lacking|containing)"
    r"|use \w+ (?:dates|english)|short description|all (?:articles|pages)|webarchive|cs1)\b",
    re.I,
)
"""Categories of upkeep: many of them say how good an article is."""
_PICTURE = re.compile(r"\.(?:jpe?g|png|svg|gif|tiff?|webp|ogg|webm|pdf)$", re.I)


@dataclass(frozen=True, slots=True)
class ContentPart:
    """A heading with the text below it."""

    level: int
    """1 to 6; 0 for the lead, which has no heading."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ArticleContent:
    """One article as it is shown."""

    title: str
    parts: tuple[ContentPart, ...]
    """Lead and sections in the article's order."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values of the infobox."""
    tables: tuple[str, ...] = ()
    """Words of table cells, one table each."""
    captions: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    def texts(self) -> list[str]:
        """All texts, for finding words in them."""
        parts = [text for part in self.parts for text in (part.title, part.text)]
        facts = [value for _, value in self.facts]
        return [self.title, *parts, *facts, *self.tables, *self.captions, *self.categories]


def content_of(article: Article) -> ArticleContent:
    """The content of an article of the corpus."""
    page = parse_wikitext(article.text)
    sections = [ContentPart(section.level, section.title, section.text) for section in page.sections]
    return ArticleContent(
        title=article.title,
        parts=tuple(_without_empty([ContentPart(0, "", page.lead), *sections])),
        facts=tuple((_label(name), value) for name, value in page.infobox if value and not _is_picture(name, value)),
        tables=tuple(line for line in page.tables.splitlines() if line.strip()),
        captions=page.captions,
        categories=tuple(name for name in page.categories if not _UPKEEP.search(name)),
    )


def _without_empty(parts: list[ContentPart]) -> Iterator[ContentPart]:
    """The parts that have text, or a part below them: a list of references, once cleaned, is a bare heading."""
    for part, following in zip(parts, [*parts[1:], ContentPart(0, "", "")], strict=True):
        if part.text or following.level > part.level > 0:
            yield part


def _label(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()


def _is_picture(name: str, value: str) -> bool:
    return name.lower().startswith(("image", "logo", "map")) or _PICTURE.search(value) is not None


def pack_content(content: ArticleContent) -> bytes:
    """The content as compressed bytes."""
    return zlib.compress(orjson.dumps(asdict(content)), 6)


def unpack_content(blob: bytes) -> ArticleContent:
    """The content in bytes that `pack` made."""
    record = orjson.loads(zlib.decompress(blob))
    return ArticleContent(
        title=record["title"],
        parts=tuple(ContentPart(**part) for part in record["parts"]),
        facts=tuple((name, value) for name, value in record["facts"]),
        tables=tuple(record["tables"]),
        captions=tuple(record["captions"]),
        categories=tuple(record["categories"]),
    )
