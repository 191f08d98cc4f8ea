"""Wikitext → the fields of a page and its counts, in time linear in its length whatever it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from evenrank.wikipedia.annotate.inline import (
    ENGLISH,
    LinkFields,
    Namespaces,
    Visible,
    count_links,
    decode_references,
    file_caption,
    one_line,
    resolve_links,
    split_hidden,
    strip_markup,
    tidy,
)
from evenrank.wikipedia.annotate.templates import TemplateFields, lift_templates, template_rules


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


_MARKS = (("[", ("[[", "[http", "[//")), ("{", ("{{", "{|")), ("_", ("__",)), ("\0", ("\0",)))
"""Marks by their first character: most texts do not hold it, and one character is found far faster than two."""
_QUOTES = re.compile("''")
"""Most texts hold an apostrophe; two in a row are found faster by an expression than by `in`."""
_FIRST_MARKS = ("*", "#", ":", ";", "==", "----")
_LINE_MARK = re.compile(r"\n(?:[*#:;]|==|----)")
_TAG, _REFERENCE = re.compile(r"<[a-zA-Z/!]"), re.compile(r"&#?\w{1,31};")
_STRUCTURE = re.compile(r"\[\[|\{\{|\n==")
_HEADING = re.compile(r"\n(=[^\n]+=)[ \t]*(?=\n)")

WIDEST_WRAPPED = 130
"""Characters of a line; longer ones are paragraphs."""
WRAP_SLACK = 0.85
"""How much of the widest line a line must fill before it is broken."""


def parse_wikitext(text: str, namespaces: Namespaces = ENGLISH) -> PageText:
    """The fields of a page. Never fails: broken markup stays as text. Text without markup passes unchanged."""
    if not has_markup(text):
        return _plain_page(text)
    visible = split_hidden(text.replace("\0", "\N{REPLACEMENT CHARACTER}").replace("\r\n", "\n"))
    fields = TemplateFields(LinkFields(namespaces))
    body = lift_templates("\n" + resolve_links(visible.text, fields.links), fields)
    if "[" in body:
        body = resolve_links(body, fields.links, is_last=True)
    lead, sections = _split_sections(strip_markup(body))
    if not sections and not _STRUCTURE.search(text):
        lead, sections = first_paragraph(lead)
    _read_galleries(visible, fields.links)
    return PageText(
        lead=lead,
        sections=sections,
        infobox=tuple(fields.infobox),
        tables="\n".join(fields.tables),
        captions=_lines(fields.links.captions),
        categories=_lines(fields.links.categories),
        anchors=_lines(fields.links.anchors),
        counts=page_counts(text, visible, fields.links, sections),
    )


def has_markup(text: str) -> bool:
    """Whether anything in the text could be wikitext."""
    if text.startswith(_FIRST_MARKS) or _LINE_MARK.search(text) or _QUOTES.search(text):
        return True
    for first, marks in _MARKS:
        if first in text:
            for mark in marks:
                if mark in text:
                    return True
    return ("<" in text and _TAG.search(text) is not None) or ("&" in text and _REFERENCE.search(text) is not None)


def _plain_page(text: str) -> PageText:
    """A page without any markup: the first paragraph leads."""
    lead, sections = first_paragraph(text)
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    counts = PageCounts(n_bytes, 0, (0, 0, 0, 0, 0, 0), 0, 0, 0, 0)
    return PageText(lead, sections, (), "", (), (), (), counts)


def first_paragraph(text: str) -> tuple[str, tuple[Section, ...]]:
    """The first paragraph that is not empty, and the rest as a section without title."""
    lead = opening_paragraph(text)
    return lead, (Section(0, "", text[len(lead) + 1 :]),) if len(lead) < len(text) else ()


def opening_paragraph(text: str) -> str:
    """The text up to the end of its first paragraph that is not empty; all of it where nothing follows.

    A line is a paragraph; of text that is wrapped at a fixed width, the lines up to an empty one are.
    """
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if 0 <= end - start <= WIDEST_WRAPPED:
        end = _end_of_wrapped(text, start, end)
    return text if end < 0 or end + 1 == len(text) else text[:end]


def _end_of_wrapped(text: str, start: int, end: int) -> int:
    """Where the first paragraph ends if its lines are wrapped; `end`, that of the first line, if they are not.

    In wrapped text the first word of a line would not have fitted on the line before.
    """
    last = text.find("\n\n", start)
    lines = (text[start:] if last < 0 else text[start:last]).rstrip().split("\n")
    width = max(map(len, lines))
    if width > WIDEST_WRAPPED or len(lines) < 2:
        return end
    broken = [len(line) + 1 + len(after.split(None, 1)[0]) for line, after in pairwise(lines) if after.strip()]
    n_sentences = sum(line.rstrip().endswith((".", "!", "?", ":")) for line in lines[:-1])
    is_wrapped = sum(n > WRAP_SLACK * width for n in broken) >= 0.9 * (len(lines) - 1)
    return last if is_wrapped and 2 * n_sentences <= len(lines) - 1 else end


def _split_sections(text: str) -> tuple[str, tuple[Section, ...]]:
    """Text before the first heading, and the sections."""
    lead, *rest = _HEADING.split(f"\n{tidy(text)}\n")
    sections = []
    for heading, content in zip(rest[::2], rest[1::2], strict=True):
        level, title = _heading(heading)
        sections.append(Section(level, title, decode_references(content).strip()))
    return decode_references(lead).strip(), tuple(sections)


def _heading(line: str) -> tuple[int, str]:
    """Level and title of a line that starts and ends with equals signs."""
    n_left = len(line) - len(line.lstrip("="))
    n_right = len(line) - len(line.rstrip("="))
    level = max(1, min(n_left, n_right, 6, (len(line) - 1) // 2))
    return level, one_line(line[level:-level])


def _read_galleries(visible: Visible, links: LinkFields) -> None:
    """The captions of galleries, into `links`."""
    for gallery in visible.galleries:
        for line in resolve_links(gallery, links).splitlines():
            _, bar, options = line.partition("|")
            if caption := file_caption(bar + options):
                links.captions.append(caption)


def _lines(values: list[str]) -> tuple[str, ...]:
    """Values as readable text, each on one line, without empty ones."""
    if not values:
        return ()
    joined = "\n".join([value.replace("\n", " ") if "\n" in value else value for value in values])
    lines = decode_references(strip_markup(joined)).split("\n")
    return tuple(line for line in map(str.strip, lines) if line)


MEDIA_EXTENSIONS = "jpe?g|png|gif|svg|tiff?|bmp|webp|xcf|ogg|oga|ogv|webm|mpe?g|mp3|mp4|midi?|flac|wav|opus"
LONGEST_FILE_NAME = 240
"""MediaWiki's limit."""

_EXTENSION = re.compile(rf"\.(?:{MEDIA_EXTENSIONS})\s*(?=[|}}\n])", re.IGNORECASE)
_BEFORE_FILE_NAME = re.compile(r"[|=][^\n|=\[\]{}<>/:]*$")


def page_counts(text: str, visible: Visible, links: LinkFields, sections: tuple[Section, ...]) -> PageCounts:
    """The counts of a page from its wikitext, its visible part, its links and its sections."""
    levels = [section.level for section in sections]
    return PageCounts(
        n_bytes=len(text.encode("utf-8", "surrogatepass")),
        n_media=links.n_files + _file_arguments(visible.text) + sum(map(_gallery_files, visible.galleries)),
        n_headings=tuple(levels.count(level) for level in range(1, 7)),
        n_references=visible.n_references,
        n_short_footnotes=len(template_rules(links.namespaces.language).footnote.findall(visible.text)),
        n_links=len(links.anchors) + count_links(visible.references, links.namespaces),
        n_categories=len(links.categories),
    )


def _file_arguments(text: str) -> int:
    """Number of file names given to templates."""
    ends = (match.start() for match in _EXTENSION.finditer(text))
    return sum(1 for end in ends if _BEFORE_FILE_NAME.search(text[max(0, end - LONGEST_FILE_NAME) : end]))


def _gallery_files(gallery: str) -> int:
    """Number of files in a gallery: one a line."""
    return sum(1 for line in gallery.splitlines() if line.strip())
