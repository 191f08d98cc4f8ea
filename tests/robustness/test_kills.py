"""Every writing command, killed while it names files and brings them to the disk: old or new, never neither.

After the kill the old result is whole, or the new one; after the next run of the same command, nothing is left over.
`make kills` kills at every call; here at a few of each command.
"""

from __future__ import annotations

import http.client
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from tests.robustness.commands import leftovers, run
from tests.robustness.kill_points import count_calls, has_strace, kill_at, killed_server
from tests.robustness.server import QUESTION, get, post, serving
from tests.robustness.small_files import import_words, small_files
from tests.robustness.test_annotate_records import entity, small_inputs

from evenrank.assessment.store import open_store
from evenrank.collection.collection import Collection
from evenrank.collection.import_files import import_collection
from evenrank.errors import EvenrankError
from evenrank.formats.runs import read_run
from evenrank.search.engine.engines import open_index
from evenrank.search.engine.indexing import build_index
from evenrank.web.storage.store import open_desk_store

N_KILLS = int(os.environ.get("EVENRANK_KILLS", "2"))
"""Kills of each command, spread over its calls; 0 kills at every one."""
PART, N_PARTS = map(int, os.environ.get("EVENRANK_KILLS_PART", "1/1").split("/"))
"""Which part of these kills to make: the second of five is `2/5`."""
pytestmark = pytest.mark.skipif(not has_strace(), reason="needs strace, and the right to trace")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with an index, a run, judgments and inputs for everything."""
    made = tmp_path_factory.mktemp("kills")
    small_files(made / "new", 150, shift=1)
    build_index(import_collection(made / "c", small_files(made / "files", 150))).close()
    rank = ["rank", made / "c", "--task", 1, "--policy", "relevance", "--topics", "all", "-o", made / "run.tsv"]
    assert run(rank).returncode == 0
    assert run(["report", made / "c", made / "run.tsv", "-o", made / "report"]).returncode == 0
    (made / "qrels").write_text("".join(f"1 0 {page} {page % 2}\n" for page in range(1, 100)))
    small_inputs(made, [entity(7)])
    return made


def words_of(name: str, place: Path) -> list[object]:
    c, run_file = place / "c", place / "run.tsv"
    rank = ["rank", c, "--task", 1, "--policy", "relevance", "--topics", "all", "--force", "-o", run_file]
    return {
        "import": import_words(c, small_files(place / "new", 150, shift=1)),
        "generate": ["collection", "generate", place / "g", "--pages", 200, "--topics", 4, "--force"],
        "index": ["index", c],
        "rank": rank,
        "report": ["report", c, run_file, "-o", place / "report"],
        "annotate": ["annotate", place / "m.gz", "--dump", place / "dump.xml", "--workers", 1],
        "judgments import": ["judgments", "import", place / "store", place / "qrels"],
        "learn": ["learn", c],
    }[name]  # type: ignore[return-value]


def check_collection(place: Path) -> None:
    collection = Collection.open(place / "c")
    assert len(collection) == 150
    assert len(collection.topics) == 5


def check_index(place: Path) -> None:
    check_collection(place)
    try:
        open_index(Collection.open(place / "c")).close()
    except EvenrankError as error:
        assert "evenrank index" in str(error)


def check_generated(place: Path) -> None:
    if (place / "g" / "manifest.json").exists():
        assert len(Collection.open(place / "g")) == 200


def check_run(place: Path) -> None:
    assert len(read_run(place / "run.tsv").pages) > 100


def check_report(place: Path) -> None:
    assert (place / "report" / "index.html").stat().st_size > 1000
    assert (place / "report" / "results.json").stat().st_size > 100


def check_metadata(place: Path) -> None:
    assert not (place / "m.gz").exists() or (place / "m.gz").stat().st_size > 100


def check_votes(place: Path) -> None:
    if (place / "store").exists():
        try:
            with open_store(place / "store") as store:
                (n_votes,) = store.connection.execute("SELECT count(*) FROM vote").fetchone()
                assert int(n_votes) in (0, 99)
        except EvenrankError as error:
            assert "not a judgments file" in str(error)  # killed before its tables were there


CHECKS: dict[str, Callable[[Path], None]] = {
    "import": check_collection,
    "generate": check_generated,
    "index": check_index,
    "rank": check_run,
    "report": check_report,
    "annotate": check_metadata,
    "judgments import": check_votes,
    "learn": check_collection,
}


def chosen(counts: dict[str, int]) -> list[tuple[str, int]]:
    every = [(call, number) for call in sorted(counts) for number in range(1, counts[call] + 1)]
    if N_KILLS and len(every) > N_KILLS:
        every = [every[(2 * at + 1) * len(every) // (2 * N_KILLS)] for at in range(N_KILLS)]
    return every[PART - 1 :: N_PARTS]


SLOWEST = "report"
"""Left to `make kills` and `make test-long`: five seconds for each kill."""


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.long] * (each == SLOWEST)) for each in CHECKS])
def test_old_or_new_never_neither(base: Path, tmp_path: Path, name: str) -> None:
    def fresh() -> Path:
        place = tmp_path / "place"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)
        if name == "index":
            shutil.rmtree(place / "c" / "index")
        return place

    counts = count_calls(words_of(name, fresh()), tmp_path / "log")
    points = chosen(counts)
    print(f"{name}: {len(points)} of {sum(counts.values())} calls: {counts}")
    for call, number in points:
        place = fresh()
        kill_at(words_of(name, place), call, number)
        CHECKS[name](place)
        again = run(words_of(name, place), timeout=180)
        assert again.returncode == 0, (call, number, again.stderr)
        CHECKS[name](place)
        assert leftovers(place) == [], (call, number)


SERVER_CALLS = ("pwrite64", "fdatasync", "fsync", "unlink")
"""Calls with which the server's store is written and its log is merged."""


def server_points() -> list[tuple[str, int]]:
    """Where the server is killed: while it makes its store, and while it answers."""
    every = [(call, number) for number in (1, 2, 3, 5, 8, 12, 18, 26, 36, 48) for call in SERVER_CALLS]
    return every[PART - 1 :: N_PARTS] if not N_KILLS else [("pwrite64", 36), ("fdatasync", 8)][:N_KILLS]


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
