"""Releases: packed, fetched over a real HTTP server that breaks connections, served, rolled back."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import orjson
import pytest

import evenrank
import evenrank.trec.download as download_module
from evenrank.errors import DamagedCollectionError, EvenrankError, InputError, NoCollectionError, NoIndexError
from evenrank.io.locking import Lease
from evenrank.retrieval.engine.engines import open_index
from evenrank.trec.checksums import LOCKS, record_checksum
from evenrank.trec.collection import Collection
from evenrank.trec.fetch_release import fetch_release, follow_releases
from evenrank.trec.manifest import read_manifest
from evenrank.trec.releases import current_release, pack_collection, releases, roll_back
from tests.robustness.commands import PROGRAM, run
from tests.robustness.small_files import article, small_files


class BreakingHandler(SimpleHTTPRequestHandler):
    """Serves a folder with ranges; may send only a part of the next answers, or wrong bytes."""

    breaks: ClassVar[int] = 0
    flips: ClassVar[str] = ""
    """Name of a file whose first byte is changed on the way."""
    sent: ClassVar[dict[str, int]] = {}
    """Bytes sent of each file."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        content = path.read_bytes()
        if path.name == type(self).flips:
            content = bytes([content[0] ^ 1]) + content[1:]
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        if asked and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        if type(self).breaks and len(body) > 1000:
            type(self).breaks -= 1
            body = body[: len(body) // 3]
        name = self.path.lstrip("/")
        type(self).sent[name] = type(self).sent.get(name, 0) + len(body)
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A collection with an index."""
    folder = tmp_path / "wiki"
    evenrank.import_collection(folder, small_files(tmp_path / "files"))
    evenrank.build_index(folder, n_threads=1).close()
    return folder


@pytest.fixture
def packed(made: Path, tmp_path: Path) -> Path:
    pack_collection(made, tmp_path / "releases")
    return tmp_path / "releases"


@pytest.fixture
def address(packed: Path) -> Iterator[str]:
    BreakingHandler.breaks, BreakingHandler.flips, BreakingHandler.sent = 0, "", {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(BreakingHandler, directory=str(packed)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def update(made: Path, title: str) -> None:
    """A new version of the collection, in which the first page has another title."""
    changed = {**article(1), "title": title}
    line = {"op": "put", "id": changed.pop("id"), "article": changed}
    (made.parent / "changes.jsonl").write_bytes(orjson.dumps(line) + b"\n")
    evenrank.update_collection(made, made.parent / "changes.jsonl", n_threads=1)


def first_title(folder: Path) -> str:
    """The title of the first page in data, index and corpus, which must agree."""
    collection = Collection.open(folder)
    engine = open_index(collection)
    try:
        (stored,) = engine.stored([1])
        assert collection.titles is not None
        assert stored is not None
        assert stored.title == collection.titles[0]
        return stored.title
    finally:
        engine.close()


def found(folder: Path) -> list[int]:
    return list(evenrank.search(folder, "river temple comet", k=20).page_ids)


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in LOCKS)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_release_is_a_collection_and_packing_changes_nothing(made: Path, tmp_path: Path) -> None:
    before = tree(made)
    release = pack_collection(made, tmp_path / "releases")
    assert tree(made) == before
    assert release.number == 1
    assert found(tmp_path / "releases") == found(made)
    assert Collection.open(tmp_path / "releases").open_corpus().size_bytes > 0
    assert pack_collection(made, tmp_path / "releases") == release  # nothing has changed
    assert list(releases(tmp_path / "releases")) == [1]
    for name, file in release.files.items():
        assert file.fault(tmp_path / "releases" / name) is None


def test_unchanged_files_are_stored_once_and_old_releases_go(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "releases"
    for number in range(1, 6):
        update(made, f"Edition {number}")
        assert pack_collection(made, folder, keep=2).number == number
        assert first_title(folder) == f"Edition {number}"
    assert list(releases(folder)) == [4, 5]
    parts = [f"{part}-{number}" for part in ("corpus", "data", "index") for number in (4, 5)]
    assert {path.name for path in folder.iterdir()} == {*parts, "manifest.json", "release-4.json", "release-5.json"}
    assert (folder / "corpus-4/corpus.json").samefile(folder / "corpus-5/corpus.json")


def test_a_release_in_use_stays(made: Path, packed: Path) -> None:
    reader = Collection.open(packed)
    update(made, "Second")
    pack_collection(made, packed, keep=1)
    assert list(releases(packed)) == [1, 2]
    assert reader.titles is not None
    assert reader.titles[0] == "Page 1"
    del reader
    update(made, "Third")
    pack_collection(made, packed, keep=1)
    assert list(releases(packed)) == [3]


def test_rollback_and_forward(made: Path, packed: Path, tmp_path: Path) -> None:
    update(made, "Second")
    pack_collection(made, packed)
    copy = tmp_path / "copy"
    fetch_release(packed, copy)
    assert roll_back(packed).number == 1
    assert first_title(packed) == "Page 1"
    fetch_release(packed, copy)
    assert first_title(copy) == "Page 1"
    assert roll_back(packed, 2).number == 2
    assert first_title(packed) == "Second"
    with pytest.raises(EvenrankError, match="unknown release '7'; choose from 1, 2"):
        roll_back(packed, 7)
    roll_back(packed, 1)
    with pytest.raises(EvenrankError, match="oldest that is kept"):
        roll_back(packed)
    update(made, "Third")
    assert pack_collection(made, packed).number == 3  # a number is never used again
    with pytest.raises(EvenrankError, match="not a folder of releases"):
        roll_back(made)


def test_fetching_over_http_resumes_and_brings_only_what_is_new(
    made: Path, packed: Path, address: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    BreakingHandler.breaks = 3
    release = fetch_release(address, copy)
    assert first_title(copy) == "Page 1"
    assert found(copy) == found(made)
    assert all(BreakingHandler.sent[name] == file.size_bytes for name, file in release.files.items())
    update(made, "Second")
    second = pack_collection(made, packed)
    BreakingHandler.sent = {}
    fetch_release(address, copy)
    assert first_title(copy) == "Second"
    old = set(release.files.values())
    assert {name for name in BreakingHandler.sent if "/" in name} == {
        name for name, file in second.files.items() if file not in old
    }
    assert "corpus-2/corpus.json" not in BreakingHandler.sent
    BreakingHandler.sent = {}
    fetch_release(address, copy)
    assert set(BreakingHandler.sent) == {"manifest.json", "release-2.json"}
    assert tree(copy) == tree(packed)


def test_a_fetch_that_fails_shows_nobody_anything_and_is_continued(
    address: str, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    monkeypatch.setattr(download_module, "N_TRIES", 2)
    BreakingHandler.breaks = 100
    with pytest.raises(EvenrankError, match="again to resume"):
        fetch_release(address, copy)
    with pytest.raises(NoCollectionError):
        Collection.open(copy)
    BreakingHandler.breaks = 0
    release = fetch_release(address, copy)
    assert sum(BreakingHandler.sent[name] for name in release.files) == release.size_bytes
    assert tree(copy) == tree(packed)


def test_wrong_bytes_are_refused_and_named(address: str, packed: Path, tmp_path: Path) -> None:
    BreakingHandler.flips = "page_ids.npy"
    with pytest.raises(InputError, match=r"page_ids\.npy.*SHA-256"):
        fetch_release(address, tmp_path / "copy")
    BreakingHandler.flips = "manifest.json"
    with pytest.raises(DamagedCollectionError, match=r"manifest\.json: not a manifest"):
        fetch_release(address, tmp_path / "copy")
    BreakingHandler.flips = "release-1.json"
    with pytest.raises(DamagedCollectionError, match=r"release-1\.json: not the record of a release"):
        fetch_release(address, tmp_path / "copy")
    BreakingHandler.flips = ""
    shutil.copytree(packed, tmp_path / "damaged")
    with (tmp_path / "damaged/data-1/quality_score.npy").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    with pytest.raises(InputError, match=r"quality_score\.npy.*SHA-256"):
        fetch_release(tmp_path / "damaged", tmp_path / "copy")
    fetch_release(address, tmp_path / "copy")
    assert first_title(tmp_path / "copy") == "Page 1"


@pytest.mark.parametrize("name", ["../out", "data-1/../../out", "/etc/passwd", "data-2/x", "data-1//x", "data-1"])
def test_a_record_cannot_name_files_outside_its_release(packed: Path, tmp_path: Path, name: str) -> None:
    record = orjson.loads((packed / "release-1.json").read_bytes())
    del record["checksum"]
    record["files"][name] = {"size_bytes": 0, "sha256": "0"}
    record["checksum"] = record_checksum(record)
    (packed / "release-1.json").write_bytes(orjson.dumps(record))
    with pytest.raises(DamagedCollectionError, match="is no file of this release"):
        fetch_release(packed, tmp_path / "copy")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_packed_or_fetched_is_told(made: Path, packed: Path, tmp_path: Path) -> None:
    evenrank.import_collection(tmp_path / "plain", small_files(tmp_path / "other", 40))
    with pytest.raises(NoIndexError, match="run: evenrank index"):
        pack_collection(tmp_path / "plain", tmp_path / "new")
    with pytest.raises(EvenrankError, match="a collection of its own"):
        pack_collection(made, tmp_path / "plain")
    with pytest.raises(EvenrankError, match="a collection of its own"):
        fetch_release(packed, tmp_path / "plain")
    with pytest.raises(NoCollectionError, match="No such file"):
        fetch_release(tmp_path / "nowhere", tmp_path / "new")
    for change in (
        lambda: evenrank.import_collection(packed, small_files(tmp_path / "third", 30)),
        lambda: evenrank.update_collection(packed, tmp_path / "files/metadata.json"),
        lambda: pack_collection(packed, tmp_path / "more"),
    ):
        with pytest.raises(EvenrankError, match="a folder of releases, which are never changed"):
            change()
    assert first_title(packed) == "Page 1"
    other = pack_collection(made, tmp_path / "others")
    update(made, "Second")
    pack_collection(made, packed)
    fetch_release(packed, tmp_path / "copy")
    shutil.rmtree(packed)
    update(made, "Third")
    pack_collection(made, packed)
    update(made, "Fourth")
    assert pack_collection(made, packed).number == 2
    with pytest.raises(EvenrankError, match="has another release 2"):
        fetch_release(packed, tmp_path / "copy")
    assert first_title(tmp_path / "copy") == "Second"
    assert other.number == 1


def test_damaged_collections_are_not_packed(made: Path, tmp_path: Path) -> None:
    data = made / read_manifest(made).data_folder
    with (data / "titles.npy").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    with pytest.raises(DamagedCollectionError, match=r"titles\.npy.*not packed"):
        pack_collection(made, tmp_path / "releases")
    assert current_release(tmp_path / "releases") is None


def test_without_a_corpus(made: Path, tmp_path: Path) -> None:
    release = pack_collection(made, tmp_path / "releases", with_corpus=False)
    assert not any(name.startswith("corpus") for name in release.files)
    assert found(tmp_path / "releases") == found(made)
    (tmp_path / "files/corpus.json").unlink()
    with pytest.raises(EvenrankError, match="--no-corpus"):
        pack_collection(made, tmp_path / "more")


def test_doctor_misses_nothing_that_a_release_does_not_have(tmp_path: Path) -> None:
    inside, folder = tmp_path / "inside", tmp_path / "releases"
    words = ["collection", "generate", inside, "--pages", 100, "--topics", 2]
    assert run(words).returncode == run(["index", inside]).returncode == 0
    for with_corpus in (True, False):
        pack_collection(inside, folder, with_corpus=with_corpus)
        ended = run(["doctor", folder])
        assert ended.returncode == 0, ended.stdout
        assert ("/corpus-1/" in ended.stdout) == with_corpus
    roll_back(folder)
    (folder / "corpus-1" / "trec_corpus.json.gz").unlink()
    assert run(["doctor", folder]).returncode == 1


def test_a_learned_model_belongs_to_its_release(made: Path, tmp_path: Path) -> None:
    evenrank.learn(made)
    pack_collection(made, tmp_path / "releases")
    released = Collection.open(tmp_path / "releases")
    assert released.learned_model == tmp_path / "releases/data-1/relevance-model.json"
    assert released.learned_model.read_bytes() == (made / "relevance-model.json").read_bytes()
    asked = [evenrank.search(folder, "river", k=5, model="learned").page_ids for folder in (made, released)]
    assert list(asked[0]) == list(asked[1])


def test_following(made: Path, packed: Path, tmp_path: Path) -> None:
    told: list[str] = []
    reports: list[int] = []
    copy = tmp_path / "copy"

    def report(release: evenrank.Release) -> None:
        reports.append(release.number)
        if release.number == 1:
            update(made, "Second")
            pack_collection(made, packed)
        else:
            shutil.rmtree(packed)

    follow_releases(packed, copy, every_seconds=0.0, n_rounds=4, report=report, warn=told.append)
    assert reports == [1, 2]
    assert len(told) == 2
    assert "manifest.json" in told[0]
    assert first_title(copy) == "Second"


def test_read_only_folders_are_packed_fetched_and_searched(made: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0 and shutil.which("unshare") is None:
        pytest.skip("root writes everywhere, and there is no unshare")
    pack_collection(made, tmp_path / "releases")
    steps = " && ".join(
        [
            f"mount --bind {made} {made} && mount -o remount,bind,ro {made}",
            f"mount --bind {tmp_path / 'releases'} {tmp_path / 'releases'}",
            f"mount -o remount,bind,ro {tmp_path / 'releases'}",
            f"! touch {tmp_path / 'releases'}/x 2>/dev/null",
            f"{' '.join(PROGRAM)} search {tmp_path / 'releases'} river -k 1 --format tsv",
            f"{' '.join(PROGRAM)} collection fetch {tmp_path / 'releases'} {tmp_path / 'copy'}",
            f"{' '.join(PROGRAM)} collection pack {made} {tmp_path / 'again'}",
        ]
    )
    ended = subprocess.run(["unshare", "-rm", "sh", "-c", steps], capture_output=True, text=True, timeout=120)
    if "unshare" in ended.stderr or "mount" in ended.stderr:
        pytest.skip(f"no mounts here: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stderr
    assert first_title(tmp_path / "copy") == first_title(tmp_path / "again") == "Page 1"


def test_commands(made: Path, tmp_path: Path) -> None:
    folder, copy = tmp_path / "releases", tmp_path / "copy"
    ended = run(["collection", "pack", made, folder])
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(f"{folder}: release 1: 60 pages, ")
    update(made, "Second")
    assert run(["collection", "pack", made, folder, "--keep", 2]).returncode == 0
    ended = run(["collection", "fetch", folder, copy])
    assert ended.stdout.startswith(f"{copy}: release 2: 60 pages, ")
    assert run(["collection", "rollback", folder]).stdout.startswith(f"{folder}: release 1: ")
    ended = run(["collection", "rollback", folder])
    assert ended.returncode == 2
    assert "oldest that is kept" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert run(["collection", "fetch", "http://127.0.0.1:1", copy]).returncode == 2
    assert run(["index", folder]).returncode == 0  # there is one; nothing is removed
    assert list(releases(folder)) == [1, 2]


def test_a_killed_fetch_or_pack_leaves_one_whole_release(made: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    fetch_release(packed, copy)
    for number, seconds in enumerate((0.25, 0.32, 0.4, 0.5, 0.7), 2):
        update(made, f"Edition {number}")
        for words in (["pack", made, packed], ["fetch", packed, copy]):
            process = subprocess.Popen([*PROGRAM, "collection", *map(str, words)], stdout=subprocess.DEVNULL)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            for folder in (packed, copy):
                assert first_title(folder) in {"Page 1", *(f"Edition {n}" for n in range(2, number + 1))}
        pack_collection(made, packed)
        fetch_release(packed, copy)
        assert first_title(copy) == f"Edition {number}"
        assert tree(copy).keys() <= tree(packed).keys() | {name for name in tree(copy) if name.startswith("release-")}


FULL = """
import os, sys
from evenrank.cli.main import main
def without_links(*_, **__):
    raise OSError("no links here")
os.link = without_links
sys.argv[0] = "evenrank"
main()
"""


@pytest.mark.parametrize("n_bytes", [300, 4_000])
def test_a_full_disk_leaves_nothing_half_packed(made: Path, packed: Path, tmp_path: Path, n_bytes: int) -> None:
    """A limit on the size of files stands in for a full disk: the system refuses to write in the same way."""
    update(made, "Another edition")
    before = tree(packed)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    for target in (packed, tmp_path / "new" / "releases"):
        words = [sys.executable, "-c", FULL, "collection", "pack", str(made), str(target)]
        full = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, check=False)
        assert (full.returncode, "could not be written" in full.stderr) == (2, True), full.stderr
        assert "Traceback" not in full.stderr
    assert tree(packed) == before
    assert not (tmp_path / "new").exists()
    pack_collection(made, packed)
    assert first_title(packed) == "Another edition"


def test_a_lease_on_another_version_does_not_block_fetching(packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    fetch_release(packed, copy)
    lease = Lease(copy / "data-1")
    assert fetch_release(packed, copy).number == 1
    lease.close()
