"""The topics of an import: files of topics merged, with the judgments of other files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds
from evenrank.errors import Fault, InputError
from evenrank.io.qrels import read_qrels
from evenrank.io.topics import read_topics


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
