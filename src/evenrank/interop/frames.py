"""Data frames in the manner of PyTerrier: qid, docno, score, rank; a column `repeat` makes it a run of Task 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.records import Run, Split, Task
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection


def run_from_frame(frame: DataFrame, name: str = "run", ids: TextIds | None = None) -> Run:
    """A run from a result frame: best score first, ties by rank, then by the frame's order.

    `query_id` and `doc_id` are read as well. Topics are numbers; so are pages, unless `ids` are those of a collection
    whose ids are text (`Collection.text_ids`).
    """
    named = frame.rename(columns={"query_id": "qid", "doc_id": "docno"})
    missing = [column for column in ("qid", "docno") if column not in named.columns]
    if missing:
        there = ", ".join(map(str, frame.columns))
        raise EvenrankError(f"the frame has no column {' or '.join(missing)} (it has: {there})")
    task: Task = 2 if "repeat" in named.columns else 1
    topics, pages = _whole(named, "qid"), _whole(named, "docno") if ids is None else _text_pages(named, ids)
    repeats = _whole(named, "repeat") if task == 2 else np.ones(len(named), np.int64)
    keys = [named[column].to_numpy() * sign for column, sign in (("rank", 1), ("score", -1)) if column in named.columns]
    order = np.lexsort((*keys, repeats, topics))
    run = Run.from_rankings(name, task, _rankings(topics[order], repeats[order], pages[order]))
    return replace(run, ids=ids)


def _whole(frame: DataFrame, column: str) -> NDArray[np.int64]:
    try:
        return np.asarray(frame[column].astype(np.int64), np.int64)
    except (TypeError, ValueError) as error:
        raise EvenrankError(f"column {column} must hold whole numbers: {error}") from error


def _text_pages(frame: DataFrame, ids: TextIds) -> NDArray[np.int64]:
    try:
        return ids.numbers(check_text_id(page, "docno") for page in frame["docno"]).astype(np.int64)
    except ValueError as error:
        raise EvenrankError(f"column docno: {error}") from error


def _rankings(
    topics: NDArray[np.int64], repeats: NDArray[np.int64], pages: NDArray[np.int64]
) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    """(topic, repeat, pages) of each stretch of rows with one topic and repeat."""
    is_start = np.ones(len(topics), bool)
    is_start[1:] = (topics[1:] != topics[:-1]) | (repeats[1:] != repeats[:-1])
    bounds = np.append(np.flatnonzero(is_start), len(topics)).tolist()
    for begin, end in pairwise(bounds):
        yield int(topics[begin]), int(repeats[begin]), pages[begin:end].astype(np.int32)


def run_to_frame(run: Run) -> DataFrame:
    """The run as a result frame; ranks from 0 as PyTerrier has them, scores falling with the rank."""
    lengths = np.diff(run.starts)
    ranks = np.arange(len(run.pages)) - np.repeat(run.starts[:-1], lengths)
    scores = run.scores if run.scores is not None else (np.repeat(lengths, lengths) - ranks).astype(float)
    columns = {
        "qid": np.repeat(run.topic_ids, lengths).astype(str),
        "docno": list(map(str, run.shown_ids(run.pages))),
        "score": scores,
        "rank": ranks,
    }
    if run.task == 2:
        columns["repeat"] = np.repeat(run.repeats, lengths)
    return pandas_frame(columns)


def topics_frame(collection: Collection, split: Split | None = None) -> DataFrame:
    """Topics as a frame (qid, query): the query is the title and the keywords."""
    chosen = [topic for topic in collection.topics if split in (None, topic.split)]
    rows = [{"qid": str(topic.id), "query": " ".join([topic.title, *topic.keywords])} for topic in chosen]
    return pandas_frame(rows, columns=["qid", "query"])


def qrels_frame(collection: Collection, split: Split | None = None) -> DataFrame:
    """Judgments as a frame (qid, docno, label): relevant pages 1, pages judged and found not relevant 0."""
    rows: list[tuple[str, str, int]] = []
    for topic in collection.topics:
        if split in (None, topic.split):
            judged = topic.rel_docs if topic.assessed_docs is None else np.union1d(topic.rel_docs, topic.assessed_docs)
            labels = np.isin(judged, topic.rel_docs).astype(int).tolist()
            pages = map(str, map(collection.shown_id, judged.tolist()))
            rows += zip(repeat(str(topic.id)), pages, labels, strict=False)
    return pandas_frame(rows, columns=["qid", "docno", "label"])
