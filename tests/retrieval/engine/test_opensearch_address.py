"""Addresses of indexes on OpenSearch: TLS, passwords, and what is wrong with one."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

import pytest

pytest.importorskip("opensearchpy", reason="needs the extra fleet")

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine import indexing
from evenrank.retrieval.engine.engines import PASSWORD_VARIABLE, engine_kind, remembered_address
from evenrank.retrieval.engine.opensearch_index import Address, check_cluster
from evenrank.trec.collection import Collection

FOLDER = Path("index")


def parsed(text: str) -> Address:
    assert engine_kind(text).scheme == "opensearch"
    return Address.parse(text, FOLDER)


def test_the_parts_of_an_address() -> None:
    plain = parsed("opensearch://a:9200,[::1]:9201/wiki?shards=3")
    assert (plain.hosts, plain.name, plain.n_shards) == (("a:9200", "[::1]:9201"), "wiki", 3)
    assert not plain.uses_tls
    assert parsed("opensearch://a").n_shards is None
    secure = parsed("opensearch+https://me:p%40ss@a:9200,b:9200/wiki")
    assert (secure.uses_tls, secure.hosts, secure.login) == (True, ("a:9200", "b:9200"), ("me", "p@ss"))
    assert parsed("opensearch://a:9200?tls=true").uses_tls
    assert not parsed("opensearch://a:9200?tls=false").uses_tls


@pytest.mark.parametrize(
    "address, found",
    [
        ("opensearch://https://a:9200", "write opensearch+https://HOST:PORT"),
        ("opensearch://", "names no host"),
        ("opensearch://a b:9200", "'a b:9200' is not HOST:PORT"),
        ("opensearch://a?tls=maybe", "tls=maybe"),
        ("opensearch+https://a?tls=false", "contradicts"),
        ("opensearch://a?ca=x.pem", "ca= is for addresses with TLS"),
        ("opensearch+https://a?ca=nowhere.pem", "nowhere.pem: no such file"),
        ("opensearch://a?shards=0&colour=red", "shards=0 is not a number from 1; unknown option 'colour'"),
        ("opensearch://a/*", "'*' is no name of an index"),
        ("opensearch://a/wiki,other", "'wiki,other' is no name of an index"),
        ("opensearch://a/_all", "'_all' is no name of an index"),
        ("opensearch://a/../_cluster", "'../_cluster' is no name of an index"),
        ("opensearch+ftp://a", "unknown scheme 'opensearch+ftp'"),
    ],
)
def test_what_is_wrong_with_an_address(address: str, found: str) -> None:
    with pytest.raises(EvenrankError) as error:
        parsed(address)
    assert found in str(error.value)


@pytest.mark.parametrize(
    "address",
    [
        "opensearch://me:hidden@127.0.0.1:9/wiki",
        "opensearch://me:hidden@127.0.0.1:9/wiki?colour=red",
        "opensearch://me:hid/den@127.0.0.1:9",
        "opensearch://me:x?hidden@127.0.0.1:9",
        "opensearch://me:x/y?tls=hidden@127.0.0.1:9",
        "opensearch+https://me:hidden@127.0.0.1:9",
        "opensaerch://me:hidden@a",
    ],
)
def test_errors_do_not_have_the_password(address: str) -> None:
    with pytest.raises(EvenrankError) as error:
        check_cluster(parsed(address))
    assert not [word for word in ("hidden", "hid/den", "me:hid") if word in f"{error.value} {error.value!r}"]
    assert "hidden" not in repr(Address.parse("opensearch://me:hidden@a", FOLDER))


def test_an_index_remembers_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    assert remembered_address("opensearch://me:hid@den@a:9200/X") == "opensearch://me@a:9200/X"
    address = remembered_address("opensearch+https://me:p%40ss@a:9200,b:9200/wiki?tls=true")
    assert address == "opensearch+https://me@a:9200,b:9200/wiki?tls=true"
    assert parsed(address).login == ("me", "p@ss")
    assert remembered_address("opensearch://a:9200/wiki") == "opensearch://a:9200/wiki"
    assert parsed("opensearch://a:9200/wiki").login is None
    assert parsed("opensearch://you:other@a:9200").login == ("you", "other")


def test_the_file_of_a_build_has_no_password(
    golden_collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a build is asked for reaches its state without the password."""
    seen: list[str | None] = []

    def note(collection: Collection, engine: str | None) -> NoReturn:
        seen.append(engine)
        raise EvenrankError("enough")

    monkeypatch.setattr(indexing, "_finished_state", note)
    monkeypatch.setenv(PASSWORD_VARIABLE, "")
    monkeypatch.setattr(Collection, "corpus", tmp_path)
    with pytest.raises(EvenrankError, match="enough"):
        indexing.build_index(golden_collection, engine="opensearch://me:hidden@a:9200")
    assert seen == ["opensearch://me@a:9200"]


class Cluster(BaseHTTPRequestHandler):
    """The answer of a cluster that one node holds, for a user who says who they are."""

    def do_GET(self) -> None:
        wanted = "Basic " + base64.b64encode(b"me:p@ss").decode()
        body = json.dumps({"number_of_data_nodes": 1}).encode()
        self.send_response(200 if self.headers["Authorization"] == wanted else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        """There is an index `others`, to which no alias leads."""
        self.send_response(200 if self.path == "/others" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@contextmanager
def cluster_with(certificate: Path, key: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-out", str(files[0]), "-keyout", str(files[1]), "-days", "2", "-subj", "/CN=127.0.0.1"]
    try:
        subprocess.run([*command, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs the program openssl")
    return files


def test_certificates_are_verified_against_the_named_file(certificate: tuple[Path, Path]) -> None:
    with cluster_with(*certificate) as host:
        check_cluster(parsed(f"opensearch+https://me:p%40ss@{host}?ca={certificate[0]}"))
        check_cluster(parsed(f"opensearch://me:p%40ss@{host}?tls=true&ca={certificate[0]}"))
        with pytest.raises(EvenrankError, match=r"not trusted.*\?ca=FILE"):
            check_cluster(parsed(f"opensearch+https://me:p%40ss@{host}"))
        with pytest.raises(EvenrankError, match=r"others at .* is an index that Evenrank did not make"):
            check_cluster(parsed(f"opensearch+https://me:p%40ss@{host}/others?ca={certificate[0]}"))
