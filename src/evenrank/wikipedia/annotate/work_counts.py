"""What an article has, and the work that its editors ask for: counted in its wikitext, unknown where it cannot be."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from evenrank.wikipedia.annotate.facts import read_facts
from evenrank.wikipedia.annotate.inline import ENGLISH, Namespaces, split_hidden
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

NOT_COUNTED = -1
"""In place of a count that is not known."""
_TEMPLATE = re.compile(r"\{\{\s{0,20}([^|{}\n<\[\]]{1,60})(?=[|}\n])")
_PREFIX = re.compile(r"^[^:]{1,20}:\s*")


class WorkCounts(NamedTuple):
    """The counts of one article; `NOT_COUNTED` where nothing is known."""

    text: int
    """Bytes of wikitext."""
    sections: int
    sources: int
    """References, as tags and as short footnotes."""
    images: int
    """Files shown."""
    links: int
    citations: int
    """Marks in the text that ask for a citation."""
    maintenance: int
    """Maintenance templates: notices above the article or a section of it."""


def count_work(wikitext: str, namespaces: Namespaces = ENGLISH) -> WorkCounts:
    """The counts of an article. Templates are known by their names on the wiki of the language (`notices.toml`)."""
    counts = parse_wikitext(wikitext, namespaces).counts
    sources = counts.n_references + counts.n_short_footnotes
    notices = count_notices(split_hidden(wikitext).text, namespaces.language)
    return WorkCounts(counts.n_bytes, sum(counts.n_headings), sources, counts.n_media, counts.n_links, *notices)


def count_notices(visible: str, language: str) -> tuple[int, int]:
    """Marks of missing citations, and maintenance templates, in wikitext without its hidden parts."""
    names = [_template_name(found[1]) for found in _TEMPLATE.finditer(visible)] if "{{" in visible else []
    citations, maintenance = (
        NOT_COUNTED if known is None else sum(name in known for name in names) for known in notice_templates(language)
    )
    return citations, maintenance


@cache
def notice_templates(language: str) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Names of the templates that ask for a citation, and of maintenance templates; None where no list has them."""
    table = read_facts("notices.toml").get(language, {})
    citations, maintenance = (table.get(name) for name in ("citation_needed", "maintenance"))
    return (
        None if citations is None else frozenset(citations),
        None if maintenance is None else frozenset(maintenance),
    )


def _template_name(written: str) -> str:
    """The name of a template as the lists have it: lower case, blanks for underscores, without a namespace."""
    return _PREFIX.sub("", " ".join(written.replace("_", " ").split()).lower())
