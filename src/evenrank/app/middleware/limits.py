"""Limits on bodies and rates, and counts and a log of requests, in a table that all workers share.

Requests are logged and counted by route, never by address: links and words are secrets.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import mmap
import os
import struct
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import accumulate

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenrank.app.middleware.guards import SAFE_METHODS

MAX_ADDRESSES = 16_384
"""Addresses remembered; where they crowd, the fullest buckets are forgotten first."""
BURST_SECONDS = 5.0
"""A bucket holds what is allowed in this time."""
LOG = logging.getLogger("evenrank.app")
N_PLACES = 4096
KEY_BYTES = 96
MAX_ROUTE = 80
GONE = 499
"""Logged and counted for a client that ended the connection before it was answered."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Methods that are counted by name; clients can invent any number of others."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram of seconds."""


Pair = tuple[float, float]


WINDOW = 16
"""Places in which a key may be."""
_NUMBERS = struct.Struct("<dd")
LOCK_SECONDS = 0.1
"""How long a worker waits for the lock of a table. It is held for microseconds, unless its holder was stopped."""
WITHOUT_LOCK_SECONDS = 2.0
"""How long a worker that waited in vain does without it."""


class SharedTable:
    """Keys with two numbers each, in memory that processes inherit when they are forked.

    It is guarded by a lock of the operating system, which a worker that is killed gives back. One that is stopped does
    not: the others wait for it a moment, and then do without the lock for a while, with limits and counts that may be
    off by a few. A key has a few possible places; when all are taken, the one that matters least makes room.
    """

    def __init__(self, n_places: int, key_bytes: int = 16) -> None:
        self.n_places, self.key_bytes = n_places, key_bytes
        self._size = key_bytes + _NUMBERS.size
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the table
        os.ftruncate(self._file.fileno(), n_places * self._size)
        self._memory = mmap.mmap(self._file.fileno(), n_places * self._size)
        self._lock = threading.Lock()
        self._unlocked_until = 0.0

    def update(self, key: str, change: Callable[[Pair | None], Pair], value: Callable[[Pair], float]) -> Pair:
        """Change the numbers of a key, None for a new one; where all places are full, the one of least `value` goes."""
        packed = self._packed(key)
        with self._locked():
            place, known = self._place(packed, value)
            numbers = change(known)
            start = place * self._size
            self._memory[start : start + self._size] = packed + _NUMBERS.pack(*numbers)
        return numbers

    def items(self) -> Iterator[tuple[str, Pair]]:
        """All keys that are text, with their numbers."""
        with self._locked():
            content = self._memory[:]
        for start in range(0, len(content), self._size):
            key = content[start : start + self.key_bytes]
            if key.strip(b"\0"):
                numbers = _NUMBERS.unpack(content[start + self.key_bytes : start + self._size])
                yield key.rstrip(b"\0").decode("utf-8", "replace"), (numbers[0], numbers[1])

    def _packed(self, key: str) -> bytes:
        """The key itself when it fits, else its digest."""
        encoded = key.encode()
        if len(encoded) <= self.key_bytes:
            return encoded.ljust(self.key_bytes, b"\0")
        return hashlib.blake2b(encoded, digest_size=self.key_bytes).digest()

    def _place(self, packed: bytes, value: Callable[[Pair], float]) -> tuple[int, Pair | None]:
        """Where a key is, or where it may be put."""
        first = int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")
        best, least = 0, float("inf")
        for step in range(WINDOW):
            place = (first + step) % self.n_places
            start = place * self._size
            found = self._memory[start : start + self.key_bytes]
            numbers = _NUMBERS.unpack_from(self._memory, start + self.key_bytes)
            if found == packed:
                return place, (numbers[0], numbers[1])
            worth = value((numbers[0], numbers[1])) if found.strip(b"\0") else -float("inf")
            if worth < least:
                best, least = place, worth
        return best, None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            is_locked = self._lock_file()
            try:
                yield
            finally:
                if is_locked:
                    fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _lock_file(self) -> bool:
        """Whether the lock between processes could be had within a moment."""
        now = time.monotonic()
        deadline = now + LOCK_SECONDS
        while now >= self._unlocked_until:
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.0005)
            else:
                return True
            now = time.monotonic()
            if now > deadline:
                self._unlocked_until = now + WITHOUT_LOCK_SECONDS
        return False


MOST_HELD_BYTES = 64 << 20
"""Bytes of bodies that a worker holds at once; beyond that, none but short ones are taken."""
SHORT_BYTES = 64 << 10


class TooLargeError(Exception):
    """The body is longer than allowed, or than there is room for."""


class LimitBodies:
    """Refuses bodies longer than allowed, whether announced or streamed, and long ones while many are held."""

    def __init__(self, app: ASGIApp, max_bytes: int, most_held: int = MOST_HELD_BYTES) -> None:
        self.app, self.max_bytes, self.most_held = app, max_bytes, most_held
        self.n_held = 0
        """Bytes of the bodies of all requests that are being read or answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        n_read, has_started = 0, False
        refusal = PlainTextResponse(f"The request is longer than {self.max_bytes:,} bytes.\n", 413)

        async def receive_limited() -> Message:
            nonlocal n_read, refusal
            message = await receive()
            n_new = len(message.get("body", b""))
            n_read, self.n_held = n_read + n_new, self.n_held + n_new
            if n_read > self.max_bytes:
                raise TooLargeError
            if n_read > SHORT_BYTES and self.n_held > self.most_held:
                text = "Too many long requests at once. Please try again in a few seconds.\n"
                refusal = PlainTextResponse(text, 503, {"Retry-After": "5"})
                raise TooLargeError
            return message

        async def send_noting(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        if not announced.isdecimal() or len(announced) > 12 or int(announced) > self.max_bytes:
            await refusal(scope, receive, send)
            return
        try:
            await self.app(scope, receive_limited, send_noting)
        except TooLargeError:
            if not has_started:
                await refusal(scope, receive, send)
        finally:
            self.n_held -= n_read


class Buckets:
    """A token bucket for each address: `rate` requests, or bytes, a second, and those of `burst_seconds` at once.

    They are in a table that all workers share, so that an address has one bucket however many workers there are.
    """

    def __init__(
        self,
        rate: float,
        table: SharedTable | None = None,
        clock: Callable[[], float] = time.monotonic,
        burst_seconds: float = BURST_SECONDS,
    ) -> None:
        self.rate, self.clock, self.burst_seconds = rate, clock, burst_seconds
        self.table = table or SharedTable(MAX_ADDRESSES)

    def wait_seconds(self, address: str, amount: float = 1.0) -> float:
        """0 when a request of this amount may pass, else how long to wait."""
        most, now = self.rate * self.burst_seconds, self.clock()
        wait = 0.0

        def filled(bucket: Pair) -> float:
            tokens, before = bucket
            return min(most, tokens + max(0.0, now - before) * self.rate)

        def take(bucket: Pair | None) -> Pair:
            nonlocal wait
            tokens = most if bucket is None else filled(bucket)
            if tokens < amount:
                wait = (amount - tokens) / self.rate
                return tokens, now
            return tokens - amount, now

        self.table.update(address, take, lambda bucket: -filled(bucket))
        return wait


def network(address: str) -> str:
    """The network of an address, which limits and turns count for.

    Of IPv6, the first 64 bits are one: whoever has one address there has them all. An IPv4 address is its own, also
    where a server that listens on `::` sees it as one of IPv6 (`::ffff:192.0.2.1`).
    """
    with suppress(ValueError):
        found = ip_address(address.partition("%")[0])
        if isinstance(found, IPv6Address):
            return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
    return address


class LimitRates:
    """Answers 429 to a network that asks too often; changing requests have a bucket of their own."""

    def __init__(self, app: ASGIApp, reads: Buckets, writes: Buckets) -> None:
        self.app, self.reads, self.writes = app, reads, writes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        buckets = self.reads if scope["method"] in SAFE_METHODS else self.writes
        wait = buckets.wait_seconds(network((scope.get("client") or ("unknown",))[0]))
        if not wait:
            await self.app(scope, receive, send)
            return
        text = "Too many requests from your address. Please wait a moment and try again.\n"
        await PlainTextResponse(text, 429, {"Retry-After": str(int(wait) + 1)})(scope, receive, send)


class AccessLog:
    """One line a request: method, route, status, milliseconds; the same for `/metrics`."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self.app, self.counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), GONE

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        finally:
            seconds = time.perf_counter() - start
            method, route, took_ms = scope["method"], route_name(scope), 1000 * seconds
            fields = {"method": method, "route": route, "status": status, "milliseconds": round(took_ms, 1)}
            LOG.info("%s %s %d %.0f ms", method, route, status, took_ms, extra={"fields": fields})
            self.counts.add(method, route, status, seconds)


def route_name(scope: Scope) -> str:
    """The name of the route that answered; a dash when none did."""
    endpoint = scope.get("endpoint")
    return str(getattr(endpoint, "__name__", "-")) if endpoint else "-"


@dataclass(frozen=True)
class RequestCounts:
    """Number and duration of requests, shared by all workers."""

    table: SharedTable = field(default_factory=lambda: SharedTable(N_PLACES, KEY_BYTES))
    durations: SharedTable = field(default_factory=lambda: SharedTable(N_PLACES, KEY_BYTES))
    """Requests and seconds by route and place in `BUCKETS`."""
    started: float = field(default_factory=time.time)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""

        def one_more(before: Pair | None) -> Pair:
            n_requests, total = before or (0.0, 0.0)
            return n_requests + 1, total + seconds

        known = method if method in METHODS else "OTHER"
        self.table.update(f"{known} {route[:MAX_ROUTE]} {status}", one_more, lambda pair: pair[0])
        place = bisect_left(BUCKETS, seconds)
        self.durations.update(f"{route[:MAX_ROUTE]} {place}", one_more, lambda pair: pair[0])

    def requests(self) -> Iterator[tuple[tuple[str, ...], Pair]]:
        """Requests and seconds by method, route and status."""
        return ((tuple(key.split(" ")), pair) for key, pair in sorted(self.table.items()))

    def histograms(self) -> Iterator[tuple[str, list[tuple[str, float]], float]]:
        """Of each route, how many requests took at most each bound of `BUCKETS` or any time, and the seconds of all."""
        by_route: dict[str, list[Pair]] = {}
        for key, pair in sorted(self.durations.items()):
            route, place = key.rsplit(" ", 1)
            by_route.setdefault(route, [(0.0, 0.0)] * (len(BUCKETS) + 1))[int(place)] = pair
        bounds = (*map(str, BUCKETS), "+Inf")
        for route, pairs in by_route.items():
            n_up_to = accumulate(n for n, _ in pairs)
            yield route, list(zip(bounds, n_up_to, strict=True)), sum(seconds for _, seconds in pairs)
