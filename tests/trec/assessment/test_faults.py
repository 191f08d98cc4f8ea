"""Many writers, and writers killed in the middle: every acknowledged vote is there, none twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from evenrank.trec.assessment.assessors import name_assessors
from evenrank.trec.assessment.votes import Store, Vote, all_votes, cast_vote, create_store, open_store, seed_of
from tests.trec.assessment.conftest import new_location

WRITER = Path(__file__).with_name("vote_writer.py")
N_THREADS, N_VOTES = 2, 25
ENDLESS = 10**6


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    return new_location(request, tmp_path)


def start(store: Path | str, name: str, n_votes: int = N_VOTES, cast: str = "cast_vote") -> subprocess.Popen[str]:
    command = [sys.executable, WRITER, store, name, str(N_THREADS), str(n_votes), cast]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(output: IO[str] | None) -> list[str]:
    """Whole lines; a writer that was killed may leave a part of one."""
    assert output is not None
    return [line.strip() for line in output if line.endswith("\n")]


def stored(location: Path | str) -> Counter[str]:
    with open_store(location) as store:
        assert store.check() == []
        return Counter(vote.token for vote in all_votes(store))


def test_writers_killed_in_the_middle_lose_nothing_and_repeat_nothing(location: Path | str) -> None:
    with create_store(location) as store:
        name_assessors(store, ["Ada"])
    doomed = [start(location, name, ENDLESS) for name in ("w0", "w1")]
    others = [start(location, name) for name in ("w2", "w3")]
    answered: list[str] = []
    for writer in doomed:
        assert writer.stdout is not None
        answered += [writer.stdout.readline().strip() for _ in range(N_VOTES)]
        writer.kill()  # SIGKILL
    answered += [token for writer in (*doomed, *others) for token in acknowledged(writer.stdout)]
    assert [writer.wait() for writer in (*doomed, *others)] == [-9, -9, 0, 0]
    found = stored(location)
    assert set(answered) <= set(found)
    assert set(found.values()) == {1}

    for writer in [start(location, name) for name in ("w0", "w1")]:  # clients without an answer send all again
        assert len(acknowledged(writer.stdout)) == N_THREADS * N_VOTES
        assert writer.wait() == 0
    wanted = {f"w{w}-{thread}-{number}" for w in range(4) for thread in range(N_THREADS) for number in range(N_VOTES)}
    again = stored(location)
    assert set(again) == set(found) | wanted
    assert set(again.values()) == {1}


def test_the_same_votes_sent_by_four_processes_are_stored_once(location: Path | str) -> None:
    with create_store(location) as store:
        name_assessors(store, ["Ada"])
    writers = [start(location, "same", 10, "cast_or_change") for _ in range(4)]
    assert [len(acknowledged(writer.stdout)) for writer in writers] == [20, 20, 20, 20]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert stored(location) == Counter({f"same-{thread}-{number}": 1 for thread in range(2) for number in range(10)})


def test_one_vote_from_many_threads_is_stored_once(store: Store) -> None:
    vote = Vote("same", 101, 10, "Ada", "graded", 1)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: cast_vote(store, vote), range(32))) == 1
    assert len(list(all_votes(store))) == 1


def test_a_store_created_by_many_at_once_is_created_once(location: Path | str) -> None:
    def create(seed: int) -> int:
        with create_store(location, seed) as store:
            return seed_of(store)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(16)))) == 1
