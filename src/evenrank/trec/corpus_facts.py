"""What a collection keeps of its corpus: the title and the size of each page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Article
from evenrank.core.text_ids import TextIds
from evenrank.io.articles import map_articles, open_articles
from evenrank.io.faults import FaultLog

READ_BY_ONE = 100_000_000
"""Bytes of a corpus that one process reads about as soon as several have started."""


@dataclass(frozen=True)
class CorpusFacts:
    """Titles and sizes beside the page ids of the metadata."""

    titles: list[bytes]
    size_bytes: NDArray[np.int32]
    n_pages: int
    """Articles in the corpus, each once."""
    n_unlisted: int
    """Articles without metadata."""
    n_repeated: int
    """Records of pages with metadata that had a record before."""
    faults: FaultLog
    """Records that could not be read."""


def read_corpus_facts(path: Path, page_ids: NDArray[np.int32], text_ids: TextIds | None = None) -> CorpusFacts:
    """Facts of each page in `page_ids` (ascending), from one pass over the corpus by all cores.

    With `text_ids` ids are text, and those that are not there yet are added.
    """
    titles = [b""] * len(page_ids)
    sizes = np.zeros(len(page_ids), np.int32)
    faults = FaultLog()
    n_pages = n_unlisted = n_repeated = 0
    is_seen = np.zeros(len(page_ids), bool)
    source = open_articles(path, has_text_ids=text_ids is not None)
    n_workers = 1 if source.size_bytes <= READ_BY_ONE else None
    for batch in map_articles(article_facts, source, faults, label="corpus", n_workers=n_workers):
        ids, size_bytes, names, keys = batch.result
        if text_ids is not None:
            ids = text_ids.numbers(keys)
        rows = np.minimum(np.searchsorted(page_ids, ids), len(page_ids) - 1)
        is_listed = page_ids[rows] == ids
        sizes[rows[is_listed]] = size_bytes[is_listed]
        for index in np.flatnonzero(is_listed):
            titles[rows[index]] = names[index]
        found = np.unique(rows[is_listed])
        n_new = len(found) - int(is_seen[found].sum())
        is_seen[found] = True
        n_again = int(is_listed.sum()) - n_new
        n_repeated += n_again
        n_pages += len(ids) - n_again
        n_unlisted += len(ids) - int(is_listed.sum())
    return CorpusFacts(titles, sizes, n_pages, n_unlisted, n_repeated, faults)


def article_facts(
    articles: tuple[Article, ...],
) -> tuple[NDArray[np.int32], NDArray[np.int32], list[bytes], list[str]]:
    """Page ids, sizes in bytes, titles and ids that are text of a batch of articles."""
    return (
        np.array([article.page_id for article in articles], np.int32),
        np.array([_n_bytes(article.text) for article in articles], np.int32),
        [article.title.encode("utf-8", "replace") for article in articles],
        [article.key for article in articles],
    )


def _n_bytes(text: str) -> int:
    """Length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
