"""Remarks on pages where votes differ, by those who judged the page and by organisers."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.trec.assessment.store import Store
from evenrank.trec.assessment.votes import utc_now

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
    """Whether the remark was new: the same one sent again is not stored again."""
    row = (token, topic, page, author, text, utc_now())
    with store.transaction() as connection:
        if connection.execute("SELECT 1 FROM remark WHERE token = ?", (token,)).fetchone() is not None:
            return False
        columns = "token, topic, page, author, text, time"
        connection.execute(f"INSERT INTO remark ({columns}) VALUES (?, ?, ?, ?, ?, ?)", row)
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
