"""Gold pages: everybody of a topic judges them among the others, and the organisers' ruling is the right answer.

Whoever answers otherwise sees the ruling at once, and organisers see how often each assessor was right. The very first
answer counts, even one that was taken back: after it, the assessor has seen the ruling.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from evenrank.database.database import Connection
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.assessors import give_to_all
from evenrank.trec.assessment.log import append_entry
from evenrank.trec.assessment.votes import (
    ADJUDICATION,
    Store,
    Vote,
    all_votes,
    current_votes,
    rule_all,
    shown_id,
    standing_ruling,
)


@dataclass(frozen=True, slots=True)
class GoldScore:
    """How often the first answers of an assessor on gold pages were those of the organisers."""

    assessor: str
    n_pages: int
    n_right: int

    @property
    def share(self) -> float:
        return self.n_right / self.n_pages


def mark_gold(store: Store, topic: int, page: int, by: str | None = None) -> int:
    """Number of people who are asked about a page that has a ruling, from now on a gold page."""
    with store.transaction() as connection:
        if standing_ruling(store, topic, page) is None:
            raise EvenrankError("a gold page needs a ruling: it is the right answer")
        return _mark(store, connection, [(topic, page)], by)


def import_gold(store: Store, grades: Iterable[tuple[int, int, int]], by: str) -> int:
    """Rules on pages of the pool, (topic, page, grade), in the name of an organiser, and makes them gold pages.

    All are kept together or none; gives the number of people who are asked, page by page.
    """
    listed = list(grades)
    with store.transaction() as connection:
        pooled = set(map(tuple, connection.execute("SELECT topic, page FROM item").fetchall()))
        if missing := [(topic, page) for topic, page, _ in listed if (topic, page) not in pooled]:
            named = ", ".join(f"{shown_id(store, page)} of topic {topic}" for topic, page in missing[:5])
            raise EvenrankError(
                f"{len(missing):,} pages are not in the pool, and nobody could be asked about them: {named}"
                f"{', …' * (len(missing) > 5)} (leave them out, or add them to the pool)"
            )
        rule_all(store, connection, listed, by)
        return _mark(store, connection, [(topic, page) for topic, page, _ in listed], by)


def _mark(store: Store, connection: Connection, pages: list[tuple[int, int]], by: str | None) -> int:
    connection.executemany("INSERT INTO gold VALUES (?, ?) ON CONFLICT DO NOTHING", pages)
    n_asked = give_to_all(store, connection)
    shown = [[topic, shown_id(store, page)] for topic, page in pages[:100]]
    append_entry(connection, by, "mark-gold", n_pages=len(pages), n_assignments=n_asked, pages=shown)
    return n_asked


def unmark_gold(store: Store, topic: int, page: int, by: str | None = None) -> None:
    """A gold page is a page like any other again; its ruling and all answers stay."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM gold WHERE topic = ? AND page = ?", (topic, page))
        append_entry(connection, by, "unmark-gold", topic=topic, page=shown_id(store, page))


def is_gold(store: Store, topic: int, page: int) -> bool:
    """Whether a page is a gold page."""
    found = "SELECT 1 FROM gold WHERE topic = ? AND page = ?"
    return store.connection.execute(found, (topic, page)).fetchone() is not None


def gold_ruling(store: Store, assessor: str, topic: int, page: int) -> Vote | None:
    """The ruling on a gold page that an assessor has answered otherwise; None where there is nothing to tell."""
    if not is_gold(store, topic, page):
        return None
    mine = [
        vote
        for vote in current_votes(store, topic)
        if vote.page == page and vote.assessor == assessor and vote.method != ADJUDICATION
    ]
    ruling = standing_ruling(store, topic, page)
    is_answered = bool(mine) and mine[-1].outcome != "skipped"
    return ruling if ruling is not None and is_answered and not _is_right(mine[-1], ruling) else None


def gold_scores(store: Store) -> list[GoldScore]:
    """How often each assessor was right on gold pages, by name."""
    pages = set(map(tuple, store.connection.execute("SELECT topic, page FROM gold").fetchall()))
    votes = [vote for vote in all_votes(store) if (vote.topic, vote.page) in pages] if pages else []
    rulings = {(t, p): ruling for t, p in pages if (ruling := standing_ruling(store, t, p)) is not None}
    first: dict[tuple[str, int, int], Vote] = {}
    for vote in votes:
        if vote.outcome in ("graded", "unassessable") and vote.method != ADJUDICATION:
            first.setdefault((vote.assessor, vote.topic, vote.page), vote)
    scores: dict[str, GoldScore] = {}
    for (name, topic, page), vote in first.items():
        ruling = rulings.get((topic, page))
        if ruling is not None:
            known = scores.get(name, GoldScore(name, 0, 0))
            scores[name] = replace(known, n_pages=known.n_pages + 1, n_right=known.n_right + _is_right(vote, ruling))
    return [scores[name] for name in sorted(scores)]


def _is_right(vote: Vote, ruling: Vote) -> bool:
    return (vote.outcome, vote.grade) == (ruling.outcome, ruling.grade)
