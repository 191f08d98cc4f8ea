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

from evenrank.web.api.endpoints import routes as api
from evenrank.web.assess.judge_pages import routes as judge
from evenrank.web.assess.judging import open_judging
from evenrank.web.assess.organise_pages import routes as organise
from evenrank.web.assess.people_pages import routes as people
from evenrank.web.desk import Desk, open_desk
from evenrank.web.lists.example import prepare_example
from evenrank.web.lists.pages import routes as lists
from evenrank.web.lists.publish_pages import routes as publish
from evenrank.web.lists.work_pages import routes as work
from evenrank.web.middleware.access_log import AccessLog, RequestCounts
from evenrank.web.middleware.csrf import RefuseForeignForms
from evenrank.web.middleware.headers import SecurityHeaders
from evenrank.web.middleware.hosts import KnownHosts, PathPrefix, host_name
from evenrank.web.middleware.limits import Buckets, LimitBodies, LimitRates
from evenrank.web.middleware.slashes import WithoutSlash
from evenrank.web.pages.admin import keep_retention
from evenrank.web.pages.admin import routes as admin
from evenrank.web.pages.errors import HANDLERS, AnswerFailures
from evenrank.web.pages.home import routes as home
from evenrank.web.pages.manage import routes as manage
from evenrank.web.pages.monitoring import routes as monitoring
from evenrank.web.reload import follow_collection
from evenrank.web.searches.pages import routes as searches
from evenrank.web.settings import WebSettings
from evenrank.web.signin.pages import RecognizePerson
from evenrank.web.signin.pages import routes as signin

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

    static = Mount("/static", KeptFiles(directory=str(files("evenrank.web").joinpath("static"))))
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
