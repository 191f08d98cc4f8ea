"""The log of a judgments file: what anybody did, in order, each entry chained to the one before it by a digest.

People appear by pseudonym, so that a name can be erased and the chain still holds. Votes are no entries of their own:
each entry holds a digest of the votes since the one before, so that a vote changed or removed later shows as well.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from evenrank.database.database import Connection, Database

OPERATOR = "operator"
"""Who acts on the command line: whoever may write to the file."""
PSEUDONYM = "person-"
"""What all pseudonyms begin with."""
VOTE_FIELDS = "token, topic, page, outcome, grade, comment, seconds, time, method, undoes, topic_version, max_grade"
"""What the digest of a vote covers, beside the pseudonym of who cast it."""
MAX_VOTE = 2**62
"""Behind the number of every vote."""


def utc_now() -> str:
    """The present time as votes and entries of the log carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that somebody did."""

    number: int
    """From 1, without gaps."""
    time: str
    actor: str
    """Pseudonym of who did it; `operator` on the command line."""
    action: str
    """`assign`, `hand-over`, `withdraw-run`, `rule`, `rescale`, `reopen`, `import`, `export` and so on."""
    details: dict[str, Any]
    """What it was about; people by pseudonym."""
    last_vote: int
    """Number of the last vote at that time."""
    votes: str
    """SHA-256 of the votes since the entry before."""
    digest: str
    """SHA-256 of all this and of the digest before."""

    def record(self) -> dict[str, Any]:
        """The entry under the names of its fields, as files have it."""
        return {name: getattr(self, name) for name in ENTRY_FIELDS}


ENTRY_FIELDS = ("number", "time", "actor", "action", "details", "last_vote", "votes", "digest")


def append_entry(connection: Connection, by: str | None, action: str, **details: Any) -> None:
    """Add to the log inside a transaction without a turn; `by` is a name, None for the command line.

    Values of `details` that name people are pseudonyms already, as `pseudonym_of` gives them.
    """
    row = connection.execute("SELECT number, last_vote, digest FROM event ORDER BY number DESC LIMIT 1").fetchone()
    number, last_vote, before = (0, 0, "") if row is None else tuple(row)
    actor = OPERATOR if by is None else pseudonym_of(connection, by)
    for (name,) in connection.execute(
        "SELECT DISTINCT v.assessor FROM vote v JOIN assessor a ON a.name = v.assessor "
        "WHERE v.id > ? AND a.pseudonym IS NULL ORDER BY 1",
        (last_vote,),
    ).fetchall():
        pseudonym_of(connection, name)
    last, votes = _digest_of_votes(connection, last_vote)
    values = (number + 1, utc_now(), actor, action, details, last, votes)
    entry = LogEntry(*values, digest=_digest(before, values))
    connection.execute(
        f"INSERT INTO event ({', '.join(ENTRY_FIELDS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values[:4], _canonical(details).decode(), last, votes, entry.digest),
    )


def _canonical(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _digest(before: str, values: tuple[object, ...]) -> str:
    return hashlib.sha256(before.encode() + b"\n" + _canonical(values)).hexdigest()


def _digest_of_votes(connection: Connection, after: int, up_to: int = MAX_VOTE) -> tuple[int, str]:
    """Number of the last vote, and SHA-256 of all votes behind `after`."""
    fields = ", ".join(f"v.{name.strip()}" for name in VOTE_FIELDS.split(","))
    rows = connection.execute(
        f"SELECT v.id, a.pseudonym, {fields} FROM vote v JOIN assessor a ON a.name = v.assessor "
        "WHERE v.id > ? AND v.id <= ? ORDER BY v.id",
        (after, up_to),
    )
    digest, last = hashlib.sha256(), after
    for row in rows:
        last = int(row[0])
        digest.update(_canonical(list(row)[1:]) + b"\n")
    return last, digest.hexdigest()


def pseudonym_of(connection: Connection, name: str) -> str:
    """Who `name` is in the log; drawn at random when needed first, inside the caller's transaction."""
    row = connection.execute("SELECT pseudonym FROM assessor WHERE name = ?", (name,)).fetchone()
    if row is not None and row[0] is not None:
        return str(row[0])
    drawn = f"{PSEUDONYM}{secrets.token_hex(5)}"
    connection.execute("UPDATE assessor SET pseudonym = ? WHERE name = ?", (drawn, name))
    return drawn


def is_pseudonym(name: str) -> bool:
    """Whether a name looks like one that was drawn for the log."""
    return name.startswith(PSEUDONYM)


def pseudonyms_of(connection: Connection, names: Iterable[str]) -> list[str]:
    """Who `names` are in the log, sorted."""
    return sorted(pseudonym_of(connection, name) for name in names)


def names_by_pseudonym(store: Database) -> dict[str, str]:
    """Pseudonym → name, for organisers who read the log; an erased name is its own pseudonym."""
    known = "SELECT pseudonym, name FROM assessor WHERE pseudonym IS NOT NULL"
    return dict(store.connection.execute(known).fetchall())


def log_entries(store: Database) -> Iterator[LogEntry]:
    """The whole log, oldest first."""
    rows = store.connection.execute(f"SELECT {', '.join(ENTRY_FIELDS)} FROM event ORDER BY number")
    for number, time, actor, action, details, *rest in rows:
        yield LogEntry(number, time, actor, action, orjson.loads(details), *rest)


def find_gaps(entries: Iterable[LogEntry]) -> list[str]:
    """Where the chain breaks, in words; empty for an unbroken log, of a store or of a file that was exported."""
    found: list[str] = []
    before, expected = "", 1
    for entry in entries:
        if entry.number != expected:
            found.append(f"entry {entry.number} follows entry {expected - 1}: entries are missing or out of order")
        values = tuple(getattr(entry, name) for name in ENTRY_FIELDS[:-1])
        if entry.digest != _digest(before, values):
            found.append(f"entry {entry.number} is not what was written behind entry {expected - 1}")
        before, expected = entry.digest, entry.number + 1
    return found


def find_departures(entries: Iterable[LogEntry], kept: Iterable[LogEntry]) -> list[str]:
    """Where a log is not what an earlier copy of it had, in words: an end that was cut off, or a log written anew."""
    digests = {entry.number: entry.digest for entry in entries}
    found = [entry for entry in kept if digests.get(entry.number) != entry.digest]
    return [
        f"entry {entry.number} of the earlier log is {'another one' if entry.number in digests else 'missing'} here"
        for entry in found[:20]
    ] + [f"and {len(found) - 20:,} more"] * (len(found) > 20)


def check_log(store: Database) -> list[str]:
    """What is wrong with the log or with votes that it covers; empty when all is intact."""
    with store.snapshot():
        entries = list(log_entries(store))
        found = find_gaps(entries)
        after = 0
        for entry in entries:
            last, votes = _digest_of_votes(store.connection, after, entry.last_vote)
            if (last, votes) != (entry.last_vote, entry.votes):
                found.append(f"votes {after + 1} to {entry.last_vote} are not those that entry {entry.number} covers")
            after = entry.last_vote
    return found
