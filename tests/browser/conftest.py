"""A real server and a real Chromium. Nothing a page does may go wrong unseen, and nothing may leave the machine."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("playwright.sync_api", reason="needs playwright")

import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from evenrank.app.app import create_app
from evenrank.app.settings import WebSettings
from evenrank.app.storage.administration import admin_key
from tests.desk_collections import shared_generated

CHROMIUM = os.environ.get("CHROMIUM", shutil.which("chromium") or "/usr/bin/chromium")
AXE = Path(os.environ.get("AXE_CORE", Path(__file__).parents[2] / "build/axe/node_modules/axe-core/axe.min.js"))
FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
)
WAIT = 60_000
"""Milliseconds until something that is missing counts as missing, on a busy machine too."""
expect.set_options(timeout=WAIT)
ADMIN_LINKS: dict[str, str] = {}
"""Secret link to the administration page of each server."""
SIZES = {"desktop": (1280, 900), "phone": (320, 640)}


@dataclass
class Watched:
    """What a browser did that it should not."""

    faults: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext, address: str) -> None:
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.faults.append(f"script: {error.error}"))
        context.on("request", lambda request: self._on_request(request, address))
        context.on("requestfailed", self._on_failure)

    def _on_console(self, message: ConsoleMessage) -> None:
        unsent = ("htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")  # `_on_failure` knows why
        is_unsent = message.text.startswith(unsent)
        if message.type in ("error", "warning") and not is_unsent:
            self.faults.append(f"console: {message.text}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the visitor went on before the answer came
            self.faults.append(f"failed: {request.url} {request.failure}")

    def _on_request(self, request: Request, address: str) -> None:
        if not request.url.startswith(address):
            self.faults.append(f"left the machine: {request.url}")


@contextmanager
def running(collection: Path, store: Path) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    subjects = store.with_name("subjects.csv")
    subjects.write_text(
        "item,label,description,wikis\nQ11,Vera of Chess,chess grandmaster,12\nQ12,Pawns of Lima,chess club,3\n"
    )
    settings = WebSettings(
        store=store,
        subjects=subjects,
        reads_per_second=1e6,
        writes_per_second=1e6,
        relevance_floor=0.0,
        has_admin_link=True,
    )
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = create_app(collection, settings)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.02)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        ADMIN_LINKS[address] = f"{address}/admin/{admin_key(app.state.current.store)}"
        yield address
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browser")
    with running(shared_generated(tmp_path_factory).path, folder / "desk.sqlite") as address:
        yield address


@pytest.fixture(scope="session")
def admin_link(address: str) -> str:
    """The secret link to the administration page."""
    return ADMIN_LINKS[address]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).is_file():
        pytest.skip("needs Chromium (apt-get install chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens a page of a fresh visitor at a size and colour scheme, with or without script."""
    contexts: list[BrowserContext] = []
    watched = Watched()

    def make(size: str = "desktop", scheme: str = "light", has_script: bool = True) -> Page:
        width, height = SIZES[size]
        context = browser.new_context(
            base_url=address,
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=has_script,
        )
        context.set_default_timeout(WAIT)
        watched.watch(context, address)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()
    assert watched.faults == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.is_file():
        pytest.skip(
            f"needs axe-core: npm install --no-save --prefix build/axe axe-core@4 (or AXE_CORE=…), not at {AXE}"
        )
    return AXE.read_text("utf-8")
