"""The fields of a page that search, people and the quality model use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Section(NamedTuple):
    """A heading and the text below it, up to the next heading of any level."""

    level: int
    """Number of equals signs, 1 to 6; 0 for text of a page without markup after its first paragraph."""
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class PageCounts:
    """What the quality models count, outside comments and raw text."""

    n_bytes: int
    """Length of the wikitext in UTF-8."""
    n_media: int
    """Files shown: links to files, lines of galleries, file names given to templates."""
    n_headings: tuple[int, ...]
    """Headings of level 1, 2, … 6."""
    n_references: int
    """Uses of `<ref>`, with repeated uses of a named reference."""
    n_short_footnotes: int
    """References made by templates such as {{sfn}}."""
    n_links: int
    """Links to pages, also inside references, templates and tables; not files, categories, other languages."""
    n_categories: int
    """Categories that the page says it is in."""

    def headings(self, *levels: int) -> int:
        """Number of headings of these levels."""
        return sum(self.n_headings[level - 1] for level in levels)


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as text, field by field."""

    lead: str
    """Text before the first heading; of a page without markup, its first paragraph."""
    sections: tuple[Section, ...]
    """Sections in the page's order."""
    infobox: tuple[tuple[str, str], ...]
    """Names and values of the infoboxes; empty name for a value by position."""
    tables: str
    """Words of the table cells, one table a line."""
    captions: tuple[str, ...]
    """Captions of images and galleries."""
    categories: tuple[str, ...]
    """Names of the categories, without prefix and sort key."""
    anchors: tuple[str, ...]
    """Words under which the page links to other pages."""
    counts: PageCounts
    """What the quality models count."""

    @property
    def body(self) -> str:
        """Lead and sections with their titles, for search and people."""
        parts = [self.lead] if self.lead else []
        for section in self.sections:
            parts += [part for part in (section.title, section.text) if part]
        return "\n".join(parts)

    @property
    def infobox_values(self) -> str:
        """Values of the infoboxes as one text."""
        return "\n".join(value for _, value in self.infobox if value)
