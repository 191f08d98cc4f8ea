"""Official files by their name in ir_datasets: from its cache, from local copies, and over HTTP."""

from __future__ import annotations

import functools
import gzip
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

import evenrank
import evenrank.trec.ir_dataset as module
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, NoCollectionError, UnknownNameError
from evenrank.trec.sources import OfficialFile, md5_of, official_files

NAMES = ("trec_metadata.json.gz", "trec_topics.json.gz", "eval-topics-with-qrels.json.gz", "eval-topics.json.gz")
CORPUS = "trec_corpus.json.gz"
NOWHERE = "http://127.0.0.1:1/"


@pytest.fixture
def files(golden_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files under their official names; their sizes and sums are taken for the official ones."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in NAMES[1:3]:
        shutil.copy(golden_folder / "data" / name, folder / name)
    shutil.copy(golden_folder / "data" / "trec_metadata_eval.json.gz", folder / NAMES[0])
    topics = [json.loads(line) for line in gzip.decompress((folder / NAMES[2]).read_bytes()).splitlines()]
    plain = [{key: one.get(key) for key in ("id", "title", "keywords", "scope")} for one in topics]
    (folder / NAMES[3]).write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in plain).encode()))
    article = {"id": 7, "title": "Bridge", "url": "", "text": "A bridge."}
    (folder / CORPUS).write_bytes(gzip.compress(json.dumps(article).encode()))
    known = {path.name: facts_of(path) for path in folder.iterdir()}
    monkeypatch.setattr(module, "official_files", lambda: known)
    return folder


def facts_of(path: Path) -> OfficialFile:
    return replace(official_files()[path.name], size_bytes=path.stat().st_size, md5=md5_of(path), url=None)


@pytest.fixture
def server(files: Path) -> Iterator[str]:
    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(files)))
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


def fill_cache(files: Path, home: Path, *names: str) -> None:
    for name in names:
        place = home / "trec-fair" / module.PATHS[name]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(files / name, place)


def test_the_command_takes_what_is_in_the_cache(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_cache(files, tmp_path / "home", *NAMES, CORPUS)
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    words = ["collection", "import", str(tmp_path / "c"), "--ir-dataset", "trec-fair/2021/eval", "--no-text"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    collection = evenrank.Collection.open(tmp_path / "c")
    assert {topic.split for topic in collection.topics} == {"eval"}
    assert all(len(topic.rel_docs) for topic in collection.topics)
    assert CliRunner().invoke(cli, words[:3]).exit_code == 2, "the pages have to be named"


def test_missing_files_are_downloaded_into_the_cache(files: Path, server: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    part = home / "trec-fair" / "2021" / "train" / "topics.json.gz.part"
    part.parent.mkdir(parents=True)
    part.write_bytes((files / NAMES[1]).read_bytes()[:100])
    found = evenrank.ir_dataset_files("trec-fair/2021/train", home=home, source=server)
    assert found.topics == home / "trec-fair" / "2021" / "train" / "topics.json.gz"
    assert found.topics.read_bytes() == (files / NAMES[1]).read_bytes()
    assert (found.corpus, found.eval_topics) == (home / "trec-fair" / "2021" / "corpus.json.gz", ())
    assert evenrank.ir_dataset_files("trec-fair/2021/train", home=home, source=NOWHERE) == found
    collection = evenrank.import_collection(tmp_path / "c", replace(found, corpus=None))
    assert {topic.split for topic in collection.topics} == {"train"}


def test_local_copies_and_own_metadata_are_taken(files: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    copy = home / "downloads" / md5_of(files / CORPUS)
    copy.parent.mkdir(parents=True)
    shutil.copy(files / CORPUS, copy)
    found = evenrank.ir_dataset_files("trec-fair/2021", home=home, metadata=files / NAMES[0], source=NOWHERE)
    assert (found.corpus, found.metadata) == (copy, files / NAMES[0])


def test_everything_that_is_missing_or_damaged_is_named_at_once(files: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill_cache(files, home, *NAMES[:3])
    damaged = home / "trec-fair" / "2021" / "metadata.json.gz"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    with pytest.raises(EvenrankError) as caught:
        evenrank.ir_dataset_files("trec-fair/2021/eval", home=home, source=NOWHERE)
    text = str(caught.value)
    assert f"{damaged}: " in text
    for name in (NAMES[0], NAMES[3], CORPUS):
        assert f"missing: {name}, " in text
        assert str(home / "trec-fair" / module.PATHS[name]) in text
    assert "--no-text" in text
    assert f"missing: {NAMES[2]}" not in text
    with pytest.raises(UnknownNameError, match="trec-fair/2022/train"):
        evenrank.ir_dataset_files("trec-fair/2022/eval")


def test_the_cache_is_that_of_ir_datasets() -> None:
    package = pytest.importorskip("ir_datasets", reason="the package ir_datasets is not installed")
    config = package.util.DownloadConfig.context("trec-fair").contents()
    places = {facts["cache_path"]: facts for facts in config.values()}
    assert set(module.PATHS.values()) == set(places)
    for name, place in module.PATHS.items():
        facts = official_files()[name]
        assert (facts.size_bytes, facts.md5) == (places[place]["size_hint"], places[place]["expected_md5"])
    for name in module.IR_DATASETS:
        assert package.load(name)


def test_a_name_opens_the_collection_of_the_cache(
    files: Path, golden_runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    fill_cache(files, home, NAMES[0], NAMES[2])
    result = CliRunner().invoke(cli, ["evaluate", "trec-fair/2021/eval", str(golden_runs[0])])
    assert result.exit_code == 0, result.output
    made = home / "trec-fair" / "evenrank"
    assert evenrank.Collection.open("trec-fair/2021/eval").path == made / "2021-eval"
    assert {topic.split for topic in evenrank.Collection.open("trec-fair/2021").topics} == {"eval"}
    with pytest.raises(NoCollectionError, match="not in its cache"):
        evenrank.Collection.open("trec-fair/2021/train")
    before = (made / "2021").stat().st_ino, sorted((made / "2021").iterdir())
    assert evenrank.Collection.open("trec-fair/2021").path == made / "2021"
    assert ((made / "2021").stat().st_ino, sorted((made / "2021").iterdir())) == before, "it is made once"
    fill_cache(files, home, NAMES[1])
    assert {topic.split for topic in evenrank.Collection.open("trec-fair/2021").topics} == {"train", "eval"}
    (home / "trec-fair" / module.PATHS[NAMES[0]]).write_bytes(b"damaged")
    with pytest.raises(EvenrankError, match="remove it, so that it is downloaded again"):
        evenrank.Collection.open("trec-fair/2021/train")


@pytest.mark.parametrize("name", module.IR_DATASETS)
def test_a_name_in_place_of_a_collection_says_how_to_make_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    with pytest.raises(NoCollectionError) as caught:
        evenrank.evaluate(name, "run.tsv")
    assert f"evenrank collection import {name.replace('/', '-')} --ir-dataset {name}" in str(caught.value)
