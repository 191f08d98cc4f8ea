"""Connections that may not be held for ever: a client has limited time to send a request and to take the answer.

The server under the app waits without end for a head, a body or a reader. Here each of these has a time limit that
bytes dripping in do not extend, and the number of connections has a limit that slow ones make room for: whoever has
kept the server waiting longest is let go first, so that others still get through.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Time to send the head of a request."""
BODY_SECONDS = 20.0
"""Time to send its body, of 64 kB at most."""
TAKE_SECONDS = 30.0
"""Time in which a client must take something of an answer that waits for it."""
MOST_CONNECTIONS = 1000
RESERVED_FILES = 300
"""Descriptors for the index, the stores and their threads."""

Phase = Literal["", "head", "body"]
LIMITS: dict[Phase, float] = {"head": HEAD_SECONDS, "body": BODY_SECONDS}


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with time limits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.phase: Phase = ""
        """What the server waits for: the head or the body of a request, or nothing."""
        self.waiting_since = 0.0
        self._read_timer: asyncio.TimerHandle | None = None
        self._take_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for("head")
        make_room(self.connections, connection_limit())

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for("")
        self._cancel_take_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        phase = self._phase_now()
        if phase != self.phase:
            self._wait_for(phase)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for(self._phase_now())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_take_timer()
        self._take_timer = self.loop.call_later(TAKE_SECONDS, self.let_go)

    def resume_writing(self) -> None:
        self._cancel_take_timer()
        super().resume_writing()

    def let_go(self) -> None:
        """End the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def _phase_now(self) -> Phase:
        state = self.conn.their_state
        return "head" if state is h11.IDLE else "body" if state is h11.SEND_BODY else ""

    def _wait_for(self, phase: Phase) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
        self.phase, self.waiting_since = phase, time.monotonic()
        self._read_timer = self.loop.call_later(LIMITS[phase], self.let_go) if phase else None

    def _cancel_take_timer(self) -> None:
        if self._take_timer is not None:
            self._take_timer.cancel()
            self._take_timer = None


def make_room(connections: set[Any], limit: int) -> None:
    """Let go the connections that have kept the server waiting longest, until no more than `limit` are left.

    Connections whose request is being answered stay; where there are only such, the newest cannot be taken.
    """
    too_many = len(connections) - limit
    if too_many <= 0:
        return
    slow = sorted((c for c in connections if getattr(c, "phase", "")), key=lambda c: c.waiting_since)
    for connection in slow[:too_many]:
        connections.discard(connection)
        connection.let_go()


def connection_limit() -> int:
    """Connections that the descriptors of this process allow."""
    try:
        import resource
    except ImportError:  # Windows
        return MOST_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = soft - RESERVED_FILES if soft != resource.RLIM_INFINITY else MOST_CONNECTIONS
    return max(50, min(MOST_CONNECTIONS, free))


def allow_more_files() -> None:
    """Raise the limit of open files of this process to what the system grants it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
