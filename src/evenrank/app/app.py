"""The app: areas of pages behind one row of guards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from evenrank.app.api.endpoints import routes as api
from evenrank.app.assess.judge_pages import routes as judge
from evenrank.app.assess.judging import open_judging
from evenrank.app.assess.organise_pages import routes as organise
from evenrank.app.assess.people_pages import routes as people
from evenrank.app.desk import Desk, open_desk
from evenrank.app.lists.example import prepare_example
from evenrank.app.lists.pages import routes as lists
from evenrank.app.lists.publish_pages import routes as publish
from evenrank.app.lists.work_pages import routes as work
from evenrank.app.middleware.access_log import AccessLog, RequestCounts
from evenrank.app.middleware.csrf import RefuseForeignForms
from evenrank.app.middleware.headers import SecurityHeaders
from evenrank.app.middleware.hosts import KnownHosts, PathPrefix, host_name
from evenrank.app.middleware.limits import Buckets, LimitBodies, LimitRates
from evenrank.app.middleware.slashes import WithoutSlash
from evenrank.app.pages.admin import keep_retention
from evenrank.app.pages.admin import routes as admin
from evenrank.app.pages.errors import HANDLERS, AnswerFailures
from evenrank.app.pages.home import routes as home
from evenrank.app.pages.manage import routes as manage
from evenrank.app.pages.monitoring import routes as monitoring
from evenrank.app.reload import follow_collection
from evenrank.app.request.capacity import Capacity
from evenrank.app.searches.pages import routes as searches
from evenrank.app.settings import WebSettings
from evenrank.app.signin.pages import RecognizePerson
from evenrank.app.signin.pages import routes as signin

AREAS: tuple[Callable[[], Sequence[BaseRoute]], ...] = (
    home,
    manage,
    lists,
    work,
    publish,
    searches,
    api,
    judge,
    organise,
    people,
    signin,
    admin,
    monitoring,
)
"""The visible list of areas: each gives its routes. A new one is a folder and one line here."""


class KeptFiles(StaticFiles):
    """Static files that browsers may keep for ever, because their address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200 and b"v=" in scope["query_string"]:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


@dataclass(frozen=True)
class Shared:
    """What all workers of a server share; made before they are forked."""

    counts: RequestCounts
    reads: Buckets
    writes: Buckets


def shared_by_workers(settings: WebSettings) -> Shared:
    """Counts of requests, and limits that hold over all workers."""
    return Shared(RequestCounts(), Buckets(settings.reads_per_second), Buckets(settings.writes_per_second))


def create_app(
    collection_path: str | os.PathLike[str], settings: WebSettings | None = None, shared: Shared | None = None
) -> Starlette:
    """The app on a collection, ready for any ASGI server."""
    return app_of(open_desk(Path(collection_path), settings or WebSettings()), shared)


def app_of(desk: Desk, shared: Shared | None = None) -> Starlette:
    """The app on an open desk, which it closes at the end; it follows new imports and indexes of its collection."""
    shared = shared or shared_by_workers(desk.settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(follow(app)) for follow in (follow_collection, keep_retention, prepare_example)]
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if app.state.judging is not None:
            app.state.judging.close()
        app.state.desk.close()

    static = Mount("/static", KeptFiles(directory=str(files("evenrank.app").joinpath("static"))))
    app = Starlette(
        routes=[*(route for area in AREAS for route in area()), static],
        middleware=guards(desk, shared),
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would name the host that the request named
    app.router.default = WithoutSlash(app.router)
    app.state.desk = desk
    app.state.judging = open_judging(desk)
    app.state.counts = shared.counts
    app.state.capacity = Capacity(desk.settings.n_expensive, desk.settings.n_waiting)
    return app


def guards(desk: Desk, shared: Shared) -> list[Middleware]:
    """What every request passes, outermost first."""
    settings = desk.settings
    return [
        Middleware(PathPrefix, urlsplit(settings.public_url).path),
        Middleware(AccessLog, shared.counts),
        Middleware(SecurityHeaders),
        Middleware(KnownHosts, (*settings.allowed_hosts, host_name(desk.public_host)), settings.allows_addresses),
        Middleware(LimitRates, shared.reads, shared.writes),
        Middleware(LimitBodies, settings.max_body_bytes),
        Middleware(RefuseForeignForms, desk.public_host),
        Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4),
        Middleware(AnswerFailures),
        Middleware(RecognizePerson),
    ]
