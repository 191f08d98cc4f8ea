"""Index builds: resumed after a kill, replaced when the collection changed, the same whatever the workers."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import Article
from evenrank.errors import DamagedCollectionError, EvenrankError
from evenrank.io.articles import ArticleFile, open_articles
from evenrank.io.content import Position
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine import indexing
from evenrank.retrieval.engine.engines import index_folder, open_index, read_state, sources_of
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import Restriction, WeightedTerm
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.trec.arrays import CLASS_FILES
from evenrank.trec.checksums import FileFacts
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import OCCUPATION
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

N_PAGES = 60


def write_files(folder: Path, texts: dict[int, str]) -> ImportFiles:
    """Metadata and corpus of pages that are about places of every second continent."""
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {"page_id": i, "quality_score": 0.5, "quality_score_disc": "C", "gender": None}
        | {"geographic_locations": ["Africa"] if i % 2 else []}
        for i in texts
    ]
    articles = [{"id": i, "title": f"Page {i}", "url": "", "text": text} for i, text in texts.items()]
    (folder / "meta.jsonl").write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    (folder / "corpus.jsonl").write_bytes(b"".join(orjson.dumps(article) + b"\n" for article in articles))
    return ImportFiles(folder / "meta.jsonl", corpus=folder / "corpus.jsonl")


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    texts = {i: f"'''Page {i}''' is a [[horse]].\n== History ==\nIt ran {i} times." for i in range(1, N_PAGES + 1)}
    return import_collection(tmp_path / "c", write_files(tmp_path / "files", texts))


HORSE = [WeightedTerm("lead", ("horse",))]


def build(collection: Collection, **options: object) -> list[int]:
    engine = indexing.build_index(collection, FaultLog(), n_threads=1, **options)  # type: ignore[arg-type]
    return sorted(engine.search(HORSE, 1000).page_ids.tolist())


def test_wikitext_becomes_fields() -> None:
    text = "{{Infobox x|name=Gold}}'''A''' is a [[horse]].\n== History ==\nIt ran.\n[[Category:Horses of Ghana]]"
    (fields,) = page_fields((Article(7, "A", "", text),))
    assert (fields.page_id, fields.title, fields.lead) == (7, "A", "A is a horse.")
    assert "It ran." in fields.text
    assert "Horses of Ghana" in fields.categories
    assert "Gold" in fields.infobox


def test_an_index_knows_the_groups_of_its_pages(collection: Collection) -> None:
    assert build(collection) == list(range(1, N_PAGES + 1))
    engine = open_index(collection)
    found = engine.search(HORSE, 100, Restriction({"geography": 0b10})).page_ids.tolist()
    assert sorted(found) == list(range(1, N_PAGES + 1, 2))
    np.testing.assert_array_equal(engine.values("quality_class", [1, 2]), [2, 2])


def test_a_finished_index_is_not_built_again(collection: Collection) -> None:
    build(collection)
    before = read_state(indexing.index_folder(collection))
    commits: list[int] = []
    build(collection, commit_every=1, on_commit=commits.append)
    assert commits == []
    assert read_state(indexing.index_folder(collection)) == before


class KilledError(Exception):
    """Stands for the end of the process."""


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few pages each."""
    original = indexing.map_articles
    monkeypatch.setattr(indexing, "map_articles", lambda *a, **k: original(*a, **{**k, "size": 400}))


@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_a_stopped_build_resumes_where_it_stopped(
    collection: Collection, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    small_batches(monkeypatch)
    commit = TantivyEngine.commit
    n_commits = 0

    def stop_at_the_third(engine: TantivyEngine, mark: str) -> None:
        nonlocal n_commits
        n_commits += 1
        if n_commits == 3 and when == "before the commit":
            engine.close()
            raise KilledError
        commit(engine, mark)
        if n_commits == 3:
            engine.close()
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(TantivyEngine, "commit", stop_at_the_third)
        with pytest.raises(KilledError):
            build(collection, commit_every=5)
    with pytest.raises(EvenrankError, match="not finished"):
        open_index(collection)
    with TantivyEngine.open(collection.path / "index-1" / "pages") as stopped:
        reached = indexing.Checkpoint.parse(stopped.mark())
    assert 0 < reached.n_added < N_PAGES
    added: list[int] = []
    assert build(collection, commit_every=5, on_commit=added.append) == list(range(1, N_PAGES + 1))
    assert added[0] > reached.n_added  # it did not start over


KILLED_BUILD = """
import os, signal, sys
from evenrank.trec.collection import Collection
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine import indexing
original = indexing.map_articles
indexing.map_articles = lambda *a, **k: original(*a, **{**k, "size": 400})
def kill(n_added):
    if n_added > 20:
        os.kill(os.getpid(), signal.SIGKILL)
indexing.build_index(Collection.open(sys.argv[1]), FaultLog(), n_threads=1, commit_every=5, on_commit=kill)
"""


def test_a_build_survives_kill_minus_nine(collection: Collection) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED_BUILD, str(collection.path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert build(collection) == list(range(1, N_PAGES + 1))
    assert open_index(collection).statistics().n_pages == N_PAGES


def test_several_processes_give_the_same_index(collection: Collection) -> None:
    engine = indexing.build_index(collection, FaultLog(), n_threads=2)
    assert sorted(engine.search(HORSE, 1000).page_ids.tolist()) == list(range(1, N_PAGES + 1))


def test_machines_of_many_cores_index_as_well(collection: Collection) -> None:
    engine = indexing.build_index(collection, FaultLog(), n_threads=64)
    assert sorted(engine.search(HORSE, 1000).page_ids.tolist()) == list(range(1, N_PAGES + 1))


def test_of_a_repeated_page_the_later_one_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    files = write_files(tmp_path / "files", dict.fromkeys(range(1, 21), "a horse"))
    with (tmp_path / "files" / "corpus.jsonl").open("ab") as corpus:
        corpus.write(orjson.dumps({"id": 3, "title": "Page 3", "url": "", "text": "a cow"}) + b"\n")
    collection = import_collection(tmp_path / "c", files)
    assert build(collection, commit_every=5) == [i for i in range(1, 21) if i != 3]
    assert open_index(collection).statistics().n_pages == 20


def test_broken_records_are_reported_and_skipped(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", {1: "a horse", 2: "a horse"})
    with (tmp_path / "files" / "corpus.jsonl").open("ab") as corpus:
        corpus.write(b"{broken\n")
    collection = import_collection(tmp_path / "c", files)
    faults = FaultLog()
    indexing.build_index(collection, faults, n_threads=1)
    assert faults.n_faults == 1
    assert faults.faults[0].line == 3


def test_an_index_of_another_version_is_refused_as_such(collection: Collection) -> None:
    build(collection)
    state = indexing.index_folder(collection) / "build.json"
    record = orjson.loads(state.read_bytes())
    record["sources"]["schema"] = "1"
    state.write_bytes(orjson.dumps(record))
    with pytest.raises(EvenrankError, match="made by another version of Evenrank"):
        open_index(collection)


def test_an_index_of_other_files_is_refused_and_replaced(collection: Collection, tmp_path: Path) -> None:
    build(collection)
    changed = import_collection(collection.path, write_files(tmp_path / "new", {1: "a horse"}))
    if indexing.index_folder(changed).exists():
        with pytest.raises(EvenrankError, match="other files"):
            open_index(changed)
    assert build(changed) == [1]


def test_what_is_missing_is_said(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match=r"no index .*evenrank index"):
        open_index(collection)
    files = write_files(tmp_path / "bare", {1: "x"})
    without = import_collection(tmp_path / "d", ImportFiles(files.metadata))
    with pytest.raises(EvenrankError, match="--corpus"):
        indexing.build_index(without, FaultLog())


@given(st.integers(0, 10**7), st.tuples(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 2**40)))
def test_a_checkpoint_survives_as_a_mark(n_added: int, position: tuple[int, int, int]) -> None:
    checkpoint = indexing.Checkpoint(n_added, Position(*position))
    assert indexing.Checkpoint.parse(str(checkpoint)) == checkpoint
    assert indexing.Checkpoint.parse("") == indexing.Checkpoint()


def test_an_unknown_engine_is_refused_with_the_known_ones(collection: Collection) -> None:
    with pytest.raises(EvenrankError, match=r"unknown engine 'lucene://x'; choose from tantivy"):
        indexing.build_index(collection, FaultLog(), engine="lucene://x")


def test_the_manifest_names_engine_and_groups(collection: Collection) -> None:
    build(collection)
    state = read_state(indexing.index_folder(collection))
    assert state is not None
    assert (state.engine, state.layout.groups, state.is_complete) == ("tantivy", tuple(collection.masks), True)


@given(st.text(st.sampled_from("ab \n\t.[{'=*é"), max_size=40))
def test_text_without_markup_takes_the_short_way_to_the_same_fields(text: str) -> None:
    (fields,) = page_fields((Article(7, "T", "", text),))
    page = parse_wikitext(text)
    assert (fields.lead, fields.text) == (page.lead, page.body)


def test_plain_text_is_told_from_wikitext(tmp_path: Path) -> None:
    def corpus(name: str, *texts: str) -> ArticleFile:
        lines = [orjson.dumps({"id": at + 1, "title": "T", "url": "", "text": text}) for at, text in enumerate(texts)]
        (tmp_path / name).write_bytes(b"\n".join(lines))
        return open_articles(tmp_path / name)

    assert indexing.is_plain(corpus("plain", "A horse.", "A cow.", "Some ''markup''."))
    assert not indexing.is_plain(corpus("wikitext", "A [[horse]].", "A '''cow'''.", "No markup."))
    assert not indexing.is_plain(corpus("even", "A [[horse]].", "No markup."))


def test_what_a_page_is_becomes_a_field() -> None:
    text = "{{Infobox musical_artist\n| name = Ann\n}}\n{{infobox   person|x=1}} '''Ann''' sings. [[Category:Singers]]"
    (fields,) = page_fields((Article(7, "Ann", "", text),))
    assert fields.kind == "musical artist\nperson"
    assert fields.categories == "Singers"
    assert indexing.occupations(0b110) == OCCUPATION.groups[1:3]
    assert indexing.occupations(UNKNOWN_MASK) == ()


def test_a_page_is_found_by_a_class_that_its_text_does_not_name(tmp_path: Path) -> None:
    texts = {1: "'''A''' was recorded in 1999.", 2: "{{Infobox book}}'''B''' came out in 1999.", 3: "C, of 1999."}
    files = write_files(tmp_path / "files", texts)
    before = import_collection(tmp_path / "c", files)
    song = [WeightedTerm("kind", ("song",))]
    assert indexing.build_index(before, n_threads=1).search(song, 9).page_ids.tolist() == []

    records = [orjson.loads(line) for line in files.metadata.read_bytes().splitlines()]
    for record, classes in zip(records, (["Song", "Single"], [], ["Painting"]), strict=True):
        record["instance_of"] = classes
    files.metadata.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    collection = import_collection(tmp_path / "c", files)
    fields = page_fields(tuple(Article(number, "T", "", text) for number, text in {**texts, 4: "No metadata."}.items()))
    kinds = [page.kind for page in indexing.with_metadata(collection, fields)]
    assert kinds == ["Song\nSingle", "book", "Painting", ""]
    assert indexing.build_index(collection, n_threads=1).search(song, 9).page_ids.tolist() == [1]


def test_damaged_classes_leave_an_earlier_index_as_it_is(tmp_path: Path) -> None:
    files = write_files(tmp_path / "files", {1: "A", 2: "B"})
    before = import_collection(tmp_path / "c", files)
    indexing.build_index(before, n_threads=1).close()
    state = (index_folder(before) / "build.json").read_bytes()
    files.metadata.write_bytes(files.metadata.read_bytes().replace(b'"gender"', b'"instance_of":["Song"],"gender"'))
    collection = import_collection(tmp_path / "c", files)
    (collection.data / CLASS_FILES[0]).unlink()
    with pytest.raises(DamagedCollectionError, match=r"instance_of.npy: No such file"):
        indexing.build_index(Collection.open(collection.path), n_threads=1)
    assert (index_folder(before) / "build.json").read_bytes() == state


def test_an_index_from_before_the_classes_were_imported_is_replaced(collection: Collection) -> None:
    """An import of an earlier version ignored the field, so the index was made of the same files without it."""
    build(collection)
    state = sources_of(collection)
    known = dict.fromkeys(CLASS_FILES, FileFacts(1, "00000000"))
    later = replace(collection, manifest=replace(collection.manifest, files=collection.manifest.files | known))
    assert sources_of(later) == state | dict.fromkeys(CLASS_FILES, "00000000")
    with pytest.raises(EvenrankError, match="other files"):
        open_index(later)


class NotOpenSearch(BaseHTTPRequestHandler):
    """A server that knows nothing of OpenSearch."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def other_server() -> Iterator[str]:
    """The address of that server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), NotOpenSearch) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def index_files(collection: Collection) -> dict[str, bytes]:
    """Everything in the folder of an index."""
    folder = index_folder(collection)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refuse_to_replace(collection: Collection, engine: str) -> None:
    """An engine that cannot be reached leaves the index, and nothing beside it."""
    before, beside = index_files(collection), sorted(path.name for path in collection.path.iterdir())
    with pytest.raises(EvenrankError):
        indexing.build_index(collection, engine=engine)
    assert index_files(collection) == before
    assert sorted(path.name for path in collection.path.iterdir()) == beside


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1", "127.0.0.1:port", "https://127.0.0.1:1", "", "127.0.0.1:1?shards=x", "OTHER"]
)
def test_a_wrong_address_leaves_the_index_as_it_is(collection: Collection, address: str, other_server: str) -> None:
    pytest.importorskip("opensearchpy", reason="needs the extra fleet")
    indexing.build_index(collection).close()
    refuse_to_replace(collection, f"opensearch://{address.replace('OTHER', other_server)}")
    assert open_index(collection).search(HORSE, 5)


def test_a_failing_disk_leaves_the_index_of_the_other_engine(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexing.build_index(collection).close()
    state = index_folder(collection) / "build.json"
    state.write_bytes(state.read_bytes().replace(b'"tantivy"', b'"opensearch://127.0.0.1:1"'))

    def fail(path: Path, *_: object) -> None:
        path.mkdir(parents=True)
        raise EvenrankError("no space left")

    monkeypatch.setattr(TantivyEngine, "create", fail)
    refuse_to_replace(collection, "tantivy")


def test_spark_with_an_engine_of_this_machine_leaves_the_index(collection: Collection) -> None:
    indexing.build_index(collection).close()
    state = index_folder(collection) / "build.json"
    state.write_bytes(state.read_bytes().replace(b'"tantivy"', b'"opensearch://127.0.0.1:1"'))
    before = index_files(collection)
    with pytest.raises(EvenrankError, match="Spark cannot speed up"):
        indexing.build_index(collection, engine="tantivy", spark=object())  # type: ignore[arg-type]
    assert index_files(collection) == before


def test_whoever_may_read_the_folder_may_read_the_index(collection: Collection) -> None:
    """A container, and a service with a user of its own, could not open what somebody else had built."""
    indexing.build_index(collection).close()
    folder = index_folder(Collection.open(collection.path))
    rights = {path.name: path.stat().st_mode & 0o044 for path in folder.rglob("*") if path.is_file()}
    assert set(rights.values()) == {folder.stat().st_mode & 0o044}, rights
