"""Articles as rows of a list: title, quality, size, region, what is missing, why it is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.article_facts import ArticleFacts
from evenrank.app.articles.groups import group_labels, masks_of_rows, shown_dimensions
from evenrank.app.settings import WebSettings
from evenrank.core.groups import Dimension
from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.retrieval.query.evidence import Reasons
from evenrank.trec.collection import Collection

UNASSESSED = "Unassessed"
CLASSES = (*WORK_ORDER, UNASSESSED)
"""Names of quality classes by code."""
_SAFE = "/:@!$()*,;~'"
"""Characters that stay readable in a link to a title."""


@dataclass(frozen=True)
class ListedArticle:
    """One row. What describes a person, such as gender, is in no field of it."""

    rank: int
    page_id: int
    title: str
    quality: str
    size_bytes: int | None
    views: int | None
    """How often it was read; None when that is not known."""
    groups: Mapping[str, tuple[str, ...]]
    """Dimension → the groups of the article, in words."""
    lacking: tuple[str, ...]
    """What was counted in it and is too little for its class; empty when nothing is, or nothing was counted."""
    reasons: tuple[str, ...]
    relevance: float
    """Estimated probability that the article belongs to the project."""
    text_id: str = ""
    """The id of the page where ids are text; `page_id` is then its number in the collection."""

    @property
    def shown_id(self) -> int | str:
        """The id of the page as files and the JSON interface have it."""
        return self.text_id or self.page_id

    @property
    def address(self) -> str:
        """The id of the page where that is a web address; empty elsewhere: the wiki has the page under its title."""
        return self.text_id if self.text_id.startswith(("https://", "http://")) else ""

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of the article; empty in a collection that has none."""
        return self.groups.get("geography", ())

    @property
    def missing(self) -> str:
        """What is lacking, in one line."""
        return ", ".join(self.lacking)

    @property
    def size(self) -> str:
        """The size as people read it."""
        if self.size_bytes is None:
            return "unknown"
        return f"{self.size_bytes:,} B" if self.size_bytes < 1000 else f"{self.size_bytes / 1000:,.1f} kB"


@dataclass(frozen=True)
class ArticleList:
    """A ranked list of pages beside what the collection knows of them."""

    collection: Collection
    page_ids: NDArray[np.int32]
    relevance: NDArray[np.float64]
    reasons: Reasons
    facts: ArticleFacts | None = None
    earlier_titles: Sequence[str] | None = None
    """Titles of pages that the collection no longer has, beside `page_ids`; None when it has all of them."""

    def __len__(self) -> int:
        return len(self.page_ids)

    @property
    def rows(self) -> NDArray[np.intp]:
        return self.collection.rows_of(self.page_ids)

    def classes(self) -> NDArray[np.integer]:
        rows = self.rows
        return np.where(rows >= 0, self.collection.quality_class[rows], NO_CLASS)

    def masks(self, dimension: Dimension) -> NDArray[np.integer]:
        """The groups of each page in a dimension, as masks."""
        return masks_of_rows(self.collection, self.rows, dimension)

    def sizes(self) -> NDArray[np.integer] | None:
        """Sizes in bytes, −1 where unknown; None when the collection has no text."""
        rows, known = self.rows, self.collection.size_bytes
        return None if known is None else np.where(rows >= 0, known[rows], -1)

    def views(self) -> NDArray[np.integer] | None:
        """How often each page was read, −1 where unknown; None when the collection does not know."""
        rows, known = self.rows, self.collection.page_views
        return None if known is None else np.where(rows >= 0, known[rows], -1)

    def titles(self) -> list[str]:
        titles, earlier = self.collection.titles, self.earlier_titles
        shown = self.collection.shown_id
        return [
            (titles[row] if titles and row >= 0 else earlier[at] if earlier else "") or f"Page {shown(page)}"
            for at, (row, page) in enumerate(self._pairs())
        ]

    def articles(self, indices: NDArray[np.integer] | None = None) -> list[ListedArticle]:
        """The rows at some places of the list; all of them by default."""
        chosen = np.arange(len(self)) if indices is None else indices
        part = ArticleList(
            self.collection,
            self.page_ids[chosen],
            self.relevance[chosen],
            Reasons(self.reasons.words, self.reasons.bits[chosen]),
            earlier_titles=self.earlier_titles and [self.earlier_titles[at] for at in chosen.tolist()],
        )
        sizes, views, ids = part.sizes(), part.views(), self.collection.text_ids
        masks = {dimension: part.masks(dimension).tolist() for dimension in shown_dimensions(self.collection)}
        known = self.facts.missing(part.rows) if self.facts else [()] * len(part)
        return [
            ListedArticle(
                rank=int(place) + 1,
                page_id=int(page),
                title=title,
                quality=CLASSES[code],
                size_bytes=None if sizes is None or sizes[at] < 0 else int(sizes[at]),
                views=None if views is None or views[at] < 0 else int(views[at]),
                groups={of.name: group_labels(values[at], of) for of, values in masks.items()},
                lacking=known[at],
                reasons=tuple(part.reasons.of(at)),
                relevance=float(part.relevance[at]),
                text_id="" if ids is None else ids.text(int(page)),
            )
            for at, (place, page, title, code) in enumerate(
                zip(chosen, part.page_ids, part.titles(), part.classes(), strict=True)
            )
        ]

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.rows.tolist(), self.page_ids.tolist(), strict=True))


def article_address(article: ListedArticle, wiki_url: str) -> str:
    """Where an article is read: its id, if that is an address, else its page on the wiki; empty without a wiki."""
    if article.address or not wiki_url:
        return article.address
    return wiki_url + quote(article.title.replace(" ", "_"), safe=_SAFE)


def article_links(title: str, settings: WebSettings) -> dict[str, str]:
    """Addresses of the article, its talk page and its history on Wikipedia."""
    name = quote(title.replace(" ", "_"), safe=_SAFE)
    return {
        "article": f"{settings.wiki_url}{name}",
        "talk": f"{settings.wiki_url}Talk:{name}",
        "history": f"{settings.wiki_site}w/index.php?title={quote(title.replace(' ', '_'))}&action=history",
    }
