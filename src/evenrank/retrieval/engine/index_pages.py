"""Articles → the pages of an index: the text of each field, and what the collection knows about the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import NO_CLASS, Article
from evenrank.io.articles import ArticleFile
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.protocol import IndexLayout, IndexPage
from evenrank.trec.arrays import names_at
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import OCCUPATION
from evenrank.wikipedia.annotate.links import ENGLISH, Namespaces
from evenrank.wikipedia.annotate.templates import infobox_names
from evenrank.wikipedia.annotate.wikitext import has_markup, opening_paragraph, parse_wikitext


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


def _fields(article: Article, namespaces: Namespaces) -> PageFields:
    if not has_markup(article.text):
        return PageFields(article.page_id, article.title, opening_paragraph(article.text), article.text, "", "", "")
    page = parse_wikitext(article.text, namespaces)
    boxed = "\n".join(part for part in (page.infobox_values, page.tables) if part)
    filed, kind = "\n".join(page.categories), infobox_names(article.text, namespaces.language)
    return PageFields(article.page_id, article.title, page.lead, page.body, filed, boxed, kind)


def is_plain(source: ArticleFile, n_bytes: int = 1 << 18) -> bool:
    """Whether most articles at the start of a corpus are text without markup."""
    head = next(source.raw_batches(FaultLog(), size=n_bytes), None)
    articles = source.parse(head).articles if head else ()
    return 2 * sum(has_markup(article.text) for article in articles) < len(articles)


def latest_pages(fields: list[PageFields]) -> list[PageFields]:
    """Each page once: of a page that is there twice, the later one."""
    return list({page.page_id: page for page in fields}.values())


def with_metadata(collection: Collection, fields: list[PageFields]) -> Iterator[IndexPage]:
    """Pages with the groups and the quality that the collection has for them."""
    rows = collection.rows_of(np.array([page.page_id for page in fields], np.int32))
    known = rows >= 0
    masks = {name: np.where(known, mask[rows], UNKNOWN_MASK).tolist() for name, mask in collection.masks.items()}
    classes = np.where(known, collection.quality_class[rows], NO_CLASS).tolist()
    scores = np.where(known, collection.quality_score[rows], np.nan).tolist()
    named = names_at(collection.classes, rows)
    for page, names, quality, score, *groups in zip(fields, named, classes, scores, *masks.values(), strict=True):
        by_name = dict(zip(masks, groups, strict=True))
        page_id, title, lead, text, filed, boxed, kind = page
        kinds = (*occupations(by_name.get(OCCUPATION.name, UNKNOWN_MASK)), *names)
        if kinds:
            kind = "\n".join(filter(None, (kind, *kinds)))
        yield IndexPage(page_id, title, lead, text, filed, boxed, kind, by_name, quality, score)


@lru_cache(4096)
def occupations(mask: int) -> tuple[str, ...]:
    """The occupations of a person, by the mask of that dimension; none when they are not known."""
    return tuple(name for position, name in enumerate(OCCUPATION.groups) if position and mask >> position & 1)


class PreparedPages(NamedTuple):
    """Pages as the requests that add them to an engine on other machines."""

    n_pages: int
    documents: list[bytes]


def prepare_pages(
    articles: tuple[Article, ...],
    fields: Callable[[tuple[Article, ...]], list[PageFields]],
    layout: IndexLayout,
    path: Path,
) -> PreparedPages:
    """Articles of the collection at `path` as documents: most of the client's work. Runs on the executors of Spark."""
    from evenrank.retrieval.engine.opensearch_index import bulk_bodies

    latest = latest_pages(fields(articles))
    return PreparedPages(len(latest), list(bulk_bodies(with_metadata(_collection(path), latest), layout)))


@lru_cache(maxsize=1)
def _collection(path: Path) -> Collection:
    return Collection.open(path)
