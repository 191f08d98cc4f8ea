"""Many writers, and writers killed in the middle: every acknowledged vote is there, none twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from evenrank.assessment.assessors import name_assessors
from evenrank.assessment.store import Store, create_store, open_store
from evenrank.assessment.votes import Vote, all_votes, cast_vote

WRITER = Path(__file__).with_name("vote_writer.py")
N_THREADS, N_VOTES = 2, 60
ENDLESS = 10**6


def start(store: Path, name: str, n_votes: int = N_VOTES) -> subprocess.Popen[str]:
    command = [sys.executable, WRITER, store, name, str(N_THREADS), str(n_votes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(output: IO[str] | None) -> list[str]:
    """Whole lines; a writer that was killed may leave a part of one."""
    assert output is not None
    return [line.strip() for line in output if line.endswith("\n")]


def stored(path: Path) -> Counter[str]:
    with open_store(path) as store:
        assert store.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return Counter(vote.token for vote in all_votes(store))


def test_writers_killed_in_the_middle_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    path = tmp_path / "judgments.sqlite"
    with create_store(path) as store:
        name_assessors(store, ["Ada"])
    doomed = [start(path, name, ENDLESS) for name in ("w0", "w1")]
    others = [start(path, name) for name in ("w2", "w3")]
    answered: list[str] = []
    for writer in doomed:
        assert writer.stdout is not None
        answered += [writer.stdout.readline().strip() for _ in range(N_VOTES)]
        writer.kill()  # SIGKILL
    answered += [token for writer in (*doomed, *others) for token in acknowledged(writer.stdout)]
    assert [writer.wait() for writer in (*doomed, *others)] == [-9, -9, 0, 0]
    found = stored(path)
    assert set(answered) <= set(found)
    assert set(found.values()) == {1}

    for writer in [start(path, name) for name in ("w0", "w1")]:  # clients without an answer send all again
        assert len(acknowledged(writer.stdout)) == N_THREADS * N_VOTES
        assert writer.wait() == 0
    wanted = {f"w{w}-{thread}-{number}" for w in range(4) for thread in range(N_THREADS) for number in range(N_VOTES)}
    again = stored(path)
    assert set(again) == set(found) | wanted
    assert set(again.values()) == {1}


def test_one_vote_from_many_threads_is_stored_once(store: Store) -> None:
    vote = Vote("same", 101, 10, "Ada", "graded", 1)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: cast_vote(store, vote), range(32))) == 1
    assert len(list(all_votes(store))) == 1


def test_a_file_created_by_many_at_once_is_created_once(tmp_path: Path) -> None:
    def create(seed: int) -> int:
        with create_store(tmp_path / "judgments.sqlite", seed) as store:
            return store.seed

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(create, range(16)))) == 1
