"""What articles lack, by counting: text, sections, sources, images and links, against the good ones."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import WORK_ORDER
from evenrank.core.records import Article as Record
from evenrank.io.articles import map_articles
from evenrank.io.atomic import atomic_file
from evenrank.io.faults import FaultLog
from evenrank.trec.collection import Collection

KINDS = ("text", "sections", "sources", "images", "links")
"""What is counted, in the order in which it is said to be missing."""
GOOD = WORK_ORDER.index("GA")
"""Articles of this class and above are what the others are compared with."""
SHARE = 0.25
"""Below this share of the median of good articles, something counts as missing."""
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class ArticleFacts:
    """Counts of each page row, and how many are enough."""

    counts: NDArray[np.int32]
    """Row by kind; −1 where nothing was counted."""
    enough: NDArray[np.float64]
    """By kind; 0 for a kind that the corpus does not show (plain text has no sources)."""

    def missing(self, rows: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """What each page has too little of; empty for a page that was not counted or lacks nothing."""
        counts = np.where(rows[:, None] >= 0, self.counts[rows], _LARGEST)
        lacks = (counts >= 0) & (counts < self.enough)
        return [tuple(kind for kind, is_missing in zip(KINDS, row, strict=True) if is_missing) for row in lacks]


def facts_path(collection: Collection, folder: Path | None = None) -> Path:
    """Where the counts of a collection are kept: in its own folder unless another is named."""
    manifest = collection.manifest
    made_of = f"{manifest.data_folder} {manifest.counts} {manifest.sources}"
    return (folder or collection.path) / f"desk-facts-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}.npy"


def open_facts(collection: Collection, folder: Path | None = None) -> ArticleFacts | None:
    """The facts of a collection; None when they were not counted, or for another import of it."""
    path = facts_path(collection, folder)
    if not path.is_file():
        return None
    counts: NDArray[np.int32] = np.load(path, mmap_mode="r")
    if counts.shape != (len(collection), len(KINDS)):
        return None
    return ArticleFacts(counts, enough_of(counts, np.asarray(collection.quality_class)))


def save_facts(
    collection: Collection, max_articles: int, n_workers: int | None = None, folder: Path | None = None
) -> None:
    """Count once what the articles of a collection have, unless it has no corpus here or is larger than allowed."""
    corpus, path = collection.corpus, facts_path(collection, folder)
    if path.is_file() or corpus is None or not corpus.is_file() or len(collection) > max_articles:
        return
    counts = count_articles(collection, n_workers)
    with atomic_file(path) as file:
        np.save(file, counts)


def enough_of(counts: NDArray[np.int32], quality_class: NDArray[np.integer]) -> NDArray[np.float64]:
    """A share of the median of good articles; 0 when there are none, or when half of them have none."""
    is_good = (quality_class >= GOOD) & (quality_class < len(WORK_ORDER)) & (counts[:, 0] >= 0)
    if not is_good.any():
        return np.zeros(len(KINDS))
    return np.asarray(np.ceil(SHARE * np.median(counts[is_good], axis=0)), np.float64)


def count_articles(collection: Collection, n_workers: int | None = None) -> NDArray[np.int32]:
    """Counts of each page row, from one pass over the corpus."""
    counts = np.full((len(collection), len(KINDS)), -1, np.int32)
    count, label = partial(count_batch, language=collection.manifest.language), "counting what articles have"
    for batch in map_articles(count, collection.open_corpus(), FaultLog(), label=label, n_workers=n_workers):
        page_ids, found = batch.result
        rows = collection.rows_of(page_ids)
        counts[rows[rows >= 0]] = found[rows >= 0]
    return counts


def count_batch(articles: tuple[Record, ...], language: str = "en") -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Page ids and counts of a batch; a pure function, for any process."""
    from evenrank.wikipedia.annotate.inline import Namespaces
    from evenrank.wikipedia.annotate.wikitext import parse_wikitext

    names, found = Namespaces.local(language=language), []
    for article in articles:
        counts = parse_wikitext(article.text, names).counts
        sources = counts.n_references + counts.n_short_footnotes
        found.append((counts.n_bytes, sum(counts.n_headings), sources, counts.n_media, counts.n_links))
    page_ids = np.array([article.page_id for article in articles], np.int32)
    return page_ids, np.array(found, np.int32).reshape(-1, len(KINDS))
