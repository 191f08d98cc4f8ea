"""What programs ask a server for: is it well, what has it done, may it be crawled, what is its icon."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.desk import desk_of
from evenrank.app.middleware.access_log import RequestCounts
from evenrank.app.pages.templating import static_url
from evenrank.app.request.address import own
from evenrank.errors import EvenrankError, reason_of

ROBOTS = "User-agent: *\nDisallow: /\n"
"""Links are secrets, so nothing is crawled."""


def health(request: Request) -> Response:
    """200 while the store can be read; 503 with the reason when it cannot."""
    desk = desk_of(request)
    try:
        desk.store.connection.execute("SELECT 1 FROM setting LIMIT 1").fetchone()
    except (EvenrankError, OSError) as error:
        return JSONResponse({"status": "failing", "reason": reason_of(error)}, 503)
    return JSONResponse({"status": "ok", "articles": len(desk.collection), "data": desk.age.text})


def metrics(request: Request) -> Response:
    """Requests so far, for Prometheus."""
    counts: RequestCounts = request.app.state.counts
    text = counts.text(len(desk_of(request).collection))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def robots(_: Request) -> Response:
    return PlainTextResponse(ROBOTS, headers={"Cache-Control": "public, max-age=86400"})


def favicon(request: Request) -> Response:
    """The icon, for programs that ask for it without reading a page."""
    return RedirectResponse(own(request, static_url("icon.svg")), 308, {"Cache-Control": "public, max-age=86400"})


def routes() -> list[BaseRoute]:
    return [
        Route("/healthz", health),
        Route("/metrics", metrics),
        Route("/robots.txt", robots),
        Route("/favicon.ico", favicon),
    ]
