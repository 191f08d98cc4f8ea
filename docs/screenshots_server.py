"""The web app as the screenshots see it: a server in a thread, screens of two sizes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from evenrank.app.app import create_app
from evenrank.app.settings import WebSettings

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 320, "height": 640}}


@contextmanager
def serve(collection: Path, settings: WebSettings) -> Iterator[str]:
    """The address of the app while it runs in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(collection, settings), log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        while not server.started:
            time.sleep(0.05)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
