"""The app: areas of pages behind one row of guards. It reloads a collection that was imported or indexed again."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import math
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import urlsplit

from anyio import to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.types import Receive, Scope, Send

from evenrank.app.api.document import routes as api_guide
from evenrank.app.api.endpoints import routes as api
from evenrank.app.articles.article import open_facts, save_facts
from evenrank.app.assess.judge_pages import routes as judge
from evenrank.app.assess.judging import open_judging
from evenrank.app.assess.organise_pages import routes as organise
from evenrank.app.assess.people_pages import routes as people
from evenrank.app.assess.score_pages import routes as scores
from evenrank.app.lists.pages import routes as lists
from evenrank.app.lists.red_links import routes as red_links
from evenrank.app.lists.wiki_counts import routes as wiki_counts
from evenrank.app.lists.work_pages import routes as work
from evenrank.app.middleware.guards import (
    SAFE_METHODS,
    KnownHosts,
    PathPrefix,
    RefuseForeignForms,
    SecurityHeaders,
    WithoutSlash,
    host_name,
)
from evenrank.app.middleware.limits import AccessLog, Buckets, LimitBodies, LimitRates, RequestCounts
from evenrank.app.pages.admin import remove_expired_regularly
from evenrank.app.pages.admin import routes as admin
from evenrank.app.pages.corrections import routes as corrections
from evenrank.app.pages.errors import HANDLERS, AnswerFailures
from evenrank.app.pages.home import example_of, prepare_lists
from evenrank.app.pages.home import routes as home
from evenrank.app.pages.manage import routes as manage
from evenrank.app.pages.monitoring import Readiness
from evenrank.app.pages.monitoring import routes as monitoring
from evenrank.app.pages.sign_in import RecognizePerson
from evenrank.app.pages.sign_in import routes as signin
from evenrank.app.request.access import undeclared
from evenrank.app.request.capacity import Capacity
from evenrank.app.request.quota import hourly_bytes
from evenrank.app.searches.pages import routes as searches
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_collection, open_state
from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.engines import open_index
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import FILE_NAME as MANIFEST

AREAS: tuple[Callable[[], Sequence[BaseRoute]], ...] = (
    home,
    monitoring,
    manage,
    lists,
    work,
    corrections,
    wiki_counts,
    red_links,
    searches,
    api_guide,
    api,
    judge,
    organise,
    scores,
    people,
    signin,
    admin,
)
"""The visible list of areas: each gives its routes. A new one is a folder and one line here."""
LONG_REQUEST_SECONDS = 60.0
"""After new data, how long a request may still use the old data, whose files are closed then."""
MAX_RETRY_SECONDS = 60.0
"""Longest wait before a collection that could not be opened is tried again."""
N_THREADS = 8
"""Requests that are answered at once, besides those that have threads of their own. Only one thread computes at a
time: with more of them, each request takes longer, and `/healthz` waits for all."""
LOG = logging.getLogger("evenrank.app")


class StaticFiles:
    """The static files of the package, from memory: no thread is needed, so they are answered however many are busy.

    Browsers may cache them indefinitely, because their address changes with their content.
    """

    def __init__(self, folder: Traversable) -> None:
        self.files = {file.name: file.read_bytes() for file in folder.iterdir()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"].removeprefix(f"{scope['root_path']}/")
        if name not in self.files:
            raise HTTPException(404)
        if scope["method"] not in SAFE_METHODS:
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        content = self.files[name]
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"'}
        if b"v=" in scope["query_string"]:
            headers["Cache-Control"] = "public, max-age=31536000, immutable"
        is_known = headers["ETag"] in Headers(scope=scope).get("if-none-match", "")
        answer = Response(status_code=304, headers=headers) if is_known else Response(content, 200, headers)
        answer.headers["Content-Type"] = guess_type(name)[0] or "text/plain"
        await answer(scope, receive, send)


@dataclass(frozen=True)
class Shared:
    """What all workers of a server share; made before they are forked."""

    counts: RequestCounts
    reads: Buckets
    writes: Buckets
    room: Buckets


def share_between_workers(settings: WebSettings) -> Shared:
    """Counts of requests, and limits that hold over all workers."""
    reads, writes = Buckets(settings.reads_per_second), Buckets(settings.writes_per_second)
    return Shared(RequestCounts(), reads, writes, hourly_bytes(settings.bytes_per_hour))


def create_app(
    collection_path: str | os.PathLike[str], settings: WebSettings | None = None, shared: Shared | None = None
) -> Starlette:
    """The app on a collection, ready for any ASGI server."""
    return make_app(open_state(Path(collection_path), settings or WebSettings()), shared)


def make_app(state: AppState, shared: Shared | None = None) -> Starlette:
    """The app on an open state, which it closes at the end; it follows new imports and indexes of its collection."""
    shared = shared or share_between_workers(state.settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = N_THREADS
        tasks = [
            asyncio.create_task(follow(app)) for follow in (follow_collection, remove_expired_regularly, prepare_lists)
        ]
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if app.state.judging is not None:
            app.state.judging.close()
        app.state.current.close()

    static = Mount("/static", StaticFiles(files("evenrank.app").joinpath("static")))
    routes = [*(route for area in AREAS for route in area()), static]
    if missing := undeclared(routes):
        raise RuntimeError(f"no table in request/access.py says who may ask: {', '.join(missing)}")
    app = Starlette(
        routes=routes,
        middleware=guards(state, shared),
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would name the host that the request named
    app.router.default = WithoutSlash(app.router)
    app.state.current = state
    app.state.judging = open_judging(state)
    app.state.counts = shared.counts
    app.state.room = shared.room
    app.state.readiness = Readiness()
    app.state.capacity = Capacity(state.settings.n_expensive, state.settings.n_waiting)
    return app


def guards(state: AppState, shared: Shared) -> list[Middleware]:
    """What every request passes, outermost first."""
    settings = state.settings
    return [
        Middleware(PathPrefix, urlsplit(settings.public_url).path),
        Middleware(AccessLog, shared.counts),
        Middleware(SecurityHeaders),
        Middleware(KnownHosts, (*settings.allowed_hosts, host_name(state.public_host)), settings.allows_addresses),
        Middleware(LimitRates, shared.reads, shared.writes),
        Middleware(LimitBodies, settings.max_body_bytes),
        Middleware(RefuseForeignForms, state.public_host),
        Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4),
        Middleware(AnswerFailures),
        Middleware(RecognizePerson),
    ]


def collection_mark(folder: Path) -> tuple[int, int, int] | None:
    """Identifies a version of a collection, data and index, by its manifest, which is replaced and never changed."""
    try:
        found = (folder / MANIFEST).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


async def follow_collection(app: Starlette) -> None:
    """Reopen the collection whenever it has changed and then stayed the same from one check to the next.

    What cannot be opened is tried again after growing waits: a cluster or a database that is away may come back.
    """
    seconds, folder = app.state.current.settings.reload_seconds, app.state.current.collection.path
    if not seconds:
        return
    served = seen = failed = collection_mark(folder)
    n_failures, next_try, collect_at = 0, 0.0, math.inf
    while True:
        await asyncio.sleep(seconds)
        if time.monotonic() >= collect_at:
            await run_in_threadpool(gc.collect)
            collect_at = math.inf
        found = collection_mark(folder)
        is_settled, seen = found == seen, found
        if found == served or not is_settled or (found == failed and time.monotonic() < next_try):
            continue
        n_failures = n_failures + 1 if found == failed else 1
        failed, next_try = found, time.monotonic() + min(MAX_RETRY_SECONDS, seconds * 2.0 ** min(n_failures, 10))
        try:
            await run_in_threadpool(reload, app)
            served, collect_at = found, time.monotonic() + LONG_REQUEST_SECONDS
        except EvenrankError as error:
            LOG.warning("the collection has changed but cannot be used yet: %s", error)
        except Exception:
            LOG.exception("the collection has changed but could not be opened")


def reload(app: Starlette) -> None:
    """Replace the collection that is served with the one on disk; requests in progress keep theirs."""
    old: AppState = app.state.current
    collection = Collection.open(old.collection.path)
    open_index(collection).close()  # raises before anything is given up
    fresh = open_collection(collection, old.settings, old.store)
    fresh.learned()  # while the old data are still served
    judging = app.state.judging
    earlier = (old.collection, old.facts)
    save_facts(fresh.collection, fresh.settings.max_counted, 1, fresh.settings.facts_folder, earlier)
    fresh = replace(fresh, facts=open_facts(fresh.collection, fresh.settings.facts_folder))
    example_of(fresh)
    app.state.current = fresh
    if judging is not None:
        app.state.judging = judging.renewed(fresh)
    del old, judging, earlier
    gc.collect()  # closes what is open of the old data, unless a request still uses it
    LOG.info("now serving %s articles; data: %s", f"{len(fresh.collection):,}", fresh.age.text)
