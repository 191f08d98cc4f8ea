"""Wikitext → the fields of a page, in time linear in its length whatever it holds."""

from __future__ import annotations

import re

from evenrank.annotate.counts import count_page
from evenrank.annotate.hidden import Visible, split_hidden
from evenrank.annotate.inline import decode_references, one_line, strip_markup, tidy
from evenrank.annotate.links import LinkFields, file_caption, resolve_links
from evenrank.annotate.namespaces import ENGLISH, Namespaces
from evenrank.annotate.page import PageCounts, PageText, Section
from evenrank.annotate.templates import TemplateFields, lift_templates

_MARKS = {"[": ("[[", "[http", "[//"), "{": ("{{", "{|"), "'": ("''",), "_": ("__",), "\0": ("\0",)}
"""Marks by their first character: most texts do not hold it, and one character is found far faster than two."""
_FIRST_MARKS = ("*", "#", ":", ";", "==", "----")
_LINE_MARK = re.compile(r"\n(?:[*#:;]|==|----)")
_TAG_OR_REFERENCE = re.compile(r"<[a-zA-Z/!]|&#?\w{1,31};")
_STRUCTURE = re.compile(r"\[\[|\{\{|\n==")
_HEADING = re.compile(r"\n(=[^\n]+=)[ \t]*(?=\n)")


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
        counts=count_page(text, visible, fields.links, sections),
    )


def has_markup(text: str) -> bool:
    """Whether anything in the text could be wikitext."""
    if text.startswith(_FIRST_MARKS) or _LINE_MARK.search(text):
        return True
    for first, marks in _MARKS.items():
        if first in text and any(mark in text for mark in marks):
            return True
    return ("<" in text or "&" in text) and _TAG_OR_REFERENCE.search(text) is not None


def _plain_page(text: str) -> PageText:
    """A page without any markup: the first paragraph leads."""
    lead, sections = first_paragraph(text)
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    counts = PageCounts(n_bytes, 0, (0, 0, 0, 0, 0, 0), 0, 0, 0, 0)
    return PageText(lead, sections, (), "", (), (), (), counts)


def first_paragraph(text: str) -> tuple[str, tuple[Section, ...]]:
    """The first paragraph that is not empty, and the rest as a section without title."""
    end = text.find("\n", len(text) - len(text.lstrip()))
    if end < 0 or end + 1 == len(text):
        return text, ()
    return text[:end], (Section(0, "", text[end + 1 :]),)


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
    joined = "\n".join([value.replace("\n", " ") if "\n" in value else value for value in values])
    lines = decode_references(strip_markup(joined)).split("\n")
    return tuple(line for line in map(str.strip, lines) if line)
