"""Assessors and their work: a name and a secret link each, of which only a digest is kept; one assessor for each
topic, and a sample of its pages for others too.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from evenrank.core.rng import derive
from evenrank.database.database import Connection
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.campaign import keep_runs
from evenrank.trec.assessment.log import append_entry, is_pseudonym, pseudonym_of, pseudonyms_of, utc_now
from evenrank.trec.assessment.pool import Pool, whole_tiers
from evenrank.trec.assessment.votes import Store, keep_ids, seed_of

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
    name = unicodedata.normalize("NFC", name.strip())
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise EvenrankError(f"not a name: {name!r} (1 to {MAX_NAME} printable characters)")
    return name


class NameTakenError(EvenrankError):
    """Somebody of this name is here already, and keeps their link."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} is here already")


def add_assessor(store: Store, name: str, role: Role = "assessor", by: str | None = None, is_new: bool = False) -> str:
    """The secret of a new link for `name`; an earlier link of the same name stops working.

    With `is_new` it is an error when somebody of that name, or of one that reads the same, is here.
    """
    name = checked_name(name)
    secret = secrets.token_urlsafe(24)
    with store.transaction() as connection:
        known = [other for (other,) in connection.execute("SELECT name FROM assessor").fetchall()]
        is_known = name in known
        alike = next((other for other in known if _folded(other) == _folded(name)), None)
        if is_new and alike is not None:
            raise NameTakenError(alike)
        if not is_known and is_pseudonym(name):
            raise EvenrankError(f"{name} looks like a pseudonym of the log (choose another name)")
        connection.execute(
            "INSERT INTO assessor (name, role, secret_hash, created) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET role = excluded.role, secret_hash = excluded.secret_hash",
            (name, role, _digest(secret), utc_now()),
        )
        action = "replace-link" if is_known else "add-person"
        append_entry(connection, by, action, person=pseudonym_of(connection, name), role=role)
    return secret


def _folded(name: str) -> str:
    """A name as readers see it: without capitals, and with one space for several."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def withdraw_link(store: Store, name: str, by: str | None = None) -> None:
    """Ends the secret link of `name`; all votes stay."""
    with store.transaction() as connection:
        connection.execute("UPDATE assessor SET secret_hash = NULL WHERE name = ?", (name,))
        append_entry(connection, by, "withdraw-link", person=pseudonym_of(connection, name))


def erase_name(store: Store, name: str, by: str | None = None) -> str:
    """The pseudonym that takes the place of `name` everywhere in the file; votes, log and its chain stay.

    The link ends. What people wrote in comments and remarks stays as they wrote it.
    """
    with store.transaction() as connection:
        row = connection.execute("SELECT role, created FROM assessor WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise EvenrankError(f"{store.path}: nobody is named {name!r}")
        pseudonym = pseudonym_of(connection, name)
        append_entry(connection, by, "erase-name", person=pseudonym)
        connection.execute("UPDATE assessor SET pseudonym = NULL WHERE name = ?", (name,))
        connection.execute(
            "INSERT INTO assessor (name, role, created, pseudonym) VALUES (?, ?, ?, ?)", (pseudonym, *row, pseudonym)
        )
        tables = {"vote": "assessor", "assignment": "assessor", "topic_assessor": "assessor", "remark": "author"}
        for table, column in tables.items():
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (pseudonym, name))
        connection.execute("DELETE FROM assessor WHERE name = ?", (name,))
        return pseudonym


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


def divide_topics(
    sizes: Mapping[int, int],
    names: Sequence[str],
    known: Mapping[int, str],
    chosen: Mapping[int, Sequence[str]] | None = None,
) -> dict[int, str]:
    """Topic → its assessor: largest topics first, each to who has least; `known` ones stay.

    Topics of `chosen` go to one of the people that it names.
    """
    if not names:
        raise EvenrankError("no assessors: add some with evenrank judgments assessor")
    load: Counter[str] = Counter()
    for topic in known.keys() & sizes.keys():
        load[known[topic]] += sizes[topic]
    primary = dict(known)
    for topic in sorted(sizes.keys() - known.keys(), key=lambda topic: (-sizes[topic], topic)):
        primary[topic] = min(sorted((chosen or {}).get(topic, names)), key=lambda name: load[name])
        load[primary[topic]] += sizes[topic]
    return primary


def plan_assignments(
    pages: Iterable[tuple[int, int]],
    primary: Mapping[int, str],
    names: Sequence[str],
    overlap: Overlap,
    seed: int,
    chosen: Mapping[int, Sequence[str]] | None = None,
) -> Iterator[Assignment]:
    """The assessors of each (topic, page).

    Whether a page is in the sample depends on the seed and the page alone, so pages that come later change nothing.
    """
    for topic, page in pages:
        yield Assignment(primary[topic], topic, page, "primary")
        rng = derive(seed, "overlap", topic, page)
        if rng.random() < overlap.share:
            others = [name for name in sorted((chosen or {}).get(topic, names)) if name != primary[topic]]
            for index in rng.permutation(len(others))[: overlap.n_judges - 1]:
                yield Assignment(others[index], topic, page, "overlap")


def load_pool(store: Store, pool: Pool, titles: Mapping[int, str], by: str | None = None) -> int:
    """Number of pages that were new; the others keep their tier, or move up with the pool. Withdrawn runs stay so."""
    number = keep_ids(store, pool.ids, (entry.page for entry in pool.pages))
    with store.transaction() as connection:
        before = _n_items(store)
        connection.executemany(
            "INSERT INTO topic (id, title, pooled_tier) VALUES (?, ?, ?) ON CONFLICT (id) "
            "DO UPDATE SET title = excluded.title, pooled_tier = excluded.pooled_tier",
            [(topic, titles.get(topic, ""), tier) for topic, tier in whole_tiers(pool).items()],
        )
        connection.executemany(
            "INSERT INTO item (topic, page, tier) VALUES (?, ?, ?) ON CONFLICT (topic, page) DO UPDATE "
            "SET tier = CASE WHEN excluded.tier < item.tier THEN excluded.tier ELSE item.tier END",
            [(entry.topic, number[entry.page], entry.tier) for entry in pool.pages],
        )
        keep_runs(connection, pool, number)
        n_new = _n_items(store) - before
        runs = {run.name: run.fingerprint for run in pool.runs}
        depths = {"tiers": [str(tier) for tier in pool.tiers], "budget": pool.budget, "total": pool.total}
        append_entry(connection, by, "load-pool", n_pages=len(pool.pages), n_new=n_new, runs=runs, **depths)
        return n_new


def _n_items(store: Store) -> int:
    return int(store.connection.execute("SELECT count(*) FROM item").fetchone()[0])


UNASSIGNED = (
    "SELECT topic, page FROM item WHERE is_withdrawn = 0 AND (topic, page) NOT IN (SELECT topic, page FROM assignment)"
)
"""Pages to judge that nobody has yet."""


def assign_pages(store: Store, names: Sequence[str], overlap: Overlap | None = None, by: str | None = None) -> int:
    """Number of new assignments: pages that nobody has yet go to their topic's assessor and to the sample's.

    `names` are those who can judge: a topic whose assessor is not among them goes to another one. Topics for which
    people were chosen go to these alone. Whoever gets a topic gets its gold pages.
    """
    sample = overlap or Overlap()
    with store.transaction() as connection:
        chosen = _able(store, names)
        pages = [(topic, page) for topic, page in connection.execute(f"{UNASSIGNED} ORDER BY topic, page")]
        owners = (
            "SELECT topic, assessor FROM assignment WHERE reason = 'primary' GROUP BY topic, assessor ORDER BY 1, 2"
        )
        known: dict[int, str] = {}
        for topic, name in connection.execute(owners):
            if name in chosen.get(topic, names):
                known.setdefault(topic, name)
        sizes = dict(connection.execute("SELECT topic, count(*) FROM item GROUP BY topic").fetchall())
        primary = divide_topics(sizes, names, known, chosen)
        plan = list(plan_assignments(pages, primary, names, sample, seed_of(store), chosen))
        connection.executemany("INSERT INTO assignment VALUES (?, ?, ?, ?, ?)", _shuffled(plan, seed_of(store)))
        give_to_all(store, connection)
        people = pseudonyms_of(connection, names)
        settings = {"overlap": sample.share, "judges": sample.n_judges, "seed": seed_of(store)}
        append_entry(connection, by, "assign", n_assignments=len(plan), n_pages=len(pages), people=people, **settings)
        return len(plan)


def chosen_assessors(store: Store) -> dict[int, tuple[str, ...]]:
    """Topic → who may judge it, by name; topics that everybody may judge are not there."""
    found: dict[int, tuple[str, ...]] = {}
    for topic, name in store.connection.execute("SELECT topic, assessor FROM topic_assessor ORDER BY 1, 2"):
        found[topic] = (*found.get(topic, ()), name)
    return found


def choose_assessors(store: Store, topic: int, names: Sequence[str], by: str | None = None) -> None:
    """From now on, pages of `topic` are assigned to `names` alone; to everybody when there are none."""
    with store.transaction() as connection:
        judging = {row[0] for row in connection.execute("SELECT name FROM assessor WHERE role = 'assessor'").fetchall()}
        if unknown := sorted(set(names) - judging):
            raise EvenrankError(f"not among the assessors: {', '.join(unknown)} (add them first)")
        if connection.execute("SELECT 1 FROM topic WHERE id = ?", (topic,)).fetchone() is None:
            raise EvenrankError(f"the file has no topic {topic}")
        connection.execute("DELETE FROM topic_assessor WHERE topic = ?", (topic,))
        rows = [(topic, name) for name in sorted(set(names))]
        connection.executemany("INSERT INTO topic_assessor (topic, assessor) VALUES (?, ?)", rows)
        append_entry(connection, by, "choose-assessors", topic=topic, people=pseudonyms_of(connection, names))


def _able(store: Store, names: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Topic → those of `names` who were chosen for it; an error when nobody is left for a topic that has free pages."""
    free = {topic for topic, _ in store.connection.execute(UNASSIGNED)}
    chosen = {
        topic: tuple(name for name in people if name in names) for topic, people in chosen_assessors(store).items()
    }
    if without := [str(topic) for topic, people in chosen.items() if not people and topic in free]:
        raise EvenrankError(
            f"nobody who was chosen for topic {', '.join(without)} has a link (choose others, or make links)"
        )
    return {topic: people for topic, people in chosen.items() if people}


def give_to_all(store: Store, connection: Connection) -> int:
    """Number of new assignments: gold pages go to everybody with a link who judges their topic."""
    missing = connection.execute(
        "SELECT DISTINCT a.assessor, g.topic, g.page FROM gold g JOIN assignment a ON a.topic = g.topic "
        "JOIN assessor p ON p.name = a.assessor AND p.secret_hash IS NOT NULL WHERE NOT EXISTS (SELECT 1 FROM "
        "assignment b WHERE b.assessor = a.assessor AND b.topic = g.topic AND b.page = g.page) ORDER BY 1, 2, 3"
    ).fetchall()
    plan = [Assignment(name, topic, page, "overlap") for name, topic, page in missing]
    connection.executemany("INSERT INTO assignment VALUES (?, ?, ?, ?, ?)", _shuffled(plan, seed_of(store)))
    return len(plan)


def _shuffled(plan: Iterable[Assignment], seed: int) -> Iterator[tuple[str, int, int, str, float]]:
    """Rows of the table: each assessor has an own order, drawn from the stored seed."""
    for entry in plan:
        position = derive(seed, "order", entry.assessor, entry.topic, entry.page).random()
        yield entry.assessor, entry.topic, entry.page, entry.reason, position


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Where the open pages of an assessor went."""

    n_pages: int
    """Pages that the taker has now."""
    n_to_others: int
    """Pages that the taker judges already, for a second opinion: they went to somebody else."""
    n_kept: int
    """Pages that nobody else is left to judge; they stay where they were."""


def hand_over(store: Store, topic: int, giver: str, taker: str, by: str | None = None) -> HandedOver:
    """Pages of `topic` that `giver` has not decided, skipped ones too, go to `taker`.

    A page that two people are to judge keeps two: where the taker is one of them already, it goes to whoever has a
    link and the fewest pages. The taker must be an assessor with a link: nobody else could judge the pages.
    """
    with store.transaction() as connection:
        may_judge = "SELECT 1 FROM assessor WHERE name = ? AND role = 'assessor' AND secret_hash IS NOT NULL"
        if connection.execute(may_judge, (taker,)).fetchone() is None:
            raise EvenrankError(f"{taker} is no assessor with a link, and could not judge the pages (choose another)")
        open_pages = connection.execute(
            "SELECT page, reason FROM assignment a WHERE assessor = ? AND topic = ? AND NOT EXISTS "
            "(SELECT 1 FROM current_vote v WHERE v.assessor = a.assessor AND v.topic = a.topic AND v.page = a.page "
            "AND v.outcome <> 'skipped') ORDER BY page",
            (giver, topic),
        ).fetchall()
        judges = _judges(store, topic)
        linked = "SELECT name FROM assessor WHERE role = 'assessor' AND secret_hash IS NOT NULL ORDER BY name"
        able = chosen_assessors(store).get(topic)
        others = [
            name
            for (name,) in connection.execute(linked)
            if name not in (giver, taker) and (able is None or name in able)
        ]
        load = Counter(
            dict(connection.execute("SELECT assessor, count(*) FROM assignment GROUP BY assessor").fetchall())
        )
        plan: list[Assignment] = []
        for page, reason in open_pages:
            free = [name for name in others if name not in judges[page]]
            new = taker if taker not in judges[page] else min(free, key=lambda name: (load[name], name), default=None)
            if new is not None:
                plan.append(Assignment(new, topic, page, reason))
                load[new] += 1
        connection.executemany(
            "DELETE FROM assignment WHERE assessor = ? AND topic = ? AND page = ?",
            [(giver, topic, entry.page) for entry in plan],
        )
        connection.executemany("INSERT INTO assignment VALUES (?, ?, ?, ?, ?)", _shuffled(plan, seed_of(store)))
        n_taken = sum(entry.assessor == taker for entry in plan)
        done = HandedOver(n_taken, len(plan) - n_taken, len(open_pages) - len(plan))
        people = {"giver": pseudonym_of(connection, giver), "taker": pseudonym_of(connection, taker)}
        append_entry(connection, by, "hand-over", topic=topic, **people, **asdict(done))
        return done


def _judges(store: Store, topic: int) -> dict[int, set[str]]:
    """Page → everybody who is asked about it or has judged it."""
    asked = (
        "SELECT page, assessor FROM assignment WHERE topic = ? UNION "
        "SELECT page, assessor FROM current_vote WHERE topic = ? AND method <> 'adjudication'"
    )
    judges: dict[int, set[str]] = {}
    for page, name in store.connection.execute(asked, (topic, topic)):
        judges.setdefault(page, set()).add(name)
    return judges
