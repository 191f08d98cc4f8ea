"""The server: its socket, its log, its worker processes, and connections with time limits.

uvicorn waits without end for a head, a body or a reader. Here each of these has a time limit that bytes dripping in do
not extend, and the number of connections has a limit that slow ones make room for: the one that has kept the server
waiting longest is closed first, so that others still get through.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Literal

import h11
import orjson
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from evenrank.core.safe_text import terminal_text
from evenrank.errors import EvenrankError, StoreUnavailableError, hide_passwords, reason_of
from evenrank.retrieval.engine.protocol import EngineUnavailableError

BACKLOG = 128
"""Connections that may wait to be accepted. All of them are accepted at once, before any can be closed: more of them
could use up the descriptors of the process."""
LOGGERS = ("evenrank", "uvicorn.error", "asyncio")
HEAD_SECONDS = 10.0
"""Time to send the head of a request."""
MAX_HEAD_BYTES = 16 * 1024
BODY_SECONDS = 20.0
"""Time to send its body, of 64 kB at most."""
MANY_CHUNKS, SHORT_CHUNK_BYTES = 500, 64
"""A body in more chunks than the first must have this many bytes in each, on average."""
TAKE_SECONDS = 30.0
"""Time in which a client must read some of an answer that waits for it."""
MOST_CONNECTIONS = 1000
RESERVED_FILES = 300
"""Descriptors for the index, the stores and their threads."""
SWITCH_SECONDS = 0.0005
"""How long a thread computes before another may: short, so that quick answers do not wait for expensive ones."""
Phase = Literal["", "head", "body"]
LIMITS: dict[Phase, float] = {"head": HEAD_SECONDS, "body": BODY_SECONDS}
LOG = logging.getLogger("evenrank.app")
STOPPING = (signal.SIGINT, signal.SIGTERM)
QUICK_SECONDS = 5.0
"""A worker that ends within this time of its start cannot work."""
MAX_QUICK_ENDS = 3
MAX_RESTART_SECONDS = 30.0
"""Longest wait before a worker is started again."""
CANNOT_START = 2
"""Exit code of a worker that another try would not help, unless somebody mends what it lacks."""
AWAY = 75
"""Exit code of a worker whose store or engine does not answer: a later try may succeed (EX_TEMPFAIL)."""
STOP_SECONDS = 20.0
"""How long workers may finish what they are doing."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; an error that says what to do when the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, because only then does asyncio send answers at once; else the second packet of each waits 40 ms.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        raise EvenrankError(f"cannot listen on {host}:{port}: {reason_of(error)} (choose another --port)") from error
    return opened


def make_server(app: Starlette, proxies: str = "") -> uvicorn.Server:
    """A server for the app; `proxies` are the addresses, joined by commas, whose word on visitors is believed."""
    allow_more_files()
    sys.setswitchinterval(SWITCH_SECONDS)
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
    )
    return uvicorn.Server(config)


class BoundedLog(logging.Filter):
    """Limits log lines per second, so that no fault fills the disk, and says how many lines were dropped."""

    def __init__(self, lines_per_second: float = 200.0, burst: float = 2000.0) -> None:
        super().__init__()
        self.rate, self.burst = lines_per_second, burst
        self.room, self.before, self.n_left_out = burst, time.monotonic(), 0

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        self.room = min(self.burst, self.room + (now - self.before) * self.rate)
        self.before = now
        if self.room < 1.0:
            self.n_left_out += 1
            return False
        self.room -= 1.0
        if self.n_left_out:
            record.msg = f"{record.getMessage()} ({self.n_left_out:,} lines were left out before this one)"
            record.args, self.n_left_out = (), 0
        return True


class SafeFormatter(logging.Formatter):
    """Lines in UTC, tracebacks included, without the passwords of addresses and without codes for terminals."""

    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        return terminal_text(hide_passwords(super().format(record)))


class JSONFormatter(SafeFormatter):
    """A JSON object on each line; of a request also its method, route, status and milliseconds, as values."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record, TIME) + "Z",
            "process": record.process,
            "level": record.levelname,
            "logger": record.name,
            "message": hide_passwords(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = hide_passwords(self.formatException(record.exc_info))
        return orjson.dumps(line, default=str).decode()


TIME = "%Y-%m-%dT%H:%M:%S"


def show_log(*, is_quiet: bool = False, as_json: bool = False) -> None:
    """Print the log of the app and of the server to standard error, each line with date and time in UTC.

    `is_quiet` leaves only what went wrong; `as_json` makes each line a JSON object.
    """
    handler = logging.StreamHandler()
    line = "%(asctime)sZ %(process)d %(levelname)s %(message)s"
    handler.setFormatter(JSONFormatter() if as_json else SafeFormatter(line, TIME))
    handler.addFilter(BoundedLog())
    for name in LOGGERS:
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.INFO if name == "evenrank" and not is_quiet else logging.WARNING)


class StrictConnection(h11.Connection):
    """HTTP/1.1 that refuses a request which says in two ways how long it is, and one in many very short chunks.

    Of Content-Length and Transfer-Encoding, h11 believes the latter. A proxy that believes the former would take the
    rest of one visitor's request for the beginning of another's. A chunk of one byte takes h11 as long as one of
    thousands, in the event loop: everybody would wait for a megabyte of them.
    """

    n_chunks = n_bytes = 0
    """Chunks of the body of the present request, and the bytes in them."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
            self.n_chunks = self.n_bytes = 0
        elif isinstance(event, h11.Data):
            self.n_chunks, self.n_bytes = self.n_chunks + event.chunk_start, self.n_bytes + len(event.data)
            if self.n_chunks > MANY_CHUNKS and self.n_bytes < self.n_chunks * SHORT_CHUNK_BYTES:
                raise h11.RemoteProtocolError("a body in very short chunks")
        return event


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with time limits, and strict about the length of requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = StrictConnection(h11.SERVER, MAX_HEAD_BYTES)
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

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # an answer has begun, and there cannot be another
            self.abort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for(self._phase_now())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel_take_timer()
        self._take_timer = self.loop.call_later(TAKE_SECONDS, self.abort)

    def resume_writing(self) -> None:
        self._cancel_take_timer()
        super().resume_writing()

    def abort(self) -> None:
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
        self._read_timer = self.loop.call_later(LIMITS[phase], self.abort) if phase else None

    def _cancel_take_timer(self) -> None:
        if self._take_timer is not None:
            self._take_timer.cancel()
            self._take_timer = None


def make_room(connections: set[Any], limit: int) -> None:
    """Close the connections that have kept the server waiting longest, until at most `limit` are left.

    Connections whose request is being answered stay; where there are only such, the newest cannot be taken.
    """
    too_many = len(connections) - limit
    if too_many <= 0:
        return
    slow = sorted((c for c in connections if getattr(c, "phase", "")), key=lambda c: c.waiting_since)
    for connection in slow[:too_many]:
        connections.discard(connection)
        connection.abort()


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


class Supervisor:
    """Keeps `n_workers` processes at work until SIGINT or SIGTERM.

    Once a worker has served, none that fails stops the others: what it lacks (the database, the cluster, an index that
    is being replaced) may come back, so it is started again, each time after twice the wait. Before that, a fault that
    another try would not mend ends the server, because whoever started it is there to read why.
    """

    def __init__(self, n_workers: int, work: Callable[[Callable[[], None]], None]) -> None:
        self.work = work
        self.running: dict[int, tuple[int, float]] = {}
        """Place and start of each worker, by process."""
        self.n_failures = [0] * n_workers
        """Starts in a row, by place, after which a worker did not serve for a while."""
        self.next_start = [0.0] * n_workers
        self.has_served = False
        self._serving = mmap.mmap(-1, n_workers)  # shared with the workers: each sets the byte of its place

    def run(self) -> None:
        """Start workers and replace those that end; EvenrankError when none could ever serve."""
        stopping: list[int] = []

        def stop(number: int, _: FrameType | None) -> None:
            stopping.append(number)

        before = {number: signal.signal(number, stop) for number in STOPPING}
        try:
            while not stopping:
                self.start_due()
                if not self.replace_ended():
                    time.sleep(0.05)
        finally:
            _stop(self.running)
            for number, handler in before.items():
                signal.signal(number, handler)

    def start_due(self) -> None:
        """Start a worker in every place that has none and has waited long enough."""
        now = time.monotonic()
        taken = {place for place, _ in self.running.values()}
        for place, due in enumerate(self.next_start):
            if place not in taken and due <= now:
                self._serving[place] = 0
                self.running[_fork(partial(self.work, partial(self._serving.__setitem__, place, 1)))] = place, now

    def replace_ended(self) -> int:
        """Decide when the places of workers that have ended are filled again; gives how many there were."""
        self.has_served = self.has_served or any(self._serving[:])
        ended = _ended(self.running)
        for pid, (status, place, lived) in ended.items():
            code = os.waitstatus_to_exitcode(status)
            did_serve = bool(self._serving[place]) and lived >= QUICK_SECONDS
            self.n_failures[place] = 0 if did_serve else self.n_failures[place] + 1
            if not self.has_served and code == CANNOT_START:
                raise EvenrankError("a worker could not start, for the reason in the log")
            if not self.has_served and code != AWAY and sum(self.n_failures) >= MAX_QUICK_ENDS:
                raise EvenrankError("workers end as soon as they start; the log says why")
            wait = restart_seconds(self.n_failures[place])
            self.next_start[place] = time.monotonic() + wait
            when = f" in {wait:g} s" if wait else ""
            LOG.warning("worker %d ended (%s); another takes its place%s", pid, _reason(status), when)
        return len(ended)


def restart_seconds(n_failures: int) -> float:
    """How long a place waits after so many failures in a row: nothing after the first, then twice as long each time."""
    return min(MAX_RESTART_SECONDS, 2.0 ** min(n_failures - 2, 10)) if n_failures > 1 else 0.0


def _fork(work: Callable[[], None]) -> int:
    parent = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # none is lost before the worker knows what to do with it
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        return pid
    code = 1
    try:
        for number in STOPPING:
            signal.signal(number, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
        work()
        code = 0
    except KeyboardInterrupt:
        code = 0
    except (StoreUnavailableError, EngineUnavailableError) as error:
        LOG.error("%s", error)
        code = AWAY
    except EvenrankError as error:
        LOG.error("%s", error)
        code = CANNOT_START
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(parent: int) -> None:
    """End this worker when its parent was killed, so that none stays behind on the port."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _ended(running: dict[int, tuple[int, float]]) -> dict[int, tuple[int, int, float]]:
    """Workers that have ended: status, place, and how long they lived. They are no longer among those running."""
    ended = {}
    for pid in list(running):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            place, start = running.pop(pid)
            ended[pid] = (status, place, time.monotonic() - start)
    return ended


def _stop(running: dict[int, tuple[int, float]]) -> None:
    """Ask all workers to end, and end those that do not."""
    for pid in running:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while running:
        _ended(running)
        if running and time.monotonic() > deadline:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.02)


def _reason(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
