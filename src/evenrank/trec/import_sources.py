"""What `collection import` reads: pages from the metadata, topics with judgments, titles and sizes from the corpus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension
from evenrank.core.records import Article, Topic
from evenrank.core.text_ids import TextIds
from evenrank.errors import Fault, InputError
from evenrank.io.articles import map_articles, open_articles
from evenrank.io.faults import FaultLog
from evenrank.io.metadata import ForeignFieldError, Metadata, leading_fields, read_metadata
from evenrank.io.name_lists import NameLists
from evenrank.io.topics import read_qrels, read_topics
from evenrank.progress import progress_bar
from evenrank.trec.arrays import FIELD
from evenrank.trec.dimensions import DIMENSIONS

ALWAYS = ("geography", "gender")
"""Dimensions that every collection has; the others are kept when their field is in the metadata."""
OPTIONAL = (*(name for name in DIMENSIONS if name not in ALWAYS), FIELD)


def read_pages(
    path: Path, warn: Callable[[str], object], own: Sequence[Dimension] = (), ids: TextIds | None = None
) -> Metadata:
    """The metadata with the dimensions whose fields are in it, and the classes of pages where they are; read again if
    some field only comes up late.

    A field that only has the name of an optional dimension's, or of the classes, is a field of the user's own: `warn`
    receives a note, and the file is read again without it. `own` are dimensions of the user's own, which are always
    read; with `ids` page ids are text.
    """
    fields = leading_fields(path)
    foreign = set[str]()
    while True:
        try:
            has_classes = FIELD in fields and FIELD not in foreign
            metadata = _read_once(path, [*_annotated(fields, foreign), *own], ids, has_classes)
        except ForeignFieldError as error:
            foreign.add(error.dimension)
            left_out = FIELD if error.dimension == FIELD else f"the dimension {error.dimension}"
            warn(f"{error}; so {left_out} is left out of the collection")
            continue
        has_late_classes = FIELD in metadata.fields and FIELD not in foreign and not has_classes
        if len(_annotated(metadata.fields, foreign)) + len(own) == len(metadata.masks) and not has_late_classes:
            return metadata
        fields = metadata.fields


def _read_once(path: Path, dimensions: list[Dimension], ids: TextIds | None, has_classes: bool) -> Metadata:
    bar = progress_bar(path.stat().st_size if path.is_file() else 0, "metadata", "B", scale=True)
    try:
        return read_metadata(path, dimensions, bar.update, OPTIONAL, ids, NameLists(FIELD) if has_classes else None)
    finally:
        bar.close()


def _annotated(fields: frozenset[str], foreign: Collection[str]) -> list[Dimension]:
    """The dimensions that every collection has, and those whose field is there and is theirs."""
    return [d for d in DIMENSIONS.values() if d.name in ALWAYS or (d.field in fields and d.name not in foreign)]


def read_all_topics(
    training: Path | None, evaluation: Sequence[Path], qrels: Sequence[Path], ids: TextIds | None = None
) -> list[Topic]:
    """Training topics, then evaluation topics; judgments in four columns replace those of the topic files."""
    train = read_topics(training, "train", ids) if training else []
    judged: list[Topic] = []
    for path in evaluation:
        judged = merge_topics(judged, read_topics(path, "eval", ids))
    shared = {topic.id for topic in train} & {topic.id for topic in judged}
    if shared:
        found = f"topic ids {sorted(shared)[:5]} are training topics too"
        raise InputError([Fault(str(path), 0, found, "give each topic one id") for path in evaluation])
    topics = [*train, *judged]
    for path in qrels:
        topics = _judged_by(topics, read_qrels(path, ids=ids))
    return topics


def merge_topics(topics: Sequence[Topic], others: Sequence[Topic]) -> list[Topic]:
    """Topics of two files, in any order: what one file does not say of a topic comes from the other.

    The official judgments of the evaluation topics come without keywords, which are in a file of their own.
    """
    by_id = {topic.id: topic for topic in topics}
    for other in others:
        known = by_id.get(other.id)
        by_id[other.id] = other if known is None else _filled(known, other)
    return list(by_id.values())


def _filled(topic: Topic, other: Topic) -> Topic:
    texts = {name: getattr(topic, name) or getattr(other, name) for name in ("title", "keywords", "scope", "homepage")}
    judged = topic if topic.assessed_docs is not None or len(topic.rel_docs) else other
    return replace(judged, **texts)


def _judged_by(topics: list[Topic], grades: dict[int, dict[int, int]]) -> list[Topic]:
    """The topics with the judgments of a file of four columns; topics that it alone has are evaluation topics."""
    by_id = {topic.id: topic for topic in topics}
    for topic, pages in grades.items():
        known = by_id.get(topic, Topic(topic, "", split="eval"))
        has_misses = any(grade <= 0 for grade in pages.values())
        assessed = np.array(sorted(pages), np.int32) if has_misses else None
        relevant = np.array(sorted(page for page, grade in pages.items() if grade > 0), np.int32)
        by_id[topic] = replace(known, rel_docs=relevant, assessed_docs=assessed)
    return list(by_id.values())


def list_judged(topic: Topic, page_ids: NDArray[np.int32]) -> Topic:
    """The topic with the pages listed that were judged, where its judgments end at a page id."""
    if topic.judged_up_to is None or topic.assessed_docs is not None:
        return topic
    judged = page_ids[page_ids <= topic.judged_up_to].astype(np.int32)
    return replace(topic, assessed_docs=np.union1d(judged, topic.rel_docs).astype(np.int32), judged_up_to=None)


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


def read_corpus_facts(
    path: Path, page_ids: NDArray[np.int32], text_ids: TextIds | None = None, workers: int | None = None
) -> CorpusFacts:
    """Facts of each page in `page_ids` (ascending), from one pass over the corpus.

    With `text_ids` ids are text, and those that are not there yet are added.
    """
    titles = [b""] * len(page_ids)
    sizes = np.zeros(len(page_ids), np.int32)
    faults = FaultLog()
    n_pages = n_unlisted = n_repeated = 0
    is_seen = np.zeros(len(page_ids), bool)
    source = open_articles(path, has_text_ids=text_ids is not None)
    for batch in map_articles(article_facts, source, faults, label="corpus", n_workers=workers):
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
