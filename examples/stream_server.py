"""Fair rankings over HTTP: POST {"query": …, "items": {item: relevance}} to /rank, GET /shares and /state.

    python examples/stream_server.py NAME GROUPS.csv LOG [PORT]

NAME is the server's own, among all that exchange states. Every answer is in the log, on the disk, before it is sent. A
killed server continues where the log ends. Other servers send what they counted to /absorb: any number of times, in any
order.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import evenrank


def make_handler(stream: evenrank.Stream) -> type[BaseHTTPRequestHandler]:
    """Answers for one stream, which the threads of the server share."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/absorb":
                    stream.absorb(body)
                    self.answer(200, {"absorbed": True})
                elif self.path != "/rank":
                    self.answer(404, {"error": "POST to /rank or /absorb"})
                else:
                    request = json.loads(body)
                    ranking = stream.rank(request["query"], request["items"])
                    self.answer(200, {"number": ranking.number, "ranking": ranking[:]})
            except (evenrank.EvenrankError, KeyError, TypeError, ValueError) as error:
                self.answer(400, {"error": str(error)})

        def do_GET(self) -> None:
            if self.path == "/state":
                self.answer(200, json.loads(stream.state.to_bytes()))
            elif self.path == "/shares":
                self.answer(200, {group: share._asdict() for group, share in stream.shares().items()})
            else:
                self.answer(404, {"error": "GET /shares or /state"})

        def answer(self, status: int, document: object) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(document).encode())

    return Handler


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    name, groups, log, *port = sys.argv[1:]
    with evenrank.Stream("fairco", groups, log=log, fsync=True, server=name) as stream:
        server = ThreadingHTTPServer(("127.0.0.1", int(port[0]) if port else 8080), make_handler(stream))
        print(f"listening on port {server.server_port}", flush=True)
        server.serve_forever()
