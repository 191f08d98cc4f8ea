"""A collection that is imported, indexed and encoded anew: whoever opens it sees data and index of one edition."""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from evenrank.errors import EvenrankError, NoIndexError
from evenrank.retrieval.encode import dense
from evenrank.retrieval.encode.dense import encode_index
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.trec.checksums import record_checksum
from evenrank.trec.collection import Collection
from evenrank.trec.describe import table_text
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.robustness.refresh_kills import kill_refreshes, opened_edition
from tests.robustness.small_files import article, small_files, write_lines


def edition(folder: Path, number: int) -> ImportFiles:
    """Files of `30 + number` pages, the first of which has the number in its title."""
    files = small_files(folder, 30 + number)
    articles = [{**article(page_id)} for page_id in range(1, 31 + number)]
    articles[0]["title"] = f"Edition {number}"
    assert files.corpus is not None
    write_lines(files.corpus, articles)
    return files


@pytest.fixture
def indexed(tmp_path: Path) -> Path:
    """Edition 0, with an index."""
    build_index(import_collection(tmp_path / "c", edition(tmp_path / "0", 0)), n_threads=1).close()
    return tmp_path / "c"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Watch:
    """Opens a collection at every step that names or removes a file, before and after it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder, self.seen, self.is_looking = folder, [0], False
        for module, name in ((os, "replace"), (os, "unlink"), (os, "mkdir"), (shutil, "rmtree")):
            patch.setattr(module, name, self.watched(getattr(module, name)))

    def watched(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*values: Any, **options: Any) -> Any:
            self.look()
            made = step(*values, **options)
            self.look()
            return made

        return stepped

    def look(self) -> None:
        if self.is_looking:
            return
        self.is_looking = True
        self.seen.append(opened_edition(self.folder))
        self.is_looking = False


def test_every_step_of_a_refresh_leaves_one_whole_edition(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the import until the index was complete, no process could open the collection."""
    with monkeypatch.context() as patch:
        watch = Watch(indexed, patch)
        fresh = import_collection(indexed, edition(tmp_path / "1", 1))
        assert len(fresh) == 31
        assert set(watch.seen) == {0}
        n_seen = len(watch.seen)
        build_index(indexed, n_threads=1).close()
    after = watch.seen[n_seen:]
    assert len(watch.seen) > 40
    assert set(after) == {0, 1}
    assert after == sorted(after)
    assert opened_edition(indexed) == 1


def test_old_versions_stay_while_a_process_has_them_open(indexed: Path, tmp_path: Path) -> None:
    reader = Collection.open(indexed)
    build_index(import_collection(indexed, edition(tmp_path / "1", 1)), n_threads=1).close()
    engine = open_index(reader)
    assert (len(reader), engine.statistics().n_pages) == (30, 30)
    assert {"data-1", "index-1", "data-2", "index-2"} <= names(indexed)
    engine.close()
    del reader, engine
    build_index(import_collection(indexed, edition(tmp_path / "2", 2)), n_threads=1).close()
    build_index(indexed, n_threads=1).close()
    assert names(indexed) == {"data-3", "index-3", "manifest.json"}


def test_a_first_import_and_a_change_of_topics_are_used_at_once(indexed: Path, tmp_path: Path) -> None:
    files = edition(tmp_path / "0", 0)
    assert files.topics is not None
    lines = [orjson.loads(line) for line in files.topics.read_bytes().splitlines()]
    write_lines(files.topics, [{**line, "title": f"{line['title']} again"} for line in lines])
    changed = import_collection(indexed, files)
    assert Collection.open(indexed).topics[0].title.endswith("again")
    assert index_folder(changed) == indexed / "index-1"
    assert opened_edition(indexed) == 0


def test_what_waits_is_said_and_can_be_used_at_once(indexed: Path, tmp_path: Path) -> None:
    files = edition(tmp_path / "1", 1)
    assert "keeps its earlier data and index until these have an index" in table_text(import_collection(indexed, files))
    assert "newer data, 31 pages, wait for their index" in table_text(Collection.open(indexed))
    assert len(import_collection(indexed, files, at_once=True)) == len(Collection.open(indexed)) == 31
    with pytest.raises(NoIndexError, match="no index"):
        open_index(Collection.open(indexed))
    assert "wait for their index" not in table_text(Collection.open(indexed))
    build_index(indexed, n_threads=1).close()
    assert opened_edition(indexed) == 1


def test_data_without_texts_wait_for_nothing(indexed: Path, tmp_path: Path) -> None:
    import_collection(indexed, ImportFiles(edition(tmp_path / "1", 1).metadata))
    assert len(Collection.open(indexed)) == 31


def test_an_import_replaces_data_that_wait(indexed: Path, tmp_path: Path) -> None:
    import_collection(indexed, edition(tmp_path / "1", 1))
    import_collection(indexed, edition(tmp_path / "2", 2))
    assert opened_edition(indexed) == 0
    assert {name for name in names(indexed) if name.startswith("data-")} == {"data-1", "data-3"}
    build_index(indexed, n_threads=1).close()
    assert opened_edition(indexed) == 2


def test_a_collection_from_before_there_were_versions_is_opened_and_refreshed(indexed: Path, tmp_path: Path) -> None:
    os.rename(indexed / "index-1", indexed / "index")
    record = orjson.loads((indexed / "manifest.json").read_bytes())
    del record["index_folder"], record["checksum"]
    version = record.pop("format_version")
    record |= {"checksum": record_checksum(record), "format_version": version}
    (indexed / "manifest.json").write_bytes(orjson.dumps(record))
    assert opened_edition(indexed) == 0
    import_collection(indexed, edition(tmp_path / "1", 1))
    assert opened_edition(indexed) == 0
    build_index(indexed, n_threads=1).close()
    assert opened_edition(indexed) == 1
    assert names(indexed) == {"data-2", "index-1", "manifest.json"}


def test_an_index_that_cannot_be_made_changes_nothing(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_collection(indexed, edition(tmp_path / "1", 1))
    before = names(indexed)

    def fail(path: Path, *_: object) -> None:
        raise EvenrankError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(TantivyEngine, "create", fail)
        with pytest.raises(EvenrankError, match="no space left"):
            build_index(indexed, n_threads=1)
    assert names(indexed) == before
    assert opened_edition(indexed) == 0


class Encoder:
    """Counts the texts that it encodes; the vector of a text follows from its length."""

    n_dimensions, fingerprint, arithmetic, name = 4, "counting", "int8", "counter"
    n_encoded = 0

    def __init__(self, settings: object = None) -> None:
        from evenrank.retrieval.encode.encoder import EncoderSettings

        self.settings = settings or EncoderSettings()

    def encode_query(self, text: str) -> Any:
        return np.full(self.n_dimensions, len(text), np.float32)

    def encode_pages(self, texts: Any) -> Any:
        for text in texts:
            Encoder.n_encoded += 1
            yield np.full(4, len(text[0]), np.float32)


def test_vectors_of_unchanged_texts_are_kept_and_the_others_made(
    indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new index had no vectors, and searches by meaning silently became searches by words."""
    monkeypatch.setattr(dense, "Encoder", Encoder)
    monkeypatch.setattr(dense, "installed_encoders", list)
    monkeypatch.setattr(Encoder, "n_encoded", 0)
    encode_index(indexed)
    assert Encoder.n_encoded == 30
    import_collection(indexed, edition(tmp_path / "2", 2))
    build_index(indexed, n_threads=1).close()
    assert Encoder.n_encoded == 30 + 3  # two new pages, and the one with another title
    (scorer,) = encode_index(indexed)
    assert (Encoder.n_encoded, len(scorer.cache), scorer.covers_index) == (33, 32, True)
    made_anew = tmp_path / "anew"
    build_index(import_collection(made_anew, edition(tmp_path / "2", 2)), n_threads=1).close()
    pages = scorer.engine.page_ids()
    np.testing.assert_array_equal(scorer.cache.get(pages), encode_index(made_anew)[0].cache.get(pages))
    import_collection(indexed, edition(tmp_path / "3", 3))
    build_index(indexed, n_threads=1, keeps_vectors=False).close()
    assert dense.recorded_encoders(index_folder(Collection.open(indexed))) == ()


def test_kills_at_random_moments_leave_one_whole_edition(tmp_path: Path) -> None:
    """`python -m tests.robustness.refresh_kills` makes 300, with a server under load."""
    state = kill_refreshes(tmp_path, 20, n_visitors=0)
    assert state.failures == []
    assert state.n_opened > 20


@pytest.mark.long
@pytest.mark.timeout(0)
def test_two_hundred_kills_beside_a_server_whose_workers_are_killed_too(tmp_path: Path) -> None:
    """With vectors where an encoder is on this machine; `test_opensearch_refresh.py` has another hundred."""
    pytest.importorskip("uvicorn", reason="needs the extra web")
    state = kill_refreshes(tmp_path, 200, n_workers=2, is_dense=bool(dense.installed_encoders()))
    assert state.failures == []
    assert state.n_requests > 200
    assert len(state.worker_kills) > 10


def test_a_server_lets_go_of_the_version_it_no_longer_serves(indexed: Path, tmp_path: Path) -> None:
    """The task that follows the collection kept the first version for ever, and its folders with it; later, a cache of
    searches with articles that are off topic did."""
    pytest.importorskip("starlette", reason="needs the extra web")
    from starlette.testclient import TestClient

    from evenrank.app.app import make_app
    from evenrank.app.settings import WebSettings
    from evenrank.app.state import open_state

    app = make_app(open_state(indexed, WebSettings(reload_seconds=0.05, allowed_hosts=("testserver",))))
    first = weakref.ref(app.state.current.collection)
    with TestClient(app) as client:
        assert client.get("/lists/preview?title=x&keywords=river").status_code == 200
        token = client.post("/api/searches", json={"title": "river", "keywords": ["river"]}).json()["token"]
        page = client.post(f"/api/searches/{token}/draws", json={}).json()["articles"][0]["page_id"]
        mark = {"page_id": page, "mark": "off-topic"}
        assert client.post(f"/api/searches/{token}/marks", json=mark).status_code == 200
        assert client.post(f"/api/searches/{token}/draws", json={}).status_code == 201
        build_index(import_collection(indexed, edition(tmp_path / "1", 1)), n_threads=1).close()
        deadline = time.monotonic() + 30
        while (client.get("/readyz").json()["articles"] != 31 or first() is not None) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert client.get("/readyz").json()["articles"] == 31
        assert first() is None
