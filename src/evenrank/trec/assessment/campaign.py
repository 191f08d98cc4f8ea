"""What a campaign asks about, as it changes: runs that are withdrawn, topics that are corrected, the order of the work.

A page leaves the queues when all runs that brought it are withdrawn, and comes back with any of them; votes on it stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass

import orjson

from evenrank.core.records import Topic
from evenrank.database.database import Connection
from evenrank.errors import EvenrankError, listed
from evenrank.io.judgment_record import CampaignRuns
from evenrank.trec.assessment.log import append_entry, utc_now
from evenrank.trec.assessment.pool import Pool
from evenrank.trec.assessment.votes import Store

MARK_WITHDRAWN = """
UPDATE item SET is_withdrawn = CASE WHEN
  EXISTS (SELECT 1 FROM contribution c WHERE c.topic = item.topic AND c.page = item.page)
  AND NOT EXISTS (
    SELECT 1 FROM contribution c JOIN pooled_run r ON r.name = c.run
    WHERE c.topic = item.topic AND c.page = item.page AND r.is_withdrawn = 0)
  THEN 1 ELSE 0 END
"""
"""Pages of pools that were loaded before runs were kept have no contribution, and stay in the queues."""


def keep_runs(connection: Connection, pool: Pool, number: Mapping[int, int]) -> None:
    """Note which runs brought the pages of a pool; `number` has the number of each page in the file."""
    known = dict(connection.execute("SELECT name, fingerprint FROM pooled_run").fetchall())
    if changed := sorted(run.name for run in pool.runs if known.get(run.name, run.fingerprint) != run.fingerprint):
        raise EvenrankError(
            f"the pool has another run of the name {', '.join(changed)} than the pages that are being judged "
            "(rename one of them, and build the pool again)"
        )
    if pool.runs and (missing := _runs_beside(connection, pool)):
        raise EvenrankError(
            f"the pool lacks runs whose pages are being judged ({listed(missing)}), so it does not say how deep its "
            "topics are pooled (add new runs to the pool that has them: evenrank pool build DIR RUN… -o POOL)"
        )
    connection.executemany(
        "INSERT INTO pooled_run (name, task, fingerprint) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(run.name, run.task, run.fingerprint) for run in pool.runs],
    )
    connection.executemany(
        "INSERT INTO contribution (run, topic, page) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(run, entry.topic, number[entry.page]) for entry in pool.pages for run in entry.runs],
    )
    connection.execute(MARK_WITHDRAWN)


def _runs_beside(connection: Connection, pool: Pool) -> list[str]:
    """Runs that are not in a pool and brought pages to its topics, withdrawn ones aside."""
    rows = connection.execute(
        "SELECT DISTINCT c.run, c.topic FROM contribution c JOIN pooled_run r ON r.name = c.run "
        "WHERE r.is_withdrawn = 0 ORDER BY c.run"
    )
    topics, names = {entry.topic for entry in pool.pages}, {run.name for run in pool.runs}
    return list(dict.fromkeys(run for run, topic in rows if topic in topics and run not in names))


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run that brought pages to the pool of a judgments file."""

    name: str
    task: int
    n_pages: int
    n_unique: int
    """Pages that no other run brought."""
    is_withdrawn: bool


def known_runs(store: Store) -> list[KnownRun]:
    """The runs behind the pooled pages, by name."""
    rows = store.connection.execute(
        """SELECT r.name, r.task, count(c.page), count(c.page) FILTER (WHERE NOT EXISTS (
             SELECT 1 FROM contribution o WHERE o.topic = c.topic AND o.page = c.page AND o.run <> c.run)),
           r.is_withdrawn
           FROM pooled_run r LEFT JOIN contribution c ON c.run = r.name
           GROUP BY r.name, r.task, r.is_withdrawn ORDER BY r.name"""
    )
    return [KnownRun(name, task, n, unique, bool(gone)) for name, task, n, unique, gone in rows]


IMPORTED = "imported_campaign"
"""The setting with what the records of imported judgments say."""


def campaign_runs(store: Store) -> CampaignRuns:
    """What scores should know: of the runs here, and of the campaign whose judgments were imported."""
    imported, order = _imported(store.connection), work_order(store)
    rows = store.connection.execute("SELECT name, fingerprint, is_withdrawn FROM pooled_run ORDER BY name").fetchall()
    here = {name for name, _, _ in rows}
    pooled = {name: mark for name, mark in imported.pooled.items() if name not in here}
    withdrawn = {name: mark for name, mark in imported.withdrawn.items() if name not in here}
    for name, mark, is_withdrawn in rows:
        (withdrawn if is_withdrawn else pooled)[name] = mark
    return CampaignRuns(pooled, withdrawn, order.note if order else imported.bias)


def withdrawn_runs(store: Store) -> tuple[str, ...]:
    """The runs that are no part of a leaderboard: withdrawn here, or in the campaign whose judgments were imported."""
    return tuple(sorted(campaign_runs(store).withdrawn))


def keep_imported(connection: Connection, campaign: CampaignRuns) -> None:
    """Note what scores must say of the campaign whose judgments are imported, inside the caller's transaction."""
    connection.execute("DELETE FROM setting WHERE name = ?", (IMPORTED,))
    connection.execute("INSERT INTO setting VALUES (?, ?)", (IMPORTED, orjson.dumps(asdict(campaign)).decode()))


def _imported(connection: Connection) -> CampaignRuns:
    row = connection.execute("SELECT value FROM setting WHERE name = ?", (IMPORTED,)).fetchone()
    return CampaignRuns(**orjson.loads(row[0])) if row else CampaignRuns()


def withdraw_run(store: Store, name: str, reason: str = "", by: str | None = None) -> int:
    """Number of pages that leave the queues, because only withdrawn runs brought them; votes on them stay."""
    return _set_withdrawn(store, name, True, reason, by)


def restore_run(store: Store, name: str, reason: str = "", by: str | None = None) -> int:
    """Number of pages that come back to the queues with a run that was withdrawn."""
    return _set_withdrawn(store, name, False, reason, by)


def _set_withdrawn(store: Store, name: str, is_withdrawn: bool, reason: str, by: str | None) -> int:
    with store.transaction() as connection:
        row = connection.execute("SELECT is_withdrawn FROM pooled_run WHERE name = ?", (name,)).fetchone()
        if row is None:
            known = ", ".join(run.name for run in known_runs(store)) or "none; load the pool again"
            raise EvenrankError(f"no run {name!r} brought pages to {store.path} (known: {known})")
        if bool(row[0]) == is_withdrawn:
            raise EvenrankError(f"run {name!r} is {'already' if is_withdrawn else 'not'} withdrawn")
        before = _n_withdrawn(connection)
        connection.execute("UPDATE pooled_run SET is_withdrawn = ? WHERE name = ?", (int(is_withdrawn), name))
        connection.execute(MARK_WITHDRAWN)
        n_pages = abs(_n_withdrawn(connection) - before)
        action = "withdraw-run" if is_withdrawn else "restore-run"
        append_entry(connection, by, action, run=name, n_pages=n_pages, reason=reason)
        return n_pages


def _n_withdrawn(connection: Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM item WHERE is_withdrawn = 1").fetchone()[0])


def revise_topics(store: Store, topics: Iterable[Topic], by: str | None = None) -> list[int]:
    """Topics of the file whose text is not the one that is kept: it is kept now, as a new version.

    Votes carry the version that their assessors had read. A topic's first text is version 1; nothing is written when
    no text has changed.
    """
    texts = {topic.id: _text(topic) for topic in topics}
    if not _changed(store, texts):
        return []
    with store.transaction() as connection:
        changed = _changed(store, texts)  # another process may have been first
        for topic, version in changed.items():
            connection.execute("UPDATE topic SET version = ? WHERE id = ?", (version, topic))
            row = (topic, version, texts[topic], utc_now())
            connection.execute("INSERT INTO topic_text (topic, version, text, time) VALUES (?, ?, ?, ?)", row)
        revised = {str(topic): version for topic, version in changed.items() if version > 1}
        if revised:
            append_entry(connection, by, "revise-topics", versions=revised)
        return [topic for topic, version in changed.items() if version > 1]


def _changed(store: Store, texts: Mapping[int, str]) -> dict[int, int]:
    """Topic → its next version, for topics of the file whose kept text differs."""
    rows = store.connection.execute(
        "SELECT t.id, t.version, x.text FROM topic t "
        "LEFT JOIN topic_text x ON x.topic = t.id AND x.version = t.version ORDER BY t.id"
    ).fetchall()
    return {
        topic: version + (text is not None) for topic, version, text in rows if topic in texts and text != texts[topic]
    }


def _text(topic: Topic) -> str:
    """What assessors read about a topic."""
    shown = {"title": topic.title, "keywords": list(topic.keywords), "scope": topic.scope}
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True, slots=True)
class TopicRecall:
    """How much of a topic's relevant pages is found, as its random sample says."""

    topic: int
    n_open: int
    """Pages that nobody has decided."""
    recall: float | None
    """Estimated share of the pool's relevant pages that are found; None until the sample says something."""
    low: float | None
    """Its lower end: 95 % sure."""
    n_set_aside: int
    """Open pages that nobody is asked about, because enough is found."""


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """How a model orders the work; without one, work goes tier by tier."""

    sample: float
    """Chance of a page to be in the random sample, which is judged first."""
    batch: int
    """Pages of a topic between two fits of the model."""
    recall: float | None
    """A topic stops when its estimated recall is at least this, 95 % sure; None: never."""
    n_votes: int
    """Votes in the file when the model was fitted."""
    topics: tuple[TopicRecall, ...]

    def is_due(self, n_votes: int) -> bool:
        """Whether there are enough new votes to fit the model again."""
        return n_votes >= self.n_votes + self.batch

    @property
    def note(self) -> str:
        """The bias, for everything that is made from these judgments."""
        stopped = [topic for topic in self.topics if topic.n_set_aside]
        n_pages = sum(topic.n_set_aside for topic in stopped)
        ended = f"; {n_pages:,} pages of {len(stopped)} topics were set aside at an estimated recall of {self.recall}"
        return (
            "pages were judged in the order of a model, which finds pages like those found before: systems that find "
            f"others are at a disadvantage{ended if stopped else ''}"
        )


def work_order(store: Store) -> WorkOrder | None:
    """How a model orders the work; None where it goes tier by tier."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'work_order'").fetchone()
    if row is None:
        return None
    fields = orjson.loads(row[0])
    return WorkOrder(**{**fields, "topics": tuple(TopicRecall(**topic) for topic in fields["topics"])})


def keep_work_order(
    store: Store,
    order: WorkOrder | None,
    urgency: Mapping[tuple[int, int], int],
    set_aside: Collection[tuple[int, int]],
    by: str | None,
) -> None:
    """Order the work by `urgency`, (topic, page) → number of its batch, or tier by tier; noted in the log.

    Pages that are not named come last. Nobody is asked about those of `set_aside` any more.
    """
    last = max(urgency.values(), default=-1) + 1
    with store.transaction() as connection:
        connection.execute("UPDATE item SET urgency = ?, is_set_aside = 0", (last,))
        rows = [(number, topic, page) for (topic, page), number in urgency.items()]
        connection.executemany("UPDATE item SET urgency = ? WHERE topic = ? AND page = ?", rows)
        connection.executemany("UPDATE item SET is_set_aside = 1 WHERE topic = ? AND page = ?", sorted(set_aside))
        connection.execute("DELETE FROM setting WHERE name = 'work_order'")
        if order is None:
            return append_entry(connection, by, "order-by-tier")
        said = asdict(order)
        connection.execute("INSERT INTO setting VALUES ('work_order', ?)", (orjson.dumps(said).decode(),))
        topics = {str(topic["topic"]): topic for topic in said.pop("topics")}
        return append_entry(connection, by, "order-by-model", **said, topics=topics)
