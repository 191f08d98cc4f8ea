"""A judgments file and its votes: what an assessor said about a page for a topic. Votes are added, never changed.

It is an SQLite file or a PostgreSQL database, safe for many threads and processes at once.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.text_ids import ALL_OF_A_KIND, TextIds
from evenrank.database.database import Connection, Database, Location, Turn, is_database_address, open_database
from evenrank.database.schema import Schema
from evenrank.database.sqlite import WAIT_SECONDS
from evenrank.errors import DamagedStoreError, EvenrankError, InputError, input_error
from evenrank.io.atomic import remove_stale, sync_folder, sync_tree, temporary_folder
from evenrank.trec.assessment.log import append_entry, pseudonym_of, utc_now

Store = Database
"""An open judgments file."""

MAX_GRADE = 3
"""The finest scale of relevance: not, marginally, fairly, highly relevant."""


def create_store(location: Location, seed: int = 0) -> Store:
    """A new, empty judgments file; opens the one that is there."""
    with _qrels_recognised(location):
        return open_database(location, judgments_schema(seed), may_create=True)


@contextmanager
def filled_store(location: Location, seed: int = 0) -> Iterator[Store]:
    """The judgments file at a location, to add to; a new file appears when the block ends well, with what was added.

    It is made beside its place. Whoever makes one of that name meanwhile keeps it, and this one is given up.
    """
    if is_database_address(location) or Path(location).exists():
        if not is_database_address(location):
            remove_stale(Path(location))
        with create_store(location, seed) as store:
            yield store
        return
    path = Path(location)
    with temporary_folder(path) as folder:
        fresh = folder / path.name
        with create_store(fresh, seed) as store:
            yield store
        sync_tree(folder)
        try:
            os.link(fresh, path)
        except FileExistsError as error:
            raise input_error(path, 0, "another process has just made it", "run the command again") from error
        except OSError:  # a file system without such links
            os.replace(fresh, path)
        sync_folder(path.parent)


def open_store(location: Location, wait_seconds: float = WAIT_SECONDS) -> Store:
    """The judgments file at a location."""
    with _qrels_recognised(location):
        return open_database(location, judgments_schema(), wait_seconds=wait_seconds)


@contextmanager
def _qrels_recognised(location: Location) -> Iterator[None]:
    """An error that says so where judgments in four columns are given for a judgments file.

    The file is looked at only when SQLite has said that it is none of its own: to close it would end the locks of one.
    """
    try:
        yield
    except InputError as error:
        damage = error.__cause__
        if not isinstance(damage, DamagedStoreError) or is_database_address(location):
            raise
        code = getattr(damage.__cause__, "sqlite_errorcode", sqlite3.SQLITE_NOTADB)
        if code != sqlite3.SQLITE_NOTADB or not _has_qrels(Path(location)):
            raise
        fix = "make one with `evenrank judgments import STORE FILE`, or put them into the collection with "
        fix += "`evenrank collection import --qrels`"
        raise input_error(location, 0, "cannot be opened as a judgments file: it is text qrels", fix) from error


def _has_qrels(path: Path) -> bool:
    """Whether the first line of a file has four columns, the last of which is a grade."""
    with path.open("rb") as file:
        first = file.readline(1000).split()
    return len(first) == 4 and first[3].removeprefix(b"-").isdigit()


def seed_of(store: Store) -> int:
    """The start of all shuffling and sampling in this file."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'seed'").fetchone()
    try:
        return int(row[0])
    except (TypeError, ValueError) as error:
        raise DamagedStoreError(store.path, "it has no seed") from error


def max_grade_of(store: Store) -> int:
    """The highest grade of relevance that assessors are asked for; 1 when pages are relevant or not."""
    row = store.connection.execute("SELECT value FROM setting WHERE name = 'max_grade'").fetchone()
    return 1 if row is None else int(row[0])


def set_max_grade(store: Store, grade: int, by: str | None = None) -> None:
    """Ask for grades up to `grade` from now on; an error once grades were given, whose meaning would change."""
    if not 1 <= grade <= MAX_GRADE:
        raise EvenrankError(f"the highest grade must be from 1 to {MAX_GRADE}, not {grade}")
    with store.transaction() as connection:
        before = max_grade_of(store)
        if grade == before:
            return
        (n_graded,) = connection.execute("SELECT count(*) FROM current_vote WHERE grade IS NOT NULL").fetchone()
        if n_graded:
            raise EvenrankError(
                f"{n_graded:,} grade{'s were' if n_graded != 1 else ' was'} given on the scale from 0 to {before}, and "
                f"would mean something else on a scale up to {grade} (ask for them again first, or make a new "
                "judgments file for the new scale)"
            )
        connection.execute("DELETE FROM setting WHERE name = 'max_grade'")
        connection.execute("INSERT INTO setting VALUES ('max_grade', ?)", (str(grade),))
        append_entry(connection, by, "rescale", before=before, after=grade)


def judgments_schema(seed: int = 0) -> Schema:
    """What a judgments file holds; `seed` is kept in a new one."""
    folder = files("evenrank.trec.assessment")
    return Schema(
        name="a judgments file",
        version=4,
        script=folder.joinpath("schema.sql").read_text("utf-8"),
        upgrades={step: folder.joinpath(f"upgrade_{step}.sql").read_text("utf-8") for step in (2, 3, 4)},
        table="vote",
        fix="make one with evenrank judgments create",
        first_rows=lambda connection: connection.execute("INSERT INTO setting VALUES ('seed', ?)", (str(seed),)),
        namespace="evenrank_judgments",
    )


Outcome = Literal["graded", "unassessable", "skipped", "withdrawn"]
ADJUDICATION = "adjudication"
"""Method of the votes that settle a disagreement."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote; only a graded one has a grade."""

    token: str
    """Chosen by who sends it, once for each vote; a vote sent again is not stored again."""
    topic: int
    page: int
    assessor: str
    outcome: Outcome
    grade: int | None = None
    """0 not relevant, 1 relevant; a scale may go further up, never below 0."""
    comment: str = ""
    seconds: float | None = None
    """Time the page was in front of the assessor."""
    time: str = ""
    """When, in UTC; the time of storing when left out."""
    method: str = "web"
    """How the vote came about: web, import, adjudication."""
    undoes: str | None = None
    """Token of the vote that this one withdraws."""
    topic_version: int = 1
    """Version of the topic's text that the assessor had read."""
    max_grade: int | None = None
    """Highest grade of the scale that was asked for; None where that is not known."""


COLUMNS = tuple(field.name for field in fields(Vote))
INSERT = f"INSERT INTO vote ({', '.join(COLUMNS)}) VALUES ({', '.join(f':{name}' for name in COLUMNS)})"
SELECT = f"SELECT {', '.join(COLUMNS)} FROM"


def turn_of(assessor: str) -> Turn:
    """What votes queue by: two of one assessor never overlap, so that the later one is known to be the later one."""
    return "assessor", assessor


def cast_votes(
    store: Store, votes: Iterable[Vote], then: Callable[[Connection, int], object] = lambda connection, n_new: None
) -> int:
    """Number of votes that were new; all are stored together or none, with what `then` writes about them."""
    with store.transaction() as connection:
        n_new = sum(_insert(connection, vote) for vote in votes)
        then(connection, n_new)
        return n_new


def cast_vote(store: Store, vote: Vote) -> bool:
    """Whether the vote was new; once this returns, it is on the disk."""
    with store.transaction(turn_of(vote.assessor)) as connection:
        return _insert(connection, vote)


class ScaleChangedError(EvenrankError):
    """An answer was given on another scale than the file's, where its grade means something else; it was not stored."""


def cast_or_change(
    store: Store, vote: Vote, topic_version: int | None = None, max_grade: int | None = None
) -> Vote | None:
    """Stores what somebody says now about a page; gives what they said before.

    Sent again, it is not stored again (and gives None). A vote that is known but no longer counts was given again on
    a page that a browser had kept: that is a change of mind, and gets a token of its own. The vote carries the file's
    scale, and the version of the topic: `topic_version` where the form was made with another one than today's. With
    `max_grade`, the scale of the form, it is an error when the file's is another one by now.
    """
    if vote.method == ADJUDICATION:
        return _rule(store, vote, None)
    with store.transaction(turn_of(vote.assessor)) as connection:
        _refuse_other_scale(store, max_grade)
        return _store_or_change(store, connection, _stamped(store, vote, topic_version))[0]


def _refuse_other_scale(store: Store, max_grade: int | None) -> None:
    if max_grade is not None and max_grade != max_grade_of(store):
        raise ScaleChangedError("the scale of relevance has changed meanwhile (read the answers again, then choose)")


def _stamped(store: Store, vote: Vote, topic_version: int | None = None) -> Vote:
    """The vote with the version of its topic, and with the scale when it has a grade."""
    row = store.connection.execute("SELECT version FROM topic WHERE id = ?", (vote.topic,)).fetchone()
    version = 1 if row is None else int(row[0])
    read = version if topic_version is None else min(topic_version, version)
    return replace(vote, topic_version=read, max_grade=None if vote.grade is None else max_grade_of(store))


def _store_or_change(store: Store, connection: Connection, vote: Vote) -> tuple[Vote | None, Vote | None]:
    """What somebody said before on the page, and the vote as it is stored now; twice None when it was sent again."""
    before = own_vote(store, vote)
    if before is not None and before.token.startswith(vote.token):
        return None, None
    if connection.execute("SELECT 1 FROM vote WHERE token = ?", (vote.token,)).fetchone() is not None:
        mine = "SELECT count(*) FROM vote WHERE assessor = ? AND topic = ? AND page = ?"
        (n_votes,) = connection.execute(mine, (vote.assessor, vote.topic, vote.page)).fetchone()
        vote = replace(vote, token=f"{vote.token}.{n_votes}")
    _insert(connection, vote)
    return before, vote


class RulingConflictError(EvenrankError):
    """Somebody else has ruled on the page meanwhile; nothing was stored."""

    def __init__(self, standing: Vote | None) -> None:
        self.standing = standing
        """The ruling that counts now; None when the one that was seen is withdrawn."""
        who = f"{standing.assessor} has ruled on it" if standing else "the ruling on it was withdrawn"
        super().__init__(f"{who} meanwhile (read the page again, then rule)")


def cast_ruling(store: Store, vote: Vote, seen: str | None, max_grade: int | None = None) -> Vote | None:
    """Stores a ruling on a page and gives the one before it, which is kept; as `cast_or_change` when sent again.

    `seen` is the token of the ruling that the organiser saw as the one that counts, None when there was none:
    RulingConflictError when another one counts by now.
    """
    return _rule(store, vote, (seen,), max_grade)


def rule_all(store: Store, connection: Connection, grades: Iterable[tuple[int, int, int]], by: str) -> None:
    """Rulings on many pages, (topic, page, grade), inside the caller's transaction; those that stand already stay."""
    for topic, page, grade in grades:
        standing = standing_ruling(store, topic, page)
        if standing is None or standing.grade != grade:
            token = f"gold-{secrets.token_hex(8)}"
            vote = Vote(token, topic, page, by, "graded", grade, method=ADJUDICATION)
            _keep_ruling(store, connection, vote, standing)


def standing_ruling(store: Store, topic: int, page: int) -> Vote | None:
    """The ruling that decides a page; None when there is none."""
    last = f"{SELECT} current_vote WHERE topic = ? AND page = ? AND method = ? ORDER BY id DESC LIMIT 1"
    row = store.connection.execute(last, (topic, page, ADJUDICATION)).fetchone()
    return None if row is None else Vote(*row)


def _rule(store: Store, vote: Vote, seen: tuple[str | None] | None, max_grade: int | None = None) -> Vote | None:
    """Store and log a ruling; `seen` is the token that must still count, if anything is expected."""
    with store.transaction() as connection:
        _refuse_other_scale(store, max_grade)
        standing = standing_ruling(store, vote.topic, vote.page)
        is_again = standing is not None and standing.assessor == vote.assessor and standing.token.startswith(vote.token)
        if seen is not None and not is_again and (standing.token if standing else None) != seen[0]:
            raise RulingConflictError(standing)
        return standing if _keep_ruling(store, connection, vote, standing) else None


def _keep_ruling(store: Store, connection: Connection, vote: Vote, standing: Vote | None) -> bool:
    """Store and log a ruling that takes the place of `standing`; whether it was new."""
    _, stored = _store_or_change(store, connection, _stamped(store, vote))
    if stored is not None:
        append_entry(
            connection,
            vote.assessor,
            "rule",
            topic=vote.topic,
            page=shown_id(store, vote.page),
            outcome=vote.outcome,
            grade=vote.grade,
            vote=stored.token,
            overrules=None if standing is None else standing.token,
        )
    return stored is not None


def own_vote(store: Store, like: Vote) -> Vote | None:
    """The vote that counts of the same person on the same page; a ruling and an own vote stand side by side."""
    side = "=" if like.method == ADJUDICATION else "<>"
    found = f"{SELECT} current_vote WHERE assessor = ? AND topic = ? AND page = ? AND method {side} '{ADJUDICATION}'"
    row = store.connection.execute(found, (like.assessor, like.topic, like.page)).fetchone()
    return None if row is None else Vote(*row)


def _insert(connection: Connection, vote: Vote) -> bool:
    known = connection.execute(f"{SELECT} vote WHERE token = ?", (vote.token,)).fetchone()
    if known is not None:
        if not _is_same(Vote(*known), vote):
            raise EvenrankError(f"vote {vote.token!r} is stored with another content: send a new vote with a new token")
        return False
    connection.execute("INSERT INTO topic (id) VALUES (?) ON CONFLICT DO NOTHING", (vote.topic,))
    try:
        connection.execute(INSERT, asdict(replace(vote, time=vote.time or utc_now())))
    except sqlite3.IntegrityError as error:
        raise EvenrankError(f"vote {vote.token!r} cannot be stored: {error}") from error
    return True


def _is_same(stored: Vote, sent: Vote) -> bool:
    """Whether both say the same; a vote sent again may carry other times."""
    return replace(stored, time="", seconds=None) == replace(sent, time="", seconds=None)


def undo_last(store: Store, assessor: str, token: str) -> Vote | None:
    """The assessor's last vote, now withdrawn; None when there is none left to withdraw.

    An earlier vote on the same page counts again. The same `token` withdraws once.
    """
    rulings = "SELECT EXISTS (SELECT 1 FROM vote WHERE assessor = ? AND method = ?)"
    may_rule = bool(store.connection.execute(rulings, (assessor, ADJUDICATION)).fetchone()[0])
    with store.transaction(None if may_rule else turn_of(assessor)) as connection:
        again = f"{SELECT} vote WHERE token = (SELECT undoes FROM vote WHERE token = ?)"
        if (row := connection.execute(again, (token,)).fetchone()) is not None:
            return Vote(*row)
        if (vote := last_vote(store, assessor)) is None:
            return None
        withdrawal = Vote(token, vote.topic, vote.page, assessor, "withdrawn", method=vote.method, undoes=vote.token)
        _insert(connection, withdrawal)
        if vote.method == ADJUDICATION:
            page = shown_id(store, vote.page)
            append_entry(connection, assessor, "withdraw-ruling", topic=vote.topic, page=page, votes=[vote.token])
        return vote


def withdraw_rulings(store: Store, topic: int, page: int, by: str) -> int:
    """Take back every ruling on a page, whoever made it, so that its votes count again; gives how many there were."""
    about = {"topic": topic, "page": shown_id(store, page)}
    where = f"topic = ? AND page = ? AND method = '{ADJUDICATION}'"
    return _withdraw(store, where, (topic, page), by, "withdraw-ruling", about)


def reopen_page(store: Store, topic: int, page: int, by: str) -> int:
    """Take back every vote and ruling on a page, so that its assessors are asked again; gives how many there were."""
    about = {"topic": topic, "page": shown_id(store, page)}
    return _withdraw(store, "topic = ? AND page = ?", (topic, page), by, "reopen", about)


def reopen_answers(store: Store, topic: int, assessor: str, by: str) -> int:
    """Take back all votes of an assessor on a topic, so that they are asked for again; gives how many there were."""
    where = f"topic = ? AND assessor = ? AND method <> '{ADJUDICATION}'"
    return _withdraw(store, where, (topic, assessor), by, "reopen", {"topic": topic}, assessor)


REOPENED = ".reopened"
"""What the token of a withdrawal by an organiser ends with, behind the token of the vote."""


def _withdraw(
    store: Store,
    where: str,
    values: tuple[int | str, ...],
    by: str,
    action: str,
    about: dict[str, int | str],
    assessor: str | None = None,
) -> int:
    """Withdraw all votes that are not withdrawn yet, earlier ones too; all stays in the file, who did it in the log."""
    query = f"""{SELECT} vote v WHERE {where} AND outcome <> 'withdrawn'
        AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = v.token) ORDER BY id"""
    with store.transaction() as connection:
        votes = [Vote(*row) for row in connection.execute(query, values).fetchall()]
        actor = pseudonym_of(connection, by)
        for vote in votes:
            _insert(
                connection,
                Vote(
                    token=f"{vote.token}{REOPENED}",
                    topic=vote.topic,
                    page=vote.page,
                    assessor=vote.assessor,
                    outcome="withdrawn",
                    comment=f"reopened by {actor}",
                    method=vote.method,
                    undoes=vote.token,
                    topic_version=vote.topic_version,
                ),
            )
        if votes:
            person = {} if assessor is None else {"assessor": pseudonym_of(connection, assessor)}
            append_entry(connection, by, action, **about, **person, n_votes=len(votes))
        return len(votes)


def last_vote(store: Store, assessor: str) -> Vote | None:
    """The assessor's last vote that is not withdrawn: the one that an undo would withdraw."""
    last = f"""{SELECT} vote v WHERE assessor = ? AND outcome <> 'withdrawn' AND method <> 'import'
        AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = v.token) ORDER BY id DESC LIMIT 1"""
    row = store.connection.execute(last, (assessor,)).fetchone()
    return None if row is None else Vote(*row)


def all_votes(store: Store) -> Iterator[Vote]:
    """Every vote in the order of storing, withdrawn and overruled ones too."""
    return (Vote(*row) for row in store.connection.execute(f"{SELECT} vote ORDER BY id"))


def count_tokens_with(store: Store, name: str) -> int:
    """Number of votes whose token ends with a name: imports made such tokens once, and tokens never change."""
    tokens = store.connection.execute("SELECT token FROM vote WHERE method = 'import'")
    return sum(token.endswith(f"-{name}") for (token,) in tokens)


def first_votes(store: Store) -> list[Vote]:
    """What each assessor said first on each page, by topic and page: before anybody discussed it or asked again.

    A vote that its assessor has taken back was a slip, and does not count; skips and rulings do not count either, nor
    do grades on another scale than today's, whose numbers mean something else.
    """
    votes, scale = list(all_votes(store)), max_grade_of(store)
    slips = {vote.undoes for vote in votes if vote.undoes and not vote.token.endswith(REOPENED)}
    first: dict[tuple[int, int, str], Vote] = {}
    for vote in votes:
        is_own = vote.outcome in ("graded", "unassessable") and vote.method != ADJUDICATION
        if is_own and vote.token not in slips and vote.max_grade in (None, scale):
            first.setdefault((vote.topic, vote.page, vote.assessor), vote)
    return [first[key] for key in sorted(first)]


def current_votes(store: Store, topic: int | None = None) -> Iterator[Vote]:
    """The votes that count: the last of each assessor on each page, and adjudications beside them."""
    if topic is None:
        return (Vote(*row) for row in store.connection.execute(f"{SELECT} current_vote ORDER BY topic, page, id"))
    rows = store.connection.execute(f"{SELECT} current_vote WHERE topic = ? ORDER BY page, id", (topic,))
    return (Vote(*row) for row in rows)


def votes_on(store: Store, topic: int, page: int) -> list[Vote]:
    """The votes that count on one page, with their comments."""
    rows = store.connection.execute(f"{SELECT} current_vote WHERE topic = ? AND page = ? ORDER BY id", (topic, page))
    return [Vote(*row) for row in rows]


def text_ids_of(store: Store) -> TextIds | None:
    """The ids of pages by the numbers that the file gives them; None where ids are numbers, or there are none yet."""
    rows = store.connection.execute("SELECT text FROM text_id ORDER BY number").fetchall()
    return TextIds(text for (text,) in rows) if rows else None


def shown_id(store: Store, page: int) -> int | str:
    """The id of one page as files have it: its number in the file, or text."""
    row = store.connection.execute("SELECT text FROM text_id WHERE number = ?", (page,)).fetchone()
    return page if row is None else str(row[0])


def has_pages(store: Store) -> bool:
    """Whether the file has a pooled page or a vote."""
    found = "SELECT EXISTS (SELECT 1 FROM item) OR EXISTS (SELECT 1 FROM vote)"
    return bool(store.connection.execute(found).fetchone()[0])


def keep_ids(store: Store, ids: TextIds | None, pages: Iterable[int]) -> dict[int, int]:
    """The number that the file has for each page, by its number in `ids`; new ones are kept.

    Where `ids` is None, numbers stay as they are. An error when the file's ids are of the other kind.
    """
    wanted = sorted(set(pages))
    with store.transaction() as connection:
        known = text_ids_of(store)
        if ids is None:
            if known is not None:
                raise EvenrankError(f"{store.path}: page ids are text, but those to add are numbers ({ALL_OF_A_KIND})")
            return {page: page for page in wanted}
        if known is None and has_pages(store):
            raise EvenrankError(f"{store.path}: page ids are numbers, but those to add are text ({ALL_OF_A_KIND})")
        known = known or TextIds()
        n_before = len(known)
        numbers = known.numbers(ids.texts(wanted)).tolist()
        new = range(n_before + 1, len(known) + 1)
        connection.executemany(
            "INSERT INTO text_id (number, text) VALUES (?, ?)", list(zip(new, known.texts(new), strict=True))
        )
        return dict(zip(wanted, numbers, strict=True))


def pages_in(store: Store, ids: TextIds | None) -> NDArray[np.int32] | None:
    """By number in the file, the number of the same page in `ids`, which gets those that it lacks.

    None where ids are numbers on both sides; an error when they are text on one side alone.
    """
    known = text_ids_of(store)
    if known is None and ids is not None and has_pages(store):
        raise EvenrankError(f"{store.path}: page ids are numbers, but those of the collection are text")
    if known is not None and ids is None:
        raise EvenrankError(f"{store.path}: page ids are text, but those of the collection are numbers")
    return None if known is None or ids is None else known.renumbered(ids)
