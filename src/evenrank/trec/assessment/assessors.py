"""Assessors and their work: a name and a secret link each, of which only a digest is kept; one assessor for each
topic, and a sample of its pages for others too.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.pool import Pool, whole_tiers
from evenrank.trec.assessment.votes import Store, keep_ids, seed_of, utc_now

Role = Literal["assessor", "organiser"]
MAX_NAME = 80


@dataclass(frozen=True, slots=True)
class Assessor:
    """Somebody who judges; an organiser also sees the state of the work and settles disagreements."""

    name: str
    role: Role
    has_link: bool
    """Whether a secret link exists; names that came with imported votes have none."""


def checked_name(name: str) -> str:
    """The name without blanks around it; EvenrankError when it is none."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise EvenrankError(f"not a name: {name!r} (1 to {MAX_NAME} printable characters)")
    return name.strip()


def add_assessor(store: Store, name: str, role: Role = "assessor") -> str:
    """The secret of a new link for `name`; an earlier link of the same name stops working."""
    name = checked_name(name)
    secret = secrets.token_urlsafe(24)
    with store.transaction() as connection:
        connection.execute(
            "INSERT INTO assessor (name, role, secret_hash, created) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET role = excluded.role, secret_hash = excluded.secret_hash",
            (name, role, _digest(secret), utc_now()),
        )
    return secret


def withdraw_link(store: Store, name: str) -> None:
    """Ends the secret link of `name`; all votes stay."""
    with store.transaction() as connection:
        connection.execute("UPDATE assessor SET secret_hash = NULL WHERE name = ?", (name,))


def assessor_of(store: Store, secret: str) -> Assessor | None:
    """Whose link it is; None for an unknown one."""
    row = store.connection.execute(
        "SELECT name, role FROM assessor WHERE secret_hash = ?", (_digest(secret),)
    ).fetchone()
    return None if row is None else Assessor(row["name"], row["role"], has_link=True)


def assessors(store: Store) -> list[Assessor]:
    """All assessors by name."""
    rows = store.connection.execute("SELECT name, role, secret_hash IS NOT NULL FROM assessor ORDER BY name")
    return [Assessor(name, role, bool(has_link)) for name, role, has_link in rows]


def name_assessors(store: Store, names: Iterable[str]) -> None:
    """Makes `names` known without a link, for votes that come from a file."""
    with store.transaction() as connection:
        connection.executemany(
            "INSERT INTO assessor (name, role, created) VALUES (?, 'assessor', ?) ON CONFLICT DO NOTHING",
            [(name, utc_now()) for name in names],
        )


def _digest(secret: str) -> bytes:
    # A plain hash is enough: the secret is 192 random bits, not a word that could be guessed.
    return hashlib.sha256(secret.encode()).digest()


@dataclass(frozen=True, slots=True)
class Overlap:
    """The sample of pages that several assessors judge, to measure their agreement."""

    share: float = 0.1
    """Chance of a page to be in the sample."""
    n_judges: int = 2
    """Assessors of a page in the sample."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One page for one assessor."""

    assessor: str
    topic: int
    page: int
    reason: str
    """`primary` or `overlap`."""


def divide_topics(sizes: Mapping[int, int], names: Sequence[str], known: Mapping[int, str]) -> dict[int, str]:
    """Topic → its assessor: largest topics first, each to who has least; `known` ones stay."""
    if not names:
        raise EvenrankError("no assessors: add some with evenrank judgments assessor")
    load: Counter[str] = Counter()
    for topic in known.keys() & sizes.keys():
        load[known[topic]] += sizes[topic]
    primary = dict(known)
    for topic in sorted(sizes.keys() - known.keys(), key=lambda topic: (-sizes[topic], topic)):
        primary[topic] = min(sorted(names), key=lambda name: load[name])
        load[primary[topic]] += sizes[topic]
    return primary


def plan_assignments(
    pages: Iterable[tuple[int, int]], primary: Mapping[int, str], names: Sequence[str], overlap: Overlap, seed: int
) -> Iterator[Assignment]:
    """The assessors of each (topic, page).

    Whether a page is in the sample depends on the seed and the page alone, so pages that come later change nothing.
    """
    for topic, page in pages:
        yield Assignment(primary[topic], topic, page, "primary")
        rng = derive(seed, "overlap", topic, page)
        if rng.random() < overlap.share:
            others = [name for name in sorted(names) if name != primary[topic]]
            for index in rng.permutation(len(others))[: overlap.n_judges - 1]:
                yield Assignment(others[index], topic, page, "overlap")


def load_pool(store: Store, pool: Pool, titles: Mapping[int, str]) -> int:
    """Number of pages that were new; the others keep their tier."""
    number = keep_ids(store, pool.ids, (entry.page for entry in pool.pages))
    with store.transaction() as connection:
        before = _n_items(store)
        connection.executemany(
            "INSERT INTO topic (id, title, pooled_tier) VALUES (?, ?, ?) ON CONFLICT (id) "
            "DO UPDATE SET title = excluded.title, pooled_tier = excluded.pooled_tier",
            [(topic, titles.get(topic, ""), tier) for topic, tier in whole_tiers(pool).items()],
        )
        connection.executemany(
            "INSERT INTO item (topic, page, tier) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [(entry.topic, number[entry.page], entry.tier) for entry in pool.pages],
        )
        return _n_items(store) - before


def _n_items(store: Store) -> int:
    return int(store.connection.execute("SELECT count(*) FROM item").fetchone()[0])


def assign_pages(store: Store, names: Sequence[str], overlap: Overlap | None = None) -> int:
    """Number of new assignments: pages that nobody has yet go to their topic's assessor and to the sample's."""
    with store.transaction() as connection:
        free = "SELECT topic, page FROM item WHERE (topic, page) NOT IN (SELECT topic, page FROM assignment)"
        pages = [(topic, page) for topic, page in connection.execute(f"{free} ORDER BY topic, page")]
        owners = "SELECT topic, min(assessor) FROM assignment WHERE reason = 'primary' GROUP BY topic"
        sizes = dict(connection.execute("SELECT topic, count(*) FROM item GROUP BY topic").fetchall())
        primary = divide_topics(sizes, names, dict(connection.execute(owners).fetchall()))
        plan = list(plan_assignments(pages, primary, names, overlap or Overlap(), seed_of(store)))
        connection.executemany("INSERT INTO assignment VALUES (?, ?, ?, ?, ?)", _shuffled(plan, seed_of(store)))
        return len(plan)


def _shuffled(plan: Iterable[Assignment], seed: int) -> Iterator[tuple[str, int, int, str, float]]:
    """Rows of the table: each assessor has an own order, drawn from the stored seed."""
    for entry in plan:
        position = derive(seed, "order", entry.assessor, entry.topic, entry.page).random()
        yield entry.assessor, entry.topic, entry.page, entry.reason, position


def hand_over(store: Store, topic: int, giver: str, taker: str) -> int:
    """Number of pages of `topic` that go from `giver` to `taker`: all that `giver` has no vote on."""
    with store.transaction() as connection:
        open_pages = connection.execute(
            "SELECT page, reason FROM assignment a WHERE assessor = ? AND topic = ? AND NOT EXISTS "
            "(SELECT 1 FROM current_vote v WHERE v.assessor = a.assessor AND v.topic = a.topic AND v.page = a.page)",
            (giver, topic),
        ).fetchall()
        plan = [Assignment(taker, topic, page, reason) for page, reason in open_pages]
        connection.executemany(
            "DELETE FROM assignment WHERE assessor = ? AND topic = ? AND page = ?",
            [(giver, topic, page) for page, _ in open_pages],
        )
        connection.executemany(
            "INSERT INTO assignment VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", _shuffled(plan, seed_of(store))
        )
        return len(plan)
