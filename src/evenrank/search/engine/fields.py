"""Articles → the text fields of an index; a pure function over batches, for any process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from evenrank.annotate.links import ENGLISH, Namespaces
from evenrank.annotate.wikitext import first_paragraph, has_markup, parse_wikitext
from evenrank.formats.articles import open_articles
from evenrank.records import Article

_INFOBOX_NAME = re.compile(r"\{\{\s{0,20}infobox[ _]+([^|{}\n<]{1,80})", re.IGNORECASE)


class PageFields(NamedTuple):
    """The text of one page, field by field (a plain tuple, because millions of them travel between processes)."""

    page_id: int
    title: str
    lead: str
    text: str
    categories: str
    infobox: str
    kind: str


def page_fields(articles: tuple[Article, ...], namespaces: Namespaces = ENGLISH) -> list[PageFields]:
    """The fields of each article. Words of infoboxes and table cells are topical, and some pages have no others."""
    return [_fields(article, namespaces) for article in articles]


def namespaces_of(corpus: Path) -> Namespaces:
    """The namespaces of the wiki that a corpus comes from: a dump names them in its own language."""
    site = open_articles(corpus).site
    return Namespaces.local(site.namespace(6, "File"), site.namespace(14, "Category"))


def _fields(article: Article, namespaces: Namespaces) -> PageFields:
    if not has_markup(article.text):
        return PageFields(article.page_id, article.title, first_paragraph(article.text)[0], article.text, "", "", "")
    page = parse_wikitext(article.text, namespaces)
    boxed = "\n".join(part for part in (page.infobox_values, page.tables) if part)
    filed, kind = "\n".join(page.categories), infobox_names(article.text)
    return PageFields(article.page_id, article.title, page.lead, page.body, filed, boxed, kind)


def infobox_names(wikitext: str) -> str:
    """What kinds of thing the infoboxes of a page are for, one a line: `musical artist`, `football biography`."""
    names = (" ".join(name.replace("_", " ").split()) for name in _INFOBOX_NAME.findall(wikitext))
    return "\n".join(dict.fromkeys(filter(None, names)))
