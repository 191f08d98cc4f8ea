"""A real HTTP server on loopback whose answers a test writes: what a hostile or broken wiki could send."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import orjson

from evenrank.wikipedia.mediawiki.client import WikiClient
from evenrank.wikipedia.mediawiki.settings import WikiSettings

Respond = Callable[["Exchange", dict[str, str]], None]


class Exchange(BaseHTTPRequestHandler):
    """One request; the server's `respond` answers it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True))
        server: Any = self.server
        server.requests.append((dict(self.headers), fields))
        server.respond(self, fields)

    def log_message(self, *_: object) -> None:
        pass

    def send(self, body: bytes, status: int = 200, content_type: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def send_json(self, record: object, **headers: str) -> None:
        self.send(orjson.dumps(record), **headers)


@contextmanager
def wiki_that(
    respond: Respond, **settings: Any
) -> Iterator[tuple[WikiClient, list[tuple[dict[str, str], dict[str, str]]]]]:
    """A client of a server that answers as told, and the (headers, fields) of every request it receives."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.respond, server.requests = respond, []
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/w/api.php"
    waits: list[float] = []
    client = WikiClient(WikiSettings(address, "tests@example.org", **settings), sleep=waits.append)
    client.waits = waits  # type: ignore[attr-defined]
    try:
        with client:
            yield client, server.requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
