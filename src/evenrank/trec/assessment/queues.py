"""An assessor's queue: the next page, the way back, how far the work is, and remarks on pages where votes differ.

Nothing here says which run, rank or tier a page comes from: assessors judge blind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evenrank.trec.assessment.log import append_entry, utc_now
from evenrank.trec.assessment.votes import Store, shown_id

QUEUE = """
SELECT a.topic, a.page, v.outcome, v.grade FROM assignment a
JOIN item i ON i.topic = a.topic AND i.page = a.page
LEFT JOIN current_vote v
  ON v.assessor = a.assessor AND v.topic = a.topic AND v.page = a.page AND v.method <> 'adjudication'
WHERE a.assessor = :assessor AND (CAST(:topic AS INTEGER) IS NULL OR a.topic = :topic)
  AND (i.is_withdrawn = 0 AND i.is_set_aside = 0 OR v.outcome IS NOT NULL)
ORDER BY i.urgency, i.tier, a.topic, a.position, a.page
"""
"""Tier by tier, and in a tier topic by topic, so that the first tier of all topics is complete as early as it can be;
shuffled inside. Where a model orders the work, its batches come before tiers. Pages of withdrawn runs, and those set
aside, are there for those who have judged them."""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A page in an assessor's queue, with this assessor's own vote on it."""

    topic: int
    page: int
    outcome: str | None
    """None: not yet judged."""
    grade: int | None


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """How far an assessor is with a topic."""

    topic: int
    title: str
    n_pages: int
    n_judged: int
    """Graded or unassessable."""
    n_skipped: int


@dataclass(frozen=True, slots=True)
class TopicQueue:
    """All pages of a topic that an assessor is asked about, in the order of judging."""

    items: tuple[QueueItem, ...]

    @property
    def n_judged(self) -> int:
        """Graded or unassessable."""
        return sum(item.outcome not in (None, "skipped") for item in self.items)

    @property
    def n_skipped(self) -> int:
        return sum(item.outcome == "skipped" for item in self.items)

    @property
    def n_open(self) -> int:
        return len(self.items) - self.n_judged - self.n_skipped

    def place_of(self, page: int) -> int | None:
        """Position from 0; None for a page that is not in the queue."""
        return next((place for place, item in enumerate(self.items) if item.page == page), None)

    def open_after(self, page: int | None = None) -> QueueItem | None:
        """The first page without a vote behind `page`, else from the start; None when there is none left."""
        start = 0 if page is None else (self.place_of(page) or 0)
        return _first((*self.items[start:], *self.items[:start]), None)

    def skipped_after(self, page: int | None = None) -> QueueItem | None:
        """The first skipped page behind `page`; None at the end, so that a second look comes to an end."""
        place = None if page is None else self.place_of(page)
        return _first(self.items[0 if place is None else place + 1 :], "skipped")


def _first(items: Iterable[QueueItem], outcome: str | None) -> QueueItem | None:
    return next((item for item in items if item.outcome == outcome), None)


def topic_queue(store: Store, assessor: str, topic: int) -> TopicQueue:
    """An assessor's queue of one topic; empty when nothing of it was given to this assessor."""
    return TopicQueue(tuple(queue(store, assessor, topic)))


def queue(store: Store, assessor: str, topic: int | None = None) -> Iterator[QueueItem]:
    """The pages of an assessor in the order of judging; of one topic when given."""
    rows = store.connection.execute(QUEUE, {"assessor": assessor, "topic": topic})
    return (QueueItem(*row) for row in rows)


def is_assigned(store: Store, assessor: str, topic: int, page: int) -> bool:
    """Whether somebody is to judge a page; also one that left the queues meanwhile, because its run was withdrawn."""
    found = "SELECT 1 FROM assignment WHERE assessor = ? AND topic = ? AND page = ?"
    return store.connection.execute(found, (assessor, topic, page)).fetchone() is not None


def topics_of(store: Store, assessor: str) -> list[int]:
    """The topics of which an assessor was given pages, ascending."""
    rows = store.connection.execute("SELECT DISTINCT topic FROM assignment WHERE assessor = ? ORDER BY 1", (assessor,))
    return [int(topic) for (topic,) in rows]


def next_item(store: Store, assessor: str, topic: int | None = None) -> QueueItem | None:
    """The first page without a vote of this assessor; None when there is none left."""
    return next((item for item in queue(store, assessor, topic) if item.outcome is None), None)


def next_after(store: Store, assessor: str, topic: int, page: int) -> QueueItem | None:
    """The page to judge after `page`: of the same topic as long as its tier, or the model's batch, is open, else the
    first of all that are open, whatever their topic; None when there is none left.
    """
    first = next_item(store, assessor)
    if first is None:
        return None
    of_topic = topic_queue(store, assessor, topic).open_after(page)
    is_due = of_topic is not None and _turn(store, of_topic) <= _turn(store, first)
    return of_topic if is_due else first


def _turn(store: Store, item: QueueItem) -> tuple[int, int]:
    """When a page comes: pages with the least come first."""
    found = "SELECT urgency, tier FROM item WHERE topic = ? AND page = ?"
    urgency, tier = store.connection.execute(found, (item.topic, item.page)).fetchone()
    return int(urgency), int(tier)


def assessor_progress(store: Store, assessor: str) -> list[TopicProgress]:
    """How far the assessor is, topic by topic."""
    rows = store.connection.execute(
        f"""SELECT q.topic, t.title, count(*), count(q.outcome) FILTER (WHERE q.outcome <> 'skipped'),
              count(*) FILTER (WHERE q.outcome = 'skipped')
            FROM ({QUEUE}) q JOIN topic t ON t.id = q.topic GROUP BY q.topic, t.title ORDER BY q.topic""",
        {"assessor": assessor, "topic": None},
    )
    return [TopicProgress(*row) for row in rows]


MAX_REMARK = 4000


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody said about a page."""

    author: str
    role: str
    """`assessor` or `organiser`."""
    text: str
    time: str


@dataclass(frozen=True, slots=True)
class Discussed:
    """A page that people talk about."""

    topic: int
    page: int
    n_remarks: int
    last_time: str


def add_remark(store: Store, token: str, topic: int, page: int, author: str, text: str) -> bool:
    """Whether the remark was new: the same one sent again is not stored again. The log has a digest of its text."""
    row = (token, topic, page, author, text, utc_now())
    with store.transaction() as connection:
        if connection.execute("SELECT 1 FROM remark WHERE token = ?", (token,)).fetchone() is not None:
            return False
        columns = "token, topic, page, author, text, time"
        connection.execute(f"INSERT INTO remark ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
        digest = hashlib.sha256(text.encode()).hexdigest()
        append_entry(connection, author, "remark", topic=topic, page=shown_id(store, page), sha256=digest)
        return True


def remarks_on(store: Store, topic: int, page: int) -> list[Remark]:
    """The remarks on a page, the oldest first."""
    query = (
        "SELECT r.author, a.role, r.text, r.time FROM remark r JOIN assessor a ON a.name = r.author "
        "WHERE r.topic = ? AND r.page = ? ORDER BY r.id"
    )
    return [Remark(*row) for row in store.connection.execute(query, (topic, page))]


def discussed_pages(store: Store, assessor: str | None = None) -> list[Discussed]:
    """Pages with remarks, those with the newest first; of an assessor, only those that he or she has judged."""
    query = "SELECT topic, page, count(*), max(time) FROM remark GROUP BY topic, page ORDER BY max(id) DESC"
    found = [Discussed(*row) for row in store.connection.execute(query)]
    if assessor is None:
        return found
    own = "SELECT DISTINCT topic, page FROM current_vote WHERE assessor = ? AND method <> 'adjudication'"
    judged = {(topic, page) for topic, page in store.connection.execute(own, (assessor,))}
    return [entry for entry in found if (entry.topic, entry.page) in judged]
