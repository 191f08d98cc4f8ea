"""The socket, the log and the settings of the server."""

from __future__ import annotations

import logging
import socket
import time

import uvicorn
from starlette.applications import Starlette

from evenrank.app.connections import LimitedProtocol, allow_more_files
from evenrank.errors import EvenrankError, reason_of

BACKLOG = 128
"""Visitors who may wait for the server to take their connection. So many are taken at once, before any can be let go:
more of them could use up the descriptors of the process."""
LOGGERS = ("evenrank", "uvicorn.error", "asyncio")


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


def server_of(app: Starlette, proxies: str = "") -> uvicorn.Server:
    """A server for the app; `proxies` are the addresses, joined by commas, whose word on visitors is believed."""
    allow_more_files()
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
    )
    return uvicorn.Server(config)


class BoundedLog(logging.Filter):
    """Lets a number of lines a second pass, so that no trouble fills the disk; says how many were left out."""

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


def show_log(*, is_quiet: bool = False) -> None:
    """Print the log of the app and of the server to standard error, each line with date and time in UTC.

    `is_quiet` leaves only what went wrong.
    """
    formatter = logging.Formatter("%(asctime)sZ %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    handler.addFilter(BoundedLog())
    for name in LOGGERS:
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.INFO if name == "evenrank" and not is_quiet else logging.WARNING)
