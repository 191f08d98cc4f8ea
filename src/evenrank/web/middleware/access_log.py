"""A log and counts of requests by route, never by address: links are secrets, and so are people's words."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenrank.web.middleware.metrics import RequestCounts

LOG = logging.getLogger("evenrank.web")


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
