"""Every writing command, killed while it names, writes, removes and syncs files: old or new, never neither.

After the kill each piece of the result is the old one or the new one; after the next run of the same command it is the
new one, and nothing is left over. `make kills` kills at every call; here at one of each command.
"""

from __future__ import annotations

import http.client
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from tests.robustness.commands import leftovers
from tests.robustness.kill_cases import CASES, listing, make_place
from tests.robustness.kill_points import has_strace, killed_server
from tests.robustness.server import QUESTION, get, post, serving
from tests.robustness.warm import Warm, can_compile

from evenrank.web.storage.store import open_desk_store

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


SERVER_CALLS = ("pwrite64", "fdatasync", "fsync", "unlink")
"""Calls with which the server's store is written and its log is merged."""


def server_points() -> list[tuple[str, int]]:
    """Where the server is killed: while it makes its store, and while it answers."""
    every = [(call, number) for number in (1, 2, 3, 5, 8, 12, 18, 26, 36, 48) for call in SERVER_CALLS]
    return every[PART - 1 :: N_PARTS] if not N_KILLS else [("pwrite64", 36)]


@pytest.mark.skipif(not has_strace(), reason="needs strace, and the right to trace")
@pytest.mark.parametrize(("call", "number"), server_points())
def test_what_a_killed_server_answered_is_stored(base: Path, tmp_path: Path, call: str, number: int) -> None:
    """A visitor keeps a search and draws from it until the server dies; then it is started again."""
    store = tmp_path / "desk.sqlite"
    words = [base / "c", "--port", 0, "--rate", 100000, "--store", store]
    token, n_draws = "", 0
    with killed_server(words, call, number) as port, suppress(OSError, http.client.HTTPException):
        for attempt in range(100 if port else 0):
            try:
                status, text = post(port, "/api/searches", orjson.dumps(QUESTION))
                break
            except ConnectionRefusedError:
                time.sleep(0.1 if attempt < 99 else 0)
        if port and status in (200, 201):
            token = orjson.loads(text)["token"]
        while token and n_draws < 25:
            status, text = post(port, f"/api/searches/{token}/draws", orjson.dumps({"editor": "ann"}))
            assert status in (200, 201, 409), text
            n_draws += status != 409
            if status == 409:
                break
    with serving(base / "c", "--store", store) as (_, port):
        if token:
            assert get(port, f"/api/searches/{token}")[0] == 200
        assert post(port, "/api/searches", orjson.dumps(QUESTION))[0] in (200, 201)
    with open_desk_store(store) as kept:
        (n_kept,) = kept.connection.execute("SELECT count(*) FROM draw").fetchone()
    assert n_draws <= n_kept <= n_draws + 1
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(("-wal", "-shm", ".tmp"))] == []
