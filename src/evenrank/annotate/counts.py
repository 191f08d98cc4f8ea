"""What the quality models count on a page."""

from __future__ import annotations

import re
from functools import cache

from evenrank.annotate.hidden import Visible
from evenrank.annotate.namespaces import Namespaces
from evenrank.annotate.page import PageCounts, Section
from evenrank.annotate.templates import template_rules

MEDIA_EXTENSIONS = "jpe?g|png|gif|svg|tiff?|bmp|webp|xcf|ogg|oga|ogv|webm|mpe?g|mp3|mp4|midi?|flac|wav|opus"

_FILE_ARGUMENT = re.compile(rf"[|=][^\n|=\[\]{{}}<>/:]*\.(?:{MEDIA_EXTENSIONS})\s*(?=[|}}\n])", re.IGNORECASE)
_LINK = re.compile(r"\[\[[^\[\]]")


@cache
def _prefix_patterns(namespaces: Namespaces) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Openings of links to files and to categories; whole links to other languages."""
    file, category = ("|".join(sorted(map(re.escape, names))) for names in (namespaces.file, namespaces.category))
    return (
        re.compile(rf"\[\[\s*(?:{file})\s*:", re.IGNORECASE),
        re.compile(rf"\[\[\s*(?:{category})\s*:", re.IGNORECASE),
        re.compile(r"\[\[\s*(?:[a-z]{2,3}(?:-[a-z]+)*:[^\[\]|]*\]\])"),
    )


def count_page(text: str, visible: Visible, sections: tuple[Section, ...], namespaces: Namespaces) -> PageCounts:
    """The counts of a page from its wikitext, its visible part and its sections."""
    patterns = _prefix_patterns(namespaces)
    file_link, category_link, _ = patterns
    n_file_links, n_categories = (len(link.findall(visible.text)) for link in (file_link, category_link))
    levels = [section.level for section in sections]
    linked = visible.text + "\n" + visible.references
    return PageCounts(
        n_bytes=len(text.encode("utf-8", "surrogatepass")),
        n_media=n_file_links
        + len(_FILE_ARGUMENT.findall(visible.text))
        + sum(1 for gallery in visible.galleries for line in gallery.splitlines() if line.strip()),
        n_headings=tuple(levels.count(level) for level in range(1, 7)),
        n_references=visible.n_references,
        n_short_footnotes=len(template_rules().footnote.findall(visible.text)),
        n_links=len(_LINK.findall(linked)) - sum(len(link.findall(linked)) for link in patterns),
        n_categories=n_categories,
    )
