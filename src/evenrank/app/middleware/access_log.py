"""A log and counts of requests (Prometheus) by route, never by address: links and words are secrets."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenrank.app.middleware.shared_table import Pair, SharedTable

LOG = logging.getLogger("evenrank.app")


class AccessLog:
    """One line a request: method, route, status, milliseconds; the same for `/metrics`."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self.app, self.counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        finally:
            seconds = time.perf_counter() - start
            LOG.info("%s %s %d %.0f ms", scope["method"], route_name(scope), status, 1000 * seconds)
            self.counts.add(scope["method"], route_name(scope), status, seconds)


def route_name(scope: Scope) -> str:
    """The name of the route that answered; a dash when none did."""
    endpoint = scope.get("endpoint")
    return str(getattr(endpoint, "__name__", "-")) if endpoint else "-"


N_PLACES = 4096
KEY_BYTES = 96
MAX_ROUTE = 80
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are counted by name; clients can invent any number of others."""
HELP = {
    "evenrank_requests_total": ("counter", "Requests answered, by method, route and status."),
    "evenrank_request_seconds_total": ("counter", "Time spent on them."),
    "evenrank_articles": ("gauge", "Articles of the collection."),
    "evenrank_start_time_seconds": ("gauge", "When the server started, in seconds since 1970."),
}


@dataclass(frozen=True)
class RequestCounts:
    """Number and duration of requests, shared by all workers."""

    table: SharedTable = field(default_factory=lambda: SharedTable(N_PLACES, KEY_BYTES))
    started: float = field(default_factory=time.time)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""

        def one_more(before: Pair | None) -> Pair:
            n_requests, total = before or (0.0, 0.0)
            return n_requests + 1, total + seconds

        known = method if method in METHODS else "OTHER"
        self.table.update(f"{known} {route[:MAX_ROUTE]} {status}", one_more, lambda pair: pair[0])

    def text(self, n_articles: int) -> str:
        """All counts as Prometheus reads them."""
        lines: dict[str, list[str]] = {name: [] for name in HELP}
        for key, (n_requests, seconds) in sorted(self.table.items()):
            method, route, status = key.split(" ")
            labels = f'{{method="{method}",route="{route}",status="{status}"}}'
            lines["evenrank_requests_total"].append(f"{labels} {n_requests:.0f}")
            lines["evenrank_request_seconds_total"].append(f"{labels} {seconds:.6f}")
        lines["evenrank_articles"].append(f" {n_articles}")
        lines["evenrank_start_time_seconds"].append(f" {self.started:.0f}")
        return "".join(
            f"# HELP {name} {text}\n# TYPE {name} {kind}\n" + "".join(f"{name}{line}\n" for line in lines[name])
            for name, (kind, text) in HELP.items()
        )
