"""Judgments out: four-column qrels, the track's topics with judgments, and all votes with all fields.

A page that was skipped, could not be judged, or is disputed is in no list of judged pages: it never turns into
"not relevant".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds
from evenrank.core.types import FilePath
from evenrank.io.json_lines import write_records
from evenrank.io.qrels import write_qrels
from evenrank.io.topics import write_topics
from evenrank.trec.assessment.coverage import max_tiers
from evenrank.trec.assessment.page_ids import pages_in, text_ids_of
from evenrank.trec.assessment.settle import Settled, settle_all
from evenrank.trec.assessment.store import Store
from evenrank.trec.assessment.votes import Vote, all_votes, current_votes


def shown_page(page: int, ids: TextIds | None) -> int | str:
    """The id of a page as files have it: a number, or text."""
    return page if ids is None else ids.text(page)


def settled_pages(store: Store) -> dict[tuple[int, int], Settled]:
    """(topic, page) → settled value of every page with a vote, by topic and page."""
    return settle_all(current_votes(store))


def judged_topics(store: Store, ids: TextIds | None = None) -> list[Topic]:
    """The topics of the file with their relevant and judged pages, ascending, and the deepest complete tier.

    Where page ids are text, pages have the numbers of `ids`, which are those of a collection.
    """
    with store.snapshot():
        number = pages_in(store, ids)
        settled = settled_pages(store)
        tiers = max_tiers(store)
        titles = store.connection.execute("SELECT id, title FROM topic ORDER BY id").fetchall()
    grades: dict[int, dict[int, int]] = {topic: {} for topic, _ in titles}
    for (topic, page), value in settled.items():
        if value.grade is not None:
            grades[topic][page if number is None else int(number[page])] = value.grade
    return [
        Topic(
            id=topic,
            title=title,
            split="eval",
            rel_docs=_pages(page for page, grade in grades[topic].items() if grade > 0),
            assessed_docs=_pages(grades[topic]),
            max_tier=tiers.get(topic),
        )
        for topic, title in titles
    ]


def _pages(pages: Iterable[int]) -> NDArray[np.int32]:
    return np.array(sorted(pages), np.int32)


def export_qrels(store: Store, path: FilePath) -> None:
    """Settled grades as `topic 0 page grade`, by topic and page."""
    with store.snapshot():
        ids, settled = text_ids_of(store), settled_pages(store)
    grades = [(topic, shown_page(page, ids), v.grade) for (topic, page), v in settled.items() if v.grade is not None]
    write_qrels(path, grades if ids is None else sorted(grades, key=lambda row: (row[0], str(row[1]))))


def export_topics(store: Store, path: FilePath) -> None:
    """The track's `eval-topics-with-qrels`: id, title, rel_docs, assessed_docs, max_tier."""
    ids = text_ids_of(store)
    write_topics(path, judged_topics(store, ids), ids)


def export_votes(store: Store, path: FilePath) -> None:
    """Every vote in the order of storing, as JSON lines with all fields."""
    ids = text_ids_of(store)
    write_records(path, (vote_record(vote, ids) for vote in all_votes(store)))


def vote_record(vote: Vote, ids: TextIds | None = None) -> dict[str, object]:
    """The fields of a vote under the names of the file; with `ids` page ids are text."""
    fields = {**asdict(vote), "page": shown_page(vote.page, ids)}
    return {"page_id" if name == "page" else name: value for name, value in fields.items()}


EXPORTS: dict[str, Callable[[Store, FilePath], None]] = {
    "qrels": export_qrels,
    "topics": export_topics,
    "votes": export_votes,
}
"""Name of a format → what writes it."""


def count_left_out(store: Store) -> Counter[str]:
    """How many pages with votes are in no list of judged pages, by reason."""
    return Counter(value.status for value in settled_pages(store).values() if value.grade is None)
