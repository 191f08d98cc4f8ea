"""Two processes of each command that writes, at once on the same place: one whole result, nothing left over."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import orjson
import pytest

from evenrank.app.storage.store import open_app_store
from evenrank.io.runs import read_run
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.learn.learned_model import load
from evenrank.trec.assessment.votes import open_store
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from tests.robustness.commands import leftovers, run, start
from tests.robustness.server import QUESTION, post, serving
from tests.robustness.small_files import small_files
from tests.robustness.test_annotate_records import entity, small_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("races")
    build_index(import_collection(made / "c", small_files(made / "files", 400))).close()
    rank = ["rank", made / "c", "--task", 1, "--policy", "relevance", "--topics", "all", "-o", made / "run.tsv"]
    assert run(rank).returncode == 0
    (made / "qrels").write_text("".join(f"1 0 {page} {page % 2}\n" for page in range(1, 300)))
    small_inputs(made, [entity(7)])
    return made


def _is_run(place: Path) -> bool:
    return len(read_run(place / "out").pages) > 0


def _is_report(place: Path) -> bool:
    return (place / "out" / "index.html").stat().st_size > 0


def _has_votes(place: Path) -> bool:
    with open_store(place / "out") as store:
        (n_votes,) = store.connection.execute("SELECT count(*) FROM vote").fetchone()
        return store.check() == [] and int(n_votes) == 299


def _is_indexed(place: Path) -> bool:
    open_index(Collection.open(place / "out")).close()
    return run(["doctor", place / "out"]).returncode == 0


def _is_collection(place: Path) -> bool:
    return len(Collection.open(place / "out").topics) > 0


def _is_model(place: Path) -> bool:
    load(place / "out")
    return True


def _is_metadata(place: Path) -> bool:
    return len(gzip.decompress((place / "out").read_bytes()).splitlines()) == 5


CASES: dict[str, tuple[list[object], Callable[[Path], bool]]] = {
    "rank": (["rank", "C", "--task", 1, "--policy", "relevance", "--topics", "all", "--force", "-o", "OUT"], _is_run),
    "convert": (["run", "convert", "RUN", "OUT", "--force"], _is_run),
    "report": (["report", "C", "RUN", "-o", "OUT"], _is_report),
    "judgments import": (["judgments", "import", "OUT", "QRELS"], _has_votes),
    "generate": (["collection", "generate", "OUT", "--pages", 300, "--topics", 4], _is_collection),
    "index": (["index", "OUT"], _is_indexed),
    "learn": (["learn", "C", "-o", "OUT"], _is_model),
    "annotate": (["annotate", "OUT", "--dump", "DUMP", "--workers", 1], _is_metadata),
}


@pytest.mark.parametrize("name", CASES)
def test_two_at_once(folder: Path, tmp_path: Path, name: str) -> None:
    words, is_whole = CASES[name]
    if name == "index":
        shutil.copytree(folder / "c", tmp_path / "out")
        shutil.rmtree(tmp_path / "out" / "index-1")
    places = {"C": folder / "c", "RUN": folder / "run.tsv", "OUT": tmp_path / "out", "QRELS": folder / "qrels"}
    places["DUMP"] = folder / "dump.xml"
    command = [places.get(str(word), word) for word in words]
    both = [start(command), start(command)]
    answers = [process.communicate(timeout=180) for process in both]
    codes = [process.returncode for process in both]
    assert set(codes) <= {0, 2}, answers
    assert 0 in codes, answers
    assert not any("Traceback" in errors or "panicked" in errors for _, errors in answers), answers
    assert is_whole(tmp_path)
    assert leftovers(tmp_path) == []


def test_two_servers_on_one_store(folder: Path, tmp_path: Path) -> None:
    """Both make the store, then draw from one search at once: each answered draw is there, with its own number."""
    store = tmp_path / "desk.sqlite"
    with ExitStack() as stack, ThreadPoolExecutor(8) as visitors:
        servers = [serving(folder / "c", "--store", store) for _ in range(2)]
        ports = [port for _, port in visitors.map(stack.enter_context, servers)]
        status, text = post(ports[0], "/api/searches", orjson.dumps(QUESTION))
        assert status in (200, 201), text
        path = f"/api/searches/{orjson.loads(text)['token']}/draws"

        def draw(number: int) -> int:
            status, text = post(ports[number % 2], path, orjson.dumps({"editor": f"editor {number}"}))
            assert status in (200, 201), text
            return int(orjson.loads(text)["number"])

        drawn = list(visitors.map(draw, range(24)))
    assert sorted(drawn) == list(range(1, 25))
    with open_app_store(store) as kept:
        assert kept.connection.execute("SELECT count(*) FROM draw").fetchone()[0] == 24
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(("-wal", "-shm", ".tmp"))] == []
