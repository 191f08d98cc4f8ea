"""Judgments in and out: four-column qrels, the track's topics with judgments, and all votes with all fields.

A page that was skipped, could not be judged, or is disputed is in no list of judged pages: it never turns into
"not relevant". Where page ids are text, a judgments file has numbers of its own for them, so that it stands alone.
"""

from __future__ import annotations

import math
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.core.types import FilePath
from evenrank.database.database import Connection, Location
from evenrank.database.sqlite import SqliteFile
from evenrank.database.sqlite_connection import can_write
from evenrank.errors import EvenrankError, input_error
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import MAX_FAULTS, read_records, write_records
from evenrank.io.judgment_record import JudgmentRecord, read_judgment_record, sha256_of, write_judgment_record
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
from evenrank.trec.assessment.campaign import campaign_runs, keep_imported, work_order
from evenrank.trec.assessment.coverage import Settled, coverage, max_tiers, settle_all
from evenrank.trec.assessment.gold import import_gold
from evenrank.trec.assessment.log import ENTRY_FIELDS, LogEntry, append_entry, log_entries, pseudonym_of, utc_now
from evenrank.trec.assessment.machine import keep_machine_judgments, machine_judgments, machine_record
from evenrank.trec.assessment.votes import (
    COLUMNS,
    Outcome,
    Store,
    Vote,
    all_votes,
    cast_votes,
    current_votes,
    keep_ids,
    max_grade_of,
    open_store,
    pages_in,
    set_max_grade,
    text_ids_of,
)
from evenrank.trec.collection import Collection, as_collection


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


def export_log(store: Store, path: FilePath) -> None:
    """The log as JSON lines, oldest entry first; `log.find_gaps` checks its chain without the judgments file."""
    write_records(path, (entry.record() for entry in log_entries(store)))


def read_exported_log(path: FilePath) -> list[LogEntry]:
    """The entries of an exported log; an error names its lines that are none."""

    def parse(record: dict[str, Any]) -> LogEntry:
        if (
            record.keys() != set(ENTRY_FIELDS)
            or type(record["number"]) is not int
            or not isinstance(record["digest"], str)
        ):
            raise ValueError("not an entry of a log")
        return LogEntry(**record)

    return read_records(path, parse)


def export_machine_judgments(store: Store, path: FilePath) -> None:
    """The grades of programs as JSON lines, by source, topic and page: never among the votes."""
    ids = text_ids_of(store)
    write_records(path, (machine_record(judgment, ids) for judgment in machine_judgments(store)))


def export_remarks(store: Store, path: FilePath) -> None:
    """What people said in discussions, the oldest first, as JSON lines."""
    ids = text_ids_of(store)
    rows = store.connection.execute("SELECT topic, page, author, text, time FROM remark ORDER BY id")
    names = ("topic", "page_id", "author", "text", "time")
    write_records(path, (dict(zip(names, (row[0], shown_page(row[1], ids), *row[2:]), strict=True)) for row in rows))


EXPORTS: dict[str, Callable[[Store, FilePath], None]] = {
    "qrels": export_qrels,
    "topics": export_topics,
    "votes": export_votes,
    "log": export_log,
    "machine": export_machine_judgments,
    "remarks": export_remarks,
}
"""Name of a format → what writes it."""
JUDGED = ("qrels", "topics", "votes")
"""Formats from which runs can be scored; a record beside the file says how deep each topic was judged."""


def export_judgments(store: Store, form: str, path: FilePath, by: str | None = None) -> bool:
    """Write a format of `EXPORTS`, beside judgments also their record, and note it in the log; whether it was noted."""
    return export_together(store, {form: path}, by)


def export_together(store: Store, paths: Mapping[str, FilePath], by: str | None = None) -> bool:
    """Write several formats of `EXPORTS`, all of one state of the file whatever others write meanwhile, and note them
    in the log; whether they were noted.

    A file that can only be read keeps its log as it is. What goes to standard output has no record.
    """
    write_exports(store, paths)
    return note_exports(store, [{"format": form, **_named_file(path)} for form, path in paths.items()], by)


def write_exports(store: Store, paths: Mapping[str, FilePath]) -> None:
    """Write formats of `EXPORTS`, and records beside judgments, all of one state of the file."""
    with store.snapshot():
        for form, path in paths.items():
            EXPORTS[form](store, path)
            if form in JUDGED and os.fspath(path) != "-":
                write_judgment_record(path, judgments_record(store))


def note_exports(store: Store, exports: Iterable[Mapping[str, Any]], by: str | None) -> bool:
    """Whether the log could take an entry for each export; a file that can only be read keeps its log as it is."""
    if isinstance(store, SqliteFile) and not can_write(store.path):
        return False
    with store.transaction() as connection:
        for details in exports:
            append_entry(connection, by, "export", **details)
    return True


def judgments_record(store: Store) -> dict[str, Any]:
    """What the judgments are made of: scale, votes, and the state of each topic and tier."""
    with store.snapshot():
        max_grade, deepest, covered = max_grade_of(store), max_tiers(store), coverage(store)
        topics = store.connection.execute("SELECT id, version FROM topic ORDER BY id").fetchall()
        (n_votes,) = store.connection.execute("SELECT count(*) FROM vote").fetchone()
        campaign, order = campaign_runs(store), work_order(store)
    by_topic: dict[int, list[dict[str, int]]] = {}
    for row in covered:
        counts = {name: value for name, value in asdict(row).items() if name != "topic"}
        by_topic.setdefault(row.topic, []).append(counts)
    return {
        "max_grade": max_grade,
        "n_votes": n_votes,
        "pooled_runs": [
            {"name": name, "fingerprint": mark} for name, mark in sorted((campaign.pooled | campaign.withdrawn).items())
        ],
        "withdrawn_runs": sorted(campaign.withdrawn),
        "bias": campaign.bias,
        "work_order": None if order is None else asdict(order) | {"note": order.note},
        "topics": [
            {"topic": topic, "version": version, "max_tier": deepest.get(topic), "tiers": by_topic.get(topic, [])}
            for topic, version in topics
        ],
    }


def with_judgments(collection: Collection | FilePath, judgments: Store | Location) -> Collection:
    """The collection with the topics and judgments of a judgments file, and no others.

    What the collection says about these topics beside their judgments (keywords, scope) stays. Runs that the file has
    as withdrawn are not scored.
    """
    opened = as_collection(collection)
    if isinstance(judgments, (str, os.PathLike)):
        with open_store(judgments if isinstance(judgments, str) else Path(judgments)) as store:
            return with_judgments(opened, store)
    with judgments.snapshot():
        topics, campaign = judged_topics(judgments, opened.text_ids), campaign_runs(judgments)
    texts = ("title", "keywords", "scope", "homepage")
    known = opened.topic_by_id
    judged = opened.with_topics(
        replace(topic, **{name: getattr(known[topic.id], name) for name in texts}) if topic.id in known else topic
        for topic in topics
    )
    return replace(judged, campaign=campaign)


def judgment_notes(store: Store) -> list[str]:
    """What readers of scores from these judgments should know: how deep topics are judged, and what is undecided."""
    with store.snapshot():
        deepest, undecided = max_tiers(store), count_left_out(store)
        (n_topics,) = store.connection.execute("SELECT count(*) FROM topic").fetchone()
    depths = Counter(deepest.values())
    said = ", ".join(f"{n} to tier {tier}" if tier else f"{n} not even to tier 1" for tier, n in sorted(depths.items()))
    unsaid = n_topics - len(deepest)
    parts = [said] * bool(said) + [f"{unsaid} to an unknown tier"] * bool(unsaid)
    notes = [f"{n_topics} topic{'s' * (n_topics != 1)} judged: {', '.join(parts)}"]
    if undecided:
        counts = ", ".join(f"{n:,} {status}" for status, n in sorted(undecided.items()))
        notes.append(f"pages without a settled grade, which are not judged pages: {counts}")
    return notes


def count_left_out(store: Store) -> Counter[str]:
    """How many pages with votes are in no list of judged pages, by reason."""
    return Counter(value.status for value in settled_pages(store).values() if value.grade is None)


Judgment = tuple[int, int, int]
"""(topic, page, grade)"""


def import_qrels(store: Store, path: FilePath, assessor: str) -> int:
    """Number of new votes from a four-column qrels file, cast in the name of `assessor`.

    Scale and tiers come from the record beside the file, where it has one.
    """
    ids = _ids_for(store, qrels_have_text_ids(path))
    record = read_judgment_record(path)
    grades = read_qrels(path, min_grade=0, ids=ids)
    if record is not None:
        set_max_grade(store, record.max_grade)
    tiers = {} if record is None else record.tiers
    return _cast(store, _triples(grades), assessor, ids, _ImportNote(path, "qrels", tiers, assessor, record=record))


def import_machine_judgments(store: Store, path: FilePath, source: str, by: str | None = None) -> int:
    """Number of new judgments of a program from a four-column qrels file; they are no votes, and settle nothing."""
    source = checked_name(source)
    ids = _ids_for(store, qrels_have_text_ids(path))
    listed = list(_triples(read_qrels(path, min_grade=0, ids=ids)))
    number = keep_ids(store, ids, (page for _, page, _ in listed))
    judgments = ((topic, number[page], grade) for topic, page, grade in listed)
    return keep_machine_judgments(store, source, judgments, _named_file(path), by)


def import_gold_file(store: Store, path: FilePath, by: str) -> int:
    """Number of pages given to assessors, once the pages of a four-column file are gold pages, ruled by `by`."""
    ids = _ids_for(store, qrels_have_text_ids(path))
    listed = list(_triples(read_qrels(path, min_grade=0, ids=ids)))
    scale = max_grade_of(store)
    if too_high := [grade for _, _, grade in listed if grade > scale]:
        raise EvenrankError(f"{path}: grade {max(too_high)} is beyond the scale, which goes to {scale}")
    number = keep_ids(store, ids, (page for _, page, _ in listed))
    return import_gold(store, ((topic, number[page], grade) for topic, page, grade in listed), by)


def _triples(grades: dict[int, dict[int, int]]) -> Iterable[Judgment]:
    return ((topic, page, grade) for topic, pages in grades.items() for page, grade in pages.items())


def import_topics(store: Store, path: FilePath, assessor: str) -> int:
    """Number of new votes from a file of topics with judgments; titles and tiers come along."""
    ids = _ids_for(store, topics_have_text_ids(path))
    judged = read_topics(path, "eval", ids)
    _refuse_incomplete(path, judged)
    tiers = {topic.id: topic.max_tier for topic in judged}
    titles = {topic.id: topic.title for topic in judged}
    note = _ImportNote(path, "topics", tiers, assessor, titles, read_judgment_record(path))
    return _cast(store, (judgment for topic in judged for judgment in _judgments(topic)), assessor, ids, note)


def _named_file(path: FilePath) -> dict[str, str | None]:
    """A file as the log names it."""
    return {"file": Path(path).name, "sha256": None if os.fspath(path) == "-" else sha256_of(path)}


@dataclass(frozen=True)
class _ImportNote:
    """What an import writes beside its votes: titles and tiers of its topics, and an entry of the log."""

    path: FilePath
    form: str
    tiers: Mapping[int, int | None]
    assessor: str | None = None
    titles: Mapping[int, str] = field(default_factory=dict)
    record: JudgmentRecord | None = None

    def __call__(self, connection: Connection, n_votes: int) -> None:
        known = "INSERT INTO topic (id) VALUES (?) ON CONFLICT DO NOTHING"
        connection.executemany(known, [(topic,) for topic in self.tiers])
        tiers = [(tier, topic) for topic, tier in self.tiers.items()]
        connection.executemany("UPDATE topic SET max_tier = ? WHERE id = ?", tiers)
        if self.record is not None:
            keep_imported(connection, self.record.campaign)
        titles = [(title, topic) for topic, title in self.titles.items()]
        connection.executemany("UPDATE topic SET title = ? WHERE id = ?", titles)
        person = {} if self.assessor is None else {"assessor": pseudonym_of(connection, checked_name(self.assessor))}
        about = {"format": self.form, "n_votes": n_votes, **_named_file(self.path), **person}
        append_entry(connection, None, "import", **about)


def _ids_for(store: Store, has_text: bool) -> TextIds | None:
    """Numbers for the ids of a file that are text: as those of the judgments, else as the file has them."""
    return TextIds() if has_text or text_ids_of(store) is not None else None


def _judgments(topic: Topic) -> Iterable[Judgment]:
    relevant = set(topic.rel_docs.tolist())
    assessed = topic.assessed_docs.tolist() if topic.assessed_docs is not None else []
    return ((topic.id, page, int(page in relevant)) for page in sorted(relevant.union(assessed)))


def _refuse_incomplete(path: FilePath, topics: list[Topic]) -> None:
    """Relevant pages alone do not say what was judged."""
    faults = FaultLog(MAX_FAULTS)
    for topic in topics:
        if topic.assessed_docs is None:
            faults.add(path, 0, f"topic {topic.id} has no assessed_docs", "give the list of all judged pages")
    faults.raise_if_any()


def _cast(store: Store, judgments: Iterable[Judgment], assessor: str, ids: TextIds | None, note: _ImportNote) -> int:
    """Votes for what is not yet the assessor's vote; a file imported twice adds nothing."""
    assessor = checked_name(assessor)
    listed = list(judgments)
    number = keep_ids(store, ids, (page for _, page, _ in listed))
    name_assessors(store, [assessor])
    known = {(v.topic, v.page): v.grade for v in current_votes(store) if v.assessor == assessor}
    mark, time = secrets.token_hex(8), utc_now()  # tokens never change, so they must not hold a name
    kept = ((topic, number[page], grade) for topic, page, grade in listed)
    new = [judgment for judgment in kept if known.get(judgment[:2]) != judgment[2]]
    return cast_votes(
        store,
        (
            Vote(f"import-{mark}-{n}", topic, page, assessor, "graded", grade, time=time, method="import")
            for n, (topic, page, grade) in enumerate(new, 1)
        ),
        note,
    )


def import_votes(store: Store, path: FilePath) -> int:
    """Number of new votes from JSON lines with all fields; votes that are there already are passed over.

    Scale and tiers come from the record beside the file, where it has one.
    """
    pages = read_records(path, lambda record: record.get("page_id"))
    ids = _ids_for(store, bool(pages) and isinstance(pages[0], str))
    votes = read_records(path, lambda record: parse_vote(record, ids))
    if not votes:
        raise input_error(path, 0, "no votes in it", "give one vote a line, as judgments export writes them")
    record = read_judgment_record(path)
    number = keep_ids(store, ids, (vote.page for vote in votes))
    name_assessors(store, sorted({vote.assessor for vote in votes}))
    if record is not None:
        set_max_grade(store, record.max_grade)
    note = _ImportNote(path, "votes", {} if record is None else record.tiers, record=record)
    return cast_votes(store, (replace(vote, page=number[vote.page]) for vote in votes), note)


KINDS: dict[str, tuple[type, ...]] = {
    "topic": (int,),
    "page": (int,),
    "grade": (int, type(None)),
    "seconds": (float, int, type(None)),
    "undoes": (str, type(None)),
    "topic_version": (int,),
    "max_grade": (int, type(None)),
}
"""Types of the fields of a vote that are not text."""
ADDED_LATER = {"topic_version": 1, "max_grade": None}
"""Fields that files of earlier versions do not have, with what they stand for there."""


def parse_vote(record: dict[str, Any], ids: TextIds | None = None) -> Vote:
    """The vote in a record of the file; ValueError says what is wrong with it. With `ids` page ids are text."""
    fields = ADDED_LATER | {("page" if name == "page_id" else name): value for name, value in record.items()}
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
    if not all(0 <= number <= MAX_ID for number in (vote.topic, vote.page, vote.grade or 0, vote.topic_version)):
        raise ValueError(f"topic, page_id, grade or topic_version is outside 0 to {MAX_ID}")
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
