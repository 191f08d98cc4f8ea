"""The app: areas of pages behind one row of guards."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from evenrank.web.areas import AREAS
from evenrank.web.assess.judging import open_judging
from evenrank.web.desk import Desk, open_desk
from evenrank.web.middleware.access_log import AccessLog
from evenrank.web.middleware.csrf import RefuseForeignForms
from evenrank.web.middleware.headers import SecurityHeaders
from evenrank.web.middleware.limits import LimitBodies, LimitRates
from evenrank.web.pages.errors import HANDLERS, AnswerFailures
from evenrank.web.settings import WebSettings


class KeptFiles(StaticFiles):
    """Static files that browsers may keep for ever, because their address changes with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code == 200 and b"v=" in scope["query_string"]:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def create_app(collection_path: str | os.PathLike[str], settings: WebSettings | None = None) -> Starlette:
    """The app on a collection, ready for any ASGI server."""
    return app_of(open_desk(Path(collection_path), settings or WebSettings()))


def app_of(desk: Desk) -> Starlette:
    """The app on an open desk, which it closes at the end."""
    judging = open_judging(desk)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if judging is not None:
            judging.close()
        desk.close()

    static = Mount("/static", KeptFiles(directory=str(files("evenrank.web").joinpath("static"))))
    app = Starlette(
        routes=[*(route for area in AREAS for route in area()), static],
        middleware=guards(desk),
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.desk = desk
    app.state.judging = judging
    return app


def guards(desk: Desk) -> list[Middleware]:
    """What every request passes, outermost first."""
    settings = desk.settings
    hosts = [*settings.allowed_hosts, *filter(None, [desk.public_host.rpartition(":")[0] or desk.public_host])]
    return [
        Middleware(AccessLog),
        Middleware(SecurityHeaders),
        Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        Middleware(LimitRates, settings.reads_per_second, settings.writes_per_second),
        Middleware(LimitBodies, settings.max_body_bytes),
        Middleware(RefuseForeignForms, desk.public_host),
        Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4),
        Middleware(AnswerFailures),
    ]
