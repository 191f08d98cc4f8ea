"""Download: from a real server on loopback, broken off, resumed, checked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import evenrank.trec.download as download_module
from evenrank.errors import EvenrankError, InputError
from evenrank.trec.download import download_collection
from evenrank.trec.sources import OfficialFile

CONTENT = bytes(range(256)) * 4000


class Handler(BaseHTTPRequestHandler):
    """Serves one file; may break off in the middle, refuse ranges, or give wrong bytes."""

    breaks = 0
    ranges = True
    content = CONTENT
    requests: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        type(self).requests.append(asked)
        if self.path != "/files/trec_topics.json.gz":
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.ranges else 0
        if start >= len(self.content) and start:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(self.content) - start))
        self.end_headers()
        body = self.content[start:]
        if type(self).breaks:
            type(self).breaks -= 1
            body = body[: len(body) // 3]
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    facts = OfficialFile("trec_topics.json.gz", "topics", len(CONTENT), hashlib.md5(CONTENT).hexdigest())
    monkeypatch.setattr(download_module, "official_files", lambda: {facts.name: facts})
    Handler.breaks, Handler.ranges, Handler.content, Handler.requests = 0, True, CONTENT, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/files"
    server.shutdown()
    server.server_close()


def test_downloads_and_keeps_what_is_whole(tmp_path: Path, address: str) -> None:
    (path,) = download_collection(tmp_path, address)
    assert path.read_bytes() == CONTENT
    assert download_collection(tmp_path, address) == [path]
    assert len(Handler.requests) == 1


def test_a_broken_download_goes_on_where_it_stopped(tmp_path: Path, address: str) -> None:
    Handler.breaks = 2
    (path,) = download_collection(tmp_path, address)
    assert path.read_bytes() == CONTENT
    third = len(CONTENT) // 3
    assert Handler.requests[0] is None
    assert Handler.requests[1] == f"bytes={third}-"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_server_without_ranges_starts_anew(tmp_path: Path, address: str) -> None:
    Handler.breaks, Handler.ranges = 1, False
    (path,) = download_collection(tmp_path, address)
    assert path.read_bytes() == CONTENT


def test_after_too_many_breaks_the_part_is_kept_and_resumed(tmp_path: Path, address: str) -> None:
    Handler.breaks = 5
    with pytest.raises(EvenrankError, match="again to resume"):
        download_collection(tmp_path, address)
    partial = tmp_path / "trec_topics.json.gz.part"
    assert 0 < partial.stat().st_size < len(CONTENT)
    (path,) = download_collection(tmp_path, address)
    assert path.read_bytes() == CONTENT


def test_a_whole_part_is_taken_as_it_is(tmp_path: Path, address: str) -> None:
    (tmp_path / "trec_topics.json.gz.part").write_bytes(CONTENT)
    (path,) = download_collection(tmp_path, address)
    assert path.read_bytes() == CONTENT


def test_wrong_bytes_are_not_kept(tmp_path: Path, address: str) -> None:
    Handler.content = CONTENT[::-1]
    with pytest.raises(InputError, match="md5"):
        download_collection(tmp_path, address)
    Handler.content = CONTENT[:-5]
    with pytest.raises(InputError, match="bytes, not"):
        download_collection(tmp_path, address)
    assert not list(tmp_path.iterdir())


def test_errors_of_the_server_and_of_the_user(tmp_path: Path, address: str) -> None:
    with pytest.raises(EvenrankError, match="404"):
        download_collection(tmp_path, address + "/none")
    with pytest.raises(EvenrankError, match="unknown official file"):
        download_collection(tmp_path, address, ["nothing.gz"])
    with pytest.raises(EvenrankError, match="not an http"):
        download_collection(tmp_path, "file:///etc")
