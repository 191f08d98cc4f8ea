"""Limits: how long a body may be, and how many requests one address may make."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenrank.web.middleware.csrf import SAFE_METHODS

MAX_ADDRESSES = 10_000
"""Addresses remembered; beyond them the fullest buckets are forgotten first."""
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
        if not announced.isdecimal() or int(announced) > self.max_bytes:
            await refusal(scope, receive, send)
            return
        try:
            await self.app(scope, receive_limited, send_noting)
        except TooLargeError:
            if not has_started:
                await refusal(scope, receive, send)


@dataclass
class Buckets:
    """A token bucket for each address: `rate` requests a second, `BURST_SECONDS` of them at once."""

    rate: float
    clock: Callable[[], float] = time.monotonic
    _filled: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_seconds(self, address: str) -> float:
        """0 when the request may pass, else how long to wait."""
        most, now = self.rate * BURST_SECONDS, self.clock()
        with self._lock:
            tokens, before = self._filled.get(address, (most, now))
            tokens = min(most, tokens + (now - before) * self.rate)
            if tokens < 1.0:
                self._filled[address] = (tokens, now)
                return (1.0 - tokens) / self.rate
            self._filled[address] = (tokens - 1.0, now)
            if len(self._filled) > MAX_ADDRESSES:
                self._forget()
            return 0.0

    def _forget(self) -> None:
        by_tokens = sorted(self._filled, key=lambda address: self._filled[address])
        for address in by_tokens[MAX_ADDRESSES // 2 :]:
            del self._filled[address]


class LimitRates:
    """Answers 429 to an address that asks too often; changing requests have a bucket of their own."""

    def __init__(self, app: ASGIApp, reads_per_second: float, writes_per_second: float) -> None:
        self.app = app
        self.reads, self.writes = Buckets(reads_per_second), Buckets(writes_per_second)

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
