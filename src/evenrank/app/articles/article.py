"""Articles as rows of a list: title, quality, size, groups, why they are here, and what they lack, by counting."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.collection_view import CLASSES, group_labels, masks_of_rows, shown_dimensions
from evenrank.app.articles.kept import cannot_write, kept_path, remove_earlier
from evenrank.app.settings import WebSettings
from evenrank.core.groups import Dimension
from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.core.records import Article as Record
from evenrank.errors import InputError
from evenrank.io.articles import changed_articles, map_articles
from evenrank.io.atomic import atomic_file
from evenrank.io.content import START
from evenrank.io.faults import FaultLog
from evenrank.parallel import n_cores
from evenrank.retrieval.query.evidence import Reasons
from evenrank.trec.collection import Collection
from evenrank.wikipedia.annotate.work_counts import NOT_COUNTED, WorkCounts, count_work
from evenrank.wikipedia.mediawiki.article_work import WikiFacts

KINDS = ("text", "sections", "sources", "images", "links")
"""What an article can have too little of, in the order in which it is said to be missing."""
NOTICES = ("citations", "maintenance")
"""What editors have asked for in an article."""
RELATED, BROUGHT = "related words", "brought by the project"
"""Why an article is in a list that has none of its keywords: search found it, or people brought it."""
FACTS_VERSION = 2
"""Changes when something else is counted, so that earlier counts are not taken for it."""
GOOD = WORK_ORDER.index("GA")
"""Articles of this class and above are what the others are compared with."""
SHARE = 0.25
"""Below this share of the median of good articles, something counts as missing."""
LEAST_MARKUP = 0.05
"""Share of articles with markup from which a corpus is wikitext: some plain texts have a bracket or two, as well."""
LOG = logging.getLogger("evenrank.app")
_SAFE = "/:@!$()*,;~'"
"""Characters that stay readable in a link to a title."""


@dataclass(frozen=True)
class ArticleFacts:
    """Counts of each page row, and how many are enough."""

    counts: NDArray[np.int32]
    """Row by field of `WorkCounts`; `NOT_COUNTED` where nothing was counted."""
    enough: NDArray[np.float64]
    """By kind; 0 for a kind that the corpus does not show (plain text has no sources)."""
    has_markup: bool = True
    """Whether the corpus is wikitext; of plain text, only the length is known."""

    def of(self, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """The counts of pages, `NOT_COUNTED` for those without a row, and for what plain text does not show."""
        counts = np.where(rows[:, None] >= 0, self.counts[rows], NOT_COUNTED)
        if not self.has_markup:
            counts[:, 1:] = NOT_COUNTED
        return counts

    def missing(self, rows: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """What each page has too little of; empty for a page that was not counted or lacks nothing."""
        return missing_of(self.of(rows), self.enough)


def missing_of(counts: NDArray[np.integer], enough: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """What there is too little of, by rows of counts."""
    kinds = counts[:, : len(KINDS)]
    lacks = (kinds >= 0) & (kinds < enough)
    return [tuple(kind for kind, is_missing in zip(KINDS, row, strict=True) if is_missing) for row in lacks]


def facts_path(collection: Collection, folder: Path | None = None) -> Path:
    """Where the counts of a collection are kept: in its own folder unless another is named."""
    return kept_path(collection, folder, "facts", FACTS_VERSION).with_suffix(".npy")


def open_facts(collection: Collection, folder: Path | None = None) -> ArticleFacts | None:
    """The facts of a collection; None when they were not counted, or for another import of it."""
    path = facts_path(collection, folder)
    if not path.is_file():
        return None
    counts: NDArray[np.int32] = np.load(path, mmap_mode="r")
    if counts.shape != (len(collection), len(WorkCounts._fields)):
        return None
    is_counted = counts[:, 0] > 0
    has_markup = bool(np.mean((counts[is_counted, 1 : len(KINDS)] > 0).any(axis=1)) >= LEAST_MARKUP)
    return ArticleFacts(counts, enough_of(counts, np.asarray(collection.quality_class)), has_markup)


def save_facts(
    collection: Collection,
    max_articles: int,
    n_workers: int | None = None,
    folder: Path | None = None,
    earlier: tuple[Collection, ArticleFacts | None] | None = None,
) -> None:
    """Count once what the articles of a collection have, unless it has no corpus here or is larger than allowed.

    Of what `earlier` is with some updates, only the changed articles are counted. A folder that can only be read is no
    fault: pages then do without the counts.
    """
    corpus, path = collection.corpus, facts_path(collection, folder)
    if path.is_file() or corpus is None or not corpus.is_file() or len(collection) > max_articles:
        return
    if corpus.stat().st_size != collection.manifest.sources["corpus"].size_bytes:  # that of a later import
        return
    try:
        with atomic_file(path) as file:
            np.save(file, count_articles(collection, n_workers, earlier))
    except InputError as error:
        if not cannot_write(error):
            raise
        LOG.warning("%s, so pages do not show what articles lack", error)
        return
    remove_earlier(path)


def enough_of(counts: NDArray[np.int32], quality_class: NDArray[np.integer]) -> NDArray[np.float64]:
    """A share of the median of good articles, and at least one; 0 for what no article of the corpus has."""
    kinds = counts[:, : len(KINDS)]
    is_good = (quality_class >= GOOD) & (quality_class < len(WORK_ORDER)) & (counts[:, 0] >= 0)
    share = np.ceil(SHARE * np.median(kinds[is_good], axis=0)) if is_good.any() else np.zeros(len(KINDS))
    return np.asarray(np.where((kinds > 0).any(axis=0), np.maximum(share, 1), 0), np.float64)


def count_articles(
    collection: Collection,
    n_workers: int | None = None,
    earlier: tuple[Collection, ArticleFacts | None] | None = None,
) -> NDArray[np.int32]:
    """Counts of each page row, from one pass over the corpus, or over the articles that changed since `earlier`."""
    counts = np.full((len(collection), len(WorkCounts._fields)), NOT_COUNTED, np.int32)
    source, start = collection.open_corpus(), START
    known, facts = earlier or (collection, None)
    if facts is not None and is_update_of(collection, known):
        start = START._replace(file=1 + known.n_changes)
        rows = known.rows_of(collection.page_ids)
        counts[rows >= 0] = facts.counts[rows[rows >= 0]]
        file_of = changed_articles(collection.data).file_of
        changed = [page for page, file in file_of.items() if file < 0 or file > known.n_changes]
        gone = collection.rows_of(np.array(changed, np.int32))
        counts[gone[gone >= 0]] = NOT_COUNTED
    count, label = partial(count_batch, language=collection.manifest.language), "counting what articles have"
    n_workers = n_workers or n_cores()
    for batch in map_articles(count, source, FaultLog(), label=label, n_workers=n_workers, start=start):
        page_ids, found = batch.result
        rows = collection.rows_of(page_ids)
        counts[rows[rows >= 0]] = found[rows >= 0]
    return counts


def is_update_of(collection: Collection, earlier: Collection) -> bool:
    """Whether a collection is an earlier one with updates that changed articles, which are in files of their own."""
    before, after = earlier.manifest, collection.manifest
    known = {name: facts for name, facts in before.files.items() if name.startswith("articles-")}
    is_updated = before.sources.items() < after.sources.items() and known.items() <= after.files.items()
    return is_updated and collection.n_changes > earlier.n_changes


def count_batch(articles: tuple[Record, ...], language: str = "en") -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Page ids and counts of a batch; a pure function, for any process."""
    from evenrank.wikipedia.annotate.inline import Namespaces

    names = Namespaces.local(language=language)
    found = [count_work(article.text, names) for article in articles]
    page_ids = np.array([article.page_id for article in articles], np.int32)
    return page_ids, np.array(found, np.int32).reshape(-1, len(WorkCounts._fields))


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
    """What it has too little of, compared with good articles; empty when nothing is, or nothing was counted."""
    reasons: tuple[str, ...]
    relevance: float | None
    """Estimated probability that the article belongs to the project; None where it is withheld."""
    work: WorkCounts | None = None
    """What was counted in it; None when nothing was."""
    importance: str = ""
    """Importance that the project's banner gives it; empty when it is not known."""
    text_id: str = ""
    """The id of the page where ids are text; `page_id` is then its number in the collection."""
    is_brought: bool = False
    """Whether people brought the articles of the list."""

    @property
    def other_reason(self) -> str:
        """Why it is here where it has none of the keywords."""
        return BROUGHT if self.is_brought else RELATED

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
    def to_do(self) -> list[tuple[str, int | None]]:
        """What editors have asked for and what is lacking, with counts; None for the length, which has a column."""
        asked = [kind for kind in NOTICES if self.counted(kind)]
        return [(kind, None if kind == KINDS[0] else self.counted(kind)) for kind in (*asked, *self.lacking)]

    def counted(self, kind: str) -> int | None:
        """What was counted of a kind; None when it is not known."""
        n = NOT_COUNTED if self.work is None else int(getattr(self.work, kind))
        return None if n == NOT_COUNTED else n

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
    """Not a number where it is withheld."""
    reasons: Reasons
    facts: ArticleFacts | None = None
    earlier_titles: Sequence[str] | None = None
    """Titles of pages that the collection no longer has, beside `page_ids`; None when it has all of them."""
    importance: Mapping[int, str] = field(default_factory=dict)
    """Importance by page id, where the banner of a project gives it."""
    on_wiki: Mapping[int, WikiFacts] = field(default_factory=dict)
    """What the wiki itself said, by page id; what was counted there is newer than the corpus."""
    is_brought: bool = False
    """Whether people brought the articles."""

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
        """How often each page was read, −1 where unknown; None when neither the collection nor the wiki says it.

        All are the collection's, or all are the wiki's: theirs are of different times, and cannot be compared.
        """
        rows, known = self.rows, self.collection.page_views
        if known is not None:
            return np.where(rows >= 0, known[rows], NOT_COUNTED)
        said = {page: facts.views for page, facts in self.on_wiki.items() if facts.views != NOT_COUNTED}
        return np.array([said.get(page, NOT_COUNTED) for page in self.page_ids.tolist()], np.int64) if said else None

    def work(self) -> NDArray[np.int32] | None:
        """What was counted in each page, by the fields of `WorkCounts`; None when nothing was."""
        if self.facts is None and not self.on_wiki:
            return None
        counts = self.facts.of(self.rows) if self.facts else np.full((len(self), len(WorkCounts._fields)), NOT_COUNTED)
        for place, page in enumerate(self.page_ids.tolist() if self.on_wiki else ()):
            if page in self.on_wiki:
                counts[place] = self.on_wiki[page].work
        return np.asarray(counts, np.int32)

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
            facts=self.facts,
            earlier_titles=self.earlier_titles and [self.earlier_titles[at] for at in chosen.tolist()],
            importance=self.importance,
            on_wiki=self.on_wiki,
        )
        sizes, views, ids = part.sizes(), part.views(), self.collection.text_ids
        masks = {dimension: part.masks(dimension).tolist() for dimension in shown_dimensions(self.collection)}
        work, enough = part.work(), self.facts.enough if self.facts else np.zeros(len(KINDS))
        lacking = [()] * len(part) if work is None else missing_of(work, np.maximum(enough, bool(self.on_wiki)))
        return [
            ListedArticle(
                rank=int(place) + 1,
                page_id=int(page),
                title=title,
                quality=CLASSES[code],
                size_bytes=None if sizes is None or sizes[at] < 0 else int(sizes[at]),
                views=None if views is None or views[at] < 0 else int(views[at]),
                groups={of.name: group_labels(values[at], of) for of, values in masks.items()},
                lacking=lacking[at],
                reasons=tuple(part.reasons.of(at)),
                relevance=None if np.isnan(part.relevance[at]) else float(part.relevance[at]),
                work=None if work is None or work[at, 0] < 0 else WorkCounts(*work[at].tolist()),
                importance=self.importance.get(int(page), ""),
                text_id="" if ids is None else ids.text(int(page)),
                is_brought=self.is_brought,
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
