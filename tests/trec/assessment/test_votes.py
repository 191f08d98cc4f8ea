"""Votes are added, never changed; a vote sent twice is stored once; undo is a vote too."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evenrank.errors import EvenrankError, InputError
from evenrank.trec.assessment.coverage import settle_votes
from evenrank.trec.assessment.votes import (
    Store,
    Vote,
    all_votes,
    cast_vote,
    cast_votes,
    create_store,
    current_votes,
    open_store,
    seed_of,
    undo_last,
    votes_on,
)
from tests.trec.assessment.conftest import new_location

YES = Vote("t1", 101, 10, "Ada", "graded", 1, "clear", 4.5, "2026-01-01T00:00:00.000Z")


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return new_location(request, tmp_path)


def test_a_vote_comes_back_as_it_was_cast(store: Store) -> None:
    assert cast_vote(store, YES)
    assert votes_on(store, 101, 10) == [YES]


def test_a_vote_sent_again_is_stored_once(store: Store) -> None:
    assert cast_vote(store, YES)
    assert not cast_vote(store, replace(YES, time="2026-01-01T00:00:09.000Z", seconds=9.0))
    assert list(all_votes(store)) == [YES]


def test_a_token_cannot_stand_for_two_votes(store: Store) -> None:
    cast_vote(store, YES)
    with pytest.raises(EvenrankError, match="another content"):
        cast_vote(store, replace(YES, grade=0))


def test_the_last_vote_of_an_assessor_counts_and_all_are_kept(store: Store) -> None:
    cast_votes(store, [YES, replace(YES, token="t2", grade=0), replace(YES, token="t3", assessor="Ben")])
    assert [(vote.assessor, vote.grade) for vote in current_votes(store)] == [("Ada", 0), ("Ben", 1)]
    assert [vote.token for vote in all_votes(store)] == ["t1", "t2", "t3"]


def test_undo_brings_the_earlier_vote_back(store: Store) -> None:
    cast_votes(store, [YES, replace(YES, token="t2", grade=0)])
    undone = undo_last(store, "Ada", "u1")
    assert undone is not None
    assert undone.token == "t2"
    assert [vote.grade for vote in current_votes(store)] == [1]
    assert undo_last(store, "Ada", "u1") == undone, "the same request sent again withdraws nothing more"
    assert [vote.grade for vote in current_votes(store)] == [1]
    assert undo_last(store, "Ada", "u2") == YES
    assert list(current_votes(store)) == []
    assert undo_last(store, "Ada", "u3") is None
    assert [vote.outcome for vote in all_votes(store)] == ["graded", "graded", "withdrawn", "withdrawn"]


def test_undo_touches_nobody_else(store: Store) -> None:
    cast_votes(store, [YES, replace(YES, token="b", assessor="Ben")])
    undo_last(store, "Ada", "u")
    assert [vote.assessor for vote in current_votes(store)] == ["Ben"]


@pytest.mark.parametrize(
    "vote",
    [
        replace(YES, outcome="skipped"),  # a skip with a grade
        replace(YES, grade=None),  # a grade without one
        replace(YES, assessor="nobody"),
        replace(YES, seconds=-1.0),
        replace(YES, outcome="withdrawn", grade=None, undoes="no such vote"),
    ],
)
def test_impossible_votes_are_refused(store: Store, vote: Vote) -> None:
    with pytest.raises(EvenrankError, match="cannot be stored"):
        cast_vote(store, vote)
    assert list(all_votes(store)) == []


def test_votes_are_stored_together_or_not_at_all(store: Store) -> None:
    with pytest.raises(EvenrankError):
        cast_votes(store, [YES, replace(YES, token="t2", assessor="nobody")])
    assert list(all_votes(store)) == []


@pytest.mark.parametrize("statement", ["UPDATE vote SET grade = 0", "DELETE FROM vote"])
def test_the_file_itself_guards_the_votes(store: Store, statement: str) -> None:
    cast_vote(store, YES)
    with pytest.raises(sqlite3.IntegrityError, match="votes are kept"):
        store.connection.execute(statement)


def made(*votes: tuple[str, str, int | None] | tuple[str, str, int | None, str]) -> list[Vote]:
    return [
        Vote(str(n), 1, 1, name, outcome, grade, method=(*rest, "web")[0])  # type: ignore[arg-type]
        for n, (name, outcome, grade, *rest) in enumerate(votes)
    ]


@pytest.mark.parametrize(
    "votes, status, grade",
    [
        (made(("a", "graded", 1)), "graded", 1),
        (made(("a", "skipped", None)), "skipped", None),
        (made(("a", "skipped", None), ("b", "graded", 0)), "graded", 0),
        (made(("a", "unassessable", None), ("b", "skipped", None)), "unassessable", None),
        (made(("a", "graded", 0), ("b", "graded", 1)), "disputed", None),
        (made(("a", "graded", 0), ("b", "unassessable", None)), "disputed", None),
        (made(("a", "graded", 0), ("b", "graded", 1), ("c", "graded", 1)), "graded", 1),
        (made(("a", "graded", 0), ("b", "graded", 0), ("c", "graded", 1, "adjudication")), "graded", 1),
        (made(("a", "graded", 1), ("c", "unassessable", None, "adjudication")), "unassessable", None),
    ],
)
def test_settled_values(votes: list[Vote], status: str, grade: int | None) -> None:
    settled = settle_votes(votes)
    assert (settled.status, settled.grade) == (status, grade)


def test_other_files_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="no such file"):
        open_store(tmp_path / "none")
    (tmp_path / "text").write_text("101 0 10 1\n" * 100)
    with pytest.raises(EvenrankError, match="cannot be opened as a judgments file"):
        open_store(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE something (x)")
    other.close()
    with pytest.raises(EvenrankError, match="not a judgments file"):
        create_store(tmp_path / "other")


def test_creating_again_opens_what_is_there(store: Store) -> None:
    cast_vote(store, YES)
    with create_store(store.path, seed=99) as again:
        assert seed_of(again) == 7
        assert list(all_votes(again)) == [YES]


@pytest.mark.parametrize("n_lines", [2, 500])
def test_text_qrels_are_recognised(tmp_path: Path, n_lines: int) -> None:
    """Shorter than the smallest SQLite file, and longer."""
    (tmp_path / "qrels.txt").write_text("".join(f"101 0 {page} 1\n" for page in range(n_lines)))
    attempts: tuple[Callable[[Path], Store], ...] = (open_store, create_store)
    for attempt in attempts:
        with pytest.raises(
            InputError, match=r"qrels.txt: cannot .*: it is text qrels .*judgments import STORE FILE.*--qrels"
        ):
            attempt(tmp_path / "qrels.txt")
    (tmp_path / "other.txt").write_text("four words, no grades\n" * n_lines)
    with pytest.raises(InputError, match="cannot be opened as a judgments file: damaged"):
        open_store(tmp_path / "other.txt")
