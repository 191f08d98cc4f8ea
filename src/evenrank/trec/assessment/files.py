"""Judgments in and out: four-column qrels, the track's topics with judgments, and all votes with all fields.

A page that was skipped, could not be judged, or is disputed is in no list of judged pages: it never turns into
"not relevant". Where page ids are text, a judgments file has numbers of its own for them, so that it stands alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.core.types import FilePath
from evenrank.errors import Fault, InputError
from evenrank.io.json_lines import MAX_FAULTS, read_records, write_records
from evenrank.io.topics import (
    MAX_ID,
    qrels_have_text_ids,
    read_qrels,
    read_topics,
    topics_have_text_ids,
    write_qrels,
    write_topics,
)
from evenrank.trec.assessment.assessors import checked_name, name_assessors
from evenrank.trec.assessment.coverage import Settled, max_tiers, settle_all
from evenrank.trec.assessment.votes import (
    COLUMNS,
    Outcome,
    Store,
    Vote,
    all_votes,
    cast_votes,
    current_votes,
    keep_ids,
    pages_in,
    text_ids_of,
    utc_now,
)


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


Judgment = tuple[int, int, int]
"""(topic, page, grade)"""


def import_qrels(store: Store, path: FilePath, assessor: str) -> int:
    """Number of new votes from a four-column qrels file, cast in the name of `assessor`."""
    ids = _ids_for(store, qrels_have_text_ids(path))
    grades = read_qrels(path, min_grade=0, ids=ids)
    judgments = ((topic, page, grade) for topic, pages in grades.items() for page, grade in pages.items())
    return _cast(store, judgments, assessor, ids)


def import_topics(store: Store, path: FilePath, assessor: str) -> int:
    """Number of new votes from a file of topics with judgments; titles and tiers come along."""
    ids = _ids_for(store, topics_have_text_ids(path))
    judged = read_topics(path, "eval", ids)
    _refuse_incomplete(path, judged)
    n_votes = _cast(store, (judgment for topic in judged for judgment in _judgments(topic)), assessor, ids)
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO topic (id, title, max_tier) VALUES (?, ?, ?) ON CONFLICT (id) "
            "DO UPDATE SET title = excluded.title, max_tier = excluded.max_tier",
            [(topic.id, topic.title, topic.max_tier) for topic in judged],
        )
    return n_votes


def _ids_for(store: Store, has_text: bool) -> TextIds | None:
    """Numbers for the ids of a file that are text: as those of the judgments, else as the file has them."""
    return TextIds() if has_text or text_ids_of(store) is not None else None


def _judgments(topic: Topic) -> Iterable[Judgment]:
    relevant = set(topic.rel_docs.tolist())
    assessed = topic.assessed_docs.tolist() if topic.assessed_docs is not None else []
    return ((topic.id, page, int(page in relevant)) for page in sorted(relevant.union(assessed)))


def _refuse_incomplete(path: FilePath, topics: list[Topic]) -> None:
    """Relevant pages alone do not say what was judged."""
    faults = [
        Fault(str(path), 0, f"topic {topic.id} has no assessed_docs", "give the list of all judged pages")
        for topic in topics
        if topic.assessed_docs is None
    ]
    if faults:
        raise InputError(faults[:MAX_FAULTS], max(0, len(faults) - MAX_FAULTS))


def _cast(store: Store, judgments: Iterable[Judgment], assessor: str, ids: TextIds | None) -> int:
    """Votes for what is not yet the assessor's vote; a file imported twice adds nothing."""
    assessor = checked_name(assessor)
    listed = list(judgments)
    number = keep_ids(store, ids, (page for _, page, _ in listed))
    name_assessors(store, [assessor])
    known = {(v.topic, v.page): v.grade for v in current_votes(store) if v.assessor == assessor}
    n_before = int(store.connection.execute("SELECT count(*) FROM vote").fetchone()[0])
    time = utc_now()
    kept = ((topic, number[page], grade) for topic, page, grade in listed)
    new = [judgment for judgment in kept if known.get(judgment[:2]) != judgment[2]]
    return cast_votes(
        store,
        (
            Vote(
                f"import-{n_before + n}-{assessor}", topic, page, assessor, "graded", grade, time=time, method="import"
            )
            for n, (topic, page, grade) in enumerate(new, 1)
        ),
    )


def import_votes(store: Store, path: FilePath) -> int:
    """Number of new votes from JSON lines with all fields; votes that are there already are passed over."""
    pages = read_records(path, lambda record: record.get("page_id"))
    ids = _ids_for(store, bool(pages) and isinstance(pages[0], str))
    votes = read_records(path, lambda record: parse_vote(record, ids))
    if not votes:
        raise InputError(
            [Fault(str(path), 0, "no votes in it", "give one vote a line, as judgments export writes them")]
        )
    number = keep_ids(store, ids, (vote.page for vote in votes))
    name_assessors(store, sorted({vote.assessor for vote in votes}))
    return cast_votes(store, (replace(vote, page=number[vote.page]) for vote in votes))


KINDS: dict[str, tuple[type, ...]] = {
    "topic": (int,),
    "page": (int,),
    "grade": (int, type(None)),
    "seconds": (float, int, type(None)),
    "undoes": (str, type(None)),
}
"""Types of the fields of a vote that are not text."""


def parse_vote(record: dict[str, Any], ids: TextIds | None = None) -> Vote:
    """The vote in a record of the file; ValueError says what is wrong with it. With `ids` page ids are text."""
    fields = {("page" if name == "page_id" else name): value for name, value in record.items()}
    if fields.keys() != set(COLUMNS):
        odd = ", ".join(sorted(fields.keys() ^ set(COLUMNS)))
        raise ValueError(f"not the fields of a vote: {odd} missing or too many")
    if ids is not None:
        fields["page"] = ids.number(check_text_id(fields["page"]))
    for name, value in fields.items():
        if type(value) not in KINDS.get(name, (str,)):
            raise ValueError(f"{name} is {value!r}")
    vote = Vote(**fields)
    if vote.outcome not in get_args(Outcome) or (vote.outcome == "graded") != (vote.grade is not None):
        raise ValueError(f"outcome {vote.outcome!r} with grade {vote.grade}")
    if not all(0 <= number <= MAX_ID for number in (vote.topic, vote.page, vote.grade or 0)):
        raise ValueError(f"topic, page_id or grade is outside 0 to {MAX_ID}")
    if not vote.assessor.strip():
        raise ValueError("a vote of nobody: assessor is empty")
    if not vote.token or not vote.time or (vote.seconds is not None and not 0 <= vote.seconds < math.inf):
        raise ValueError("a vote without token or time, or with a negative number of seconds")
    return vote


IMPORTS: dict[str, Callable[[Store, FilePath, str], int]] = {
    "qrels": import_qrels,
    "topics": import_topics,
    "votes": lambda store, path, _: import_votes(store, path),
}
"""Name of a format → what reads it."""
