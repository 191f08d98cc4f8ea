"""The socket, the log and the settings of the server."""

from __future__ import annotations

import logging
import socket
import time

import uvicorn
from starlette.applications import Starlette

from evenrank.errors import EvenrankError

BACKLOG = 2048
"""Visitors who may wait for the server to take their connection."""
LOGGERS = ("evenrank", "uvicorn.error")


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
        raise EvenrankError(f"cannot listen on {host}:{port}: {error.strerror} (choose another --port)") from error
    return opened


def server_of(app: Starlette, proxies: str = "") -> uvicorn.Server:
    """A server for the app; `proxies` are the addresses, joined by commas, whose word on visitors is believed."""
    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies or None,
    )
    return uvicorn.Server(config)


def show_log() -> None:
    """Print the log of the app and of the server to standard error, each line with date and time in UTC."""
    formatter = logging.Formatter("%(asctime)sZ %(process)d %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    for name in LOGGERS:
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.INFO if name == "evenrank" else logging.WARNING)
