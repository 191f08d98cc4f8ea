"""Limits: how long a body may be, and how many requests one address may make."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenrank.app.middleware.guards import SAFE_METHODS
from evenrank.app.middleware.shared_table import Pair, SharedTable

MAX_ADDRESSES = 16_384
"""Addresses remembered; where they crowd, the fullest buckets are forgotten first."""
BURST_SECONDS = 5.0
"""A bucket holds what is allowed in this time."""


class TooLargeError(Exception):
    """The body is longer than allowed."""


class LimitBodies:
    """Refuses bodies longer than allowed, whether announced or streamed."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self.app, self.max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        n_read, has_started = 0, False

        async def receive_limited() -> Message:
            nonlocal n_read
            message = await receive()
            n_read += len(message.get("body", b""))
            if n_read > self.max_bytes:
                raise TooLargeError
            return message

        async def send_noting(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        refusal = PlainTextResponse(f"The request is longer than {self.max_bytes:,} bytes.\n", 413)
        if not announced.isdecimal() or len(announced) > 12 or int(announced) > self.max_bytes:
            await refusal(scope, receive, send)
            return
        try:
            await self.app(scope, receive_limited, send_noting)
        except TooLargeError:
            if not has_started:
                await refusal(scope, receive, send)


class Buckets:
    """A token bucket for each address: `rate` requests a second, `BURST_SECONDS` of them at once.

    They are in a table that all workers share, so that an address has one bucket however many workers there are.
    """

    def __init__(
        self, rate: float, table: SharedTable | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.clock = rate, clock
        self.table = table or SharedTable(MAX_ADDRESSES)

    def wait_seconds(self, address: str) -> float:
        """0 when the request may pass, else how long to wait."""
        most, now = self.rate * BURST_SECONDS, self.clock()
        wait = 0.0

        def filled(bucket: Pair) -> float:
            tokens, before = bucket
            return min(most, tokens + max(0.0, now - before) * self.rate)

        def take(bucket: Pair | None) -> Pair:
            nonlocal wait
            tokens = most if bucket is None else filled(bucket)
            if tokens < 1.0:
                wait = (1.0 - tokens) / self.rate
                return tokens, now
            return tokens - 1.0, now

        self.table.update(address, take, lambda bucket: -filled(bucket))
        return wait


class LimitRates:
    """Answers 429 to an address that asks too often; changing requests have a bucket of their own."""

    def __init__(self, app: ASGIApp, reads: Buckets, writes: Buckets) -> None:
        self.app, self.reads, self.writes = app, reads, writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        buckets = self.reads if scope["method"] in SAFE_METHODS else self.writes
        wait = buckets.wait_seconds((scope.get("client") or ("unknown",))[0])
        if not wait:
            await self.app(scope, receive, send)
            return
        text = "Too many requests from your address. Please wait a moment and try again.\n"
        await PlainTextResponse(text, 429, {"Retry-After": str(int(wait) + 1)})(scope, receive, send)
