"""The socket and the log of the server."""

from __future__ import annotations

import logging
import socket

from evenrank.errors import EvenrankError

BACKLOG = 2048
"""Visitors who may wait for the server to take their connection."""


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


def show_log() -> None:
    """Print the app's log to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("evenrank.web")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
