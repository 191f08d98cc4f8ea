"""Every writing command, killed while it names, writes, removes and syncs files: old or new, never neither.

After the kill each piece of the result is the old one or the new one; after the next run of the same command it is the
new one, and nothing is left over. `make kills` kills at every call; here at one of each command.
"""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import orjson
import pytest

from evenrank.app.storage.store import open_app_store
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages
from evenrank.trec.assessment.votes import open_store
from tests.robustness.commands import leftovers
from tests.robustness.kill_cases import CASES, listing, make_place
from tests.robustness.server import QUESTION, get, post, wait_until_ready
from tests.robustness.warm import Warm, can_compile, compile_calls

N_KILLS = int(os.environ.get("EVENRANK_KILLS", "1"))
"""Kills of each command, spread over its calls; 0 kills at every one."""
PART, N_PARTS = map(int, os.environ.get("EVENRANK_KILLS_PART", "1/1").split("/"))
"""Which part of these kills to make: the second of five is `2/5`."""
pytestmark = pytest.mark.xdist_group("kills")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kills")
    make_place(made)
    return made


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    if not can_compile():
        pytest.skip("needs Linux and a C compiler")
    with Warm(tmp_path_factory.mktemp("warm")) as started:
        yield started


def chosen(counts: dict[str, int]) -> list[tuple[str, int]]:
    every = [(call, number) for call in sorted(counts) for number in range(1, counts[call] + 1)]
    if N_KILLS and len(every) > N_KILLS:
        every = [every[(2 * at + 1) * len(every) // (2 * N_KILLS)] for at in range(N_KILLS)]
    return every[PART - 1 :: N_PARTS]


ALWAYS = ("collection import", "index", "rank", "annotate", "judgments import", "backup", "restore")
"""Commands whose kills are in every run of the tests; the others are left to `make kills` and `make test-long`."""


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.long] * (each not in ALWAYS)) for each in CASES]
)
def test_old_or_new_never_neither(base: Path, warm: Warm, tmp_path: Path, name: str) -> None:
    case, place = CASES[name], tmp_path / "place"

    def fresh() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)
        case.prepare(place)

    fresh()
    words = case.words(place)
    old = case.outcome(place)
    ended = warm.run(words)
    assert ended.code == 0, ended.text
    new, files = case.outcome(place), listing(place)
    points = chosen(ended.counts)
    print(f"{name}: {len(points)} kills, of {sum(ended.counts.values())} calls: {ended.counts}")
    for call, number in points:
        fresh()
        killed = warm.run(words, call, number)
        assert killed.code in (-9, 0), killed.text  # 0: its threads made fewer such calls this time
        found = case.outcome(place)
        assert all(found[piece] in (old[piece], new[piece]) for piece in new), (call, number, old, new, found)
        again = warm.run(words)
        assert again.code == 0, (call, number, again.text)
        assert case.outcome(place) == new, (call, number)
        assert leftovers(place) == [], (call, number)
        assert listing(place) == files, (call, number)


class Judging(NamedTuple):
    """A judgments file with an assessor and pages to judge."""

    path: Path
    secret: str
    items: list[tuple[int, int]]
    """Topic and page."""


@pytest.fixture(scope="module")
def judging(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Judging:
    path = tmp_path_factory.mktemp("judged") / "judgments.sqlite"
    shutil.copyfile(base / "judgments.sqlite", path)
    with open_store(path) as store:
        secret = add_assessor(store, "eve")
        assign_pages(store, ["eve"], Overlap())
        rows = store.connection.execute("SELECT topic, page FROM assignment WHERE assessor = 'eve' ORDER BY page")
        items = [(topic, page) for topic, page in rows.fetchall()]
    return Judging(path, secret, items[:N_EACH])


N_EACH = 3
"""Draws and votes while the server lives."""


@dataclass
class Answered:
    """What a server answered before it was killed."""

    token: str = ""
    n_draws: int = 0
    votes: list[tuple[int, int]] = field(default_factory=list)


def visit(port: int, judging: Judging, answered: Answered) -> None:
    """A visitor keeps a search and draws from it, and an assessor judges pages, in turn."""
    for attempt in range(100):
        try:
            status, text = post(port, "/api/searches", orjson.dumps(QUESTION))
            break
        except ConnectionRefusedError:  # it listens before it answers
            if attempt == 99:
                raise
            time.sleep(0.1)
    assert status in (200, 201), text
    answered.token = orjson.loads(text)["token"]
    for topic, page in judging.items:
        status, text = post(port, f"/api/searches/{answered.token}/draws", orjson.dumps({"editor": "ann"}))
        assert status in (200, 201), text
        answered.n_draws += 1
        vote = urlencode({"answer": "1", "nonce": f"nonce-{page}-{topic}", "seconds": "3"}).encode()
        status, text = post(port, f"/judge/{judging.secret}/{topic}/{page}", vote, "application/x-www-form-urlencoded")
        assert status == 303, text
        answered.votes.append((topic, page))


def test_what_a_killed_server_answered_is_stored(base: Path, judging: Judging, warm: Warm, tmp_path: Path) -> None:
    """A server is visited until it is killed, and then started again: all that it answered is there, nothing twice."""
    place = tmp_path / "place"
    stores = ["--store", place / "desk.sqlite", "--judgments", place / "judgments.sqlite"]
    words = [base / "c", "--port", 0, "--rate", 100000, *stores]

    def killed_and_visited(call: str, number: int) -> Answered:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        shutil.copyfile(judging.path, place / "judgments.sqlite")
        answered = Answered()
        with warm.serving(*words, call=call, number=number) as port:
            if port:
                with suppress(OSError, http.client.HTTPException):
                    visit(port, judging, answered)
        return answered

    def look(answered: Answered) -> None:
        with warm.serving(*words) as port:
            wait_until_ready(port)
            if answered.token:
                assert get(port, f"/api/searches/{answered.token}")[0] == 200
            assert post(port, "/api/searches", orjson.dumps(QUESTION))[0] in (200, 201)

    everything = killed_and_visited("", 0)
    assert (everything.n_draws, everything.votes) == (N_EACH, judging.items)
    counts = warm.calls()
    look(everything)
    files, points = listing(place), chosen(counts)
    print(f"serve: {len(points)} kills, of {sum(counts.values())} calls: {counts}")
    for call, number in points:
        answered = killed_and_visited(call, number)
        look(answered)
        with open_app_store(place / "desk.sqlite") as state, open_store(place / "judgments.sqlite") as judgments:
            (n_kept,) = state.connection.execute("SELECT count(*) FROM draw").fetchone()
            rows = judgments.connection.execute("SELECT topic, page FROM vote WHERE assessor = 'eve'").fetchall()
        votes = [(topic, page) for topic, page in rows]
        assert answered.n_draws <= n_kept <= answered.n_draws + 1, (call, number)
        assert len(votes) == len(set(votes)), (call, number)
        assert set(answered.votes) <= set(votes), (call, number)
        assert len(votes) <= len(answered.votes) + 1, (call, number)
        assert leftovers(place) == [], (call, number)
        assert listing(place) == files, (call, number)


SYNCS = """
import ctypes, sys
from evenrank.trec.assessment.votes import open_store
from evenrank.database.sqlite import SqliteFile
from evenrank.app.storage.store import open_app_store
calls = ctypes.CDLL(sys.argv[1])
stores = [open_app_store(sys.argv[2]), open_store(sys.argv[3]), SqliteFile(sys.argv[2], is_durable=False)]
for store in stores:
    with store.transaction() as connection:
        connection.execute("CREATE TABLE extra (number INTEGER)")
        before = calls.evenrank_count(b"sync")
    print(calls.evenrank_count(b"sync") - before)
    with store.transaction() as connection:
        connection.execute("DROP TABLE extra")
"""
"""Prints how often the end of a write brings a store to the disk; the third one need not survive a power cut."""


@pytest.mark.skipif(not can_compile(), reason="needs Linux and a C compiler")
def test_a_write_is_on_the_disk_when_its_transaction_has_ended(base: Path, tmp_path: Path) -> None:
    library = compile_calls(tmp_path)
    stores = [shutil.copyfile(base / name, tmp_path / name) for name in ("desk.sqlite", "judgments.sqlite")]
    words = [sys.executable, "-c", SYNCS, library, *stores]
    env = {**os.environ, "LD_PRELOAD": str(library)}
    printed = subprocess.run(list(map(str, words)), env=env, check=True, capture_output=True, text=True).stdout
    of_desk, of_judgments, of_other = map(int, printed.split())
    assert of_desk >= 1
    assert of_judgments >= 1
    assert of_other == 0
