"""What the quality models count on a page."""

from __future__ import annotations

import re

from evenrank.annotate.hidden import Visible
from evenrank.annotate.links import LinkFields, count_links
from evenrank.annotate.page import PageCounts, Section
from evenrank.annotate.templates import template_rules

MEDIA_EXTENSIONS = "jpe?g|png|gif|svg|tiff?|bmp|webp|xcf|ogg|oga|ogv|webm|mpe?g|mp3|mp4|midi?|flac|wav|opus"
LONGEST_FILE_NAME = 240
"""MediaWiki's limit."""

_EXTENSION = re.compile(rf"\.(?:{MEDIA_EXTENSIONS})\s*(?=[|}}\n])", re.IGNORECASE)
_BEFORE_FILE_NAME = re.compile(r"[|=][^\n|=\[\]{}<>/:]*$")


def count_page(text: str, visible: Visible, links: LinkFields, sections: tuple[Section, ...]) -> PageCounts:
    """The counts of a page from its wikitext, its visible part, its links and its sections."""
    levels = [section.level for section in sections]
    return PageCounts(
        n_bytes=len(text.encode("utf-8", "surrogatepass")),
        n_media=links.n_files + _file_arguments(visible.text) + sum(map(_gallery_files, visible.galleries)),
        n_headings=tuple(levels.count(level) for level in range(1, 7)),
        n_references=visible.n_references,
        n_short_footnotes=len(template_rules().footnote.findall(visible.text)),
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
