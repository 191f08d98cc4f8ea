"""The landing page, the choice of language, and what programs ask a server for: health, counts, crawling, an icon."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from evenrank.app.desk import desk_of
from evenrank.app.lists.example import example_of
from evenrank.app.middleware.access_log import RequestCounts
from evenrank.app.pages.i18n import COOKIE, LANGUAGES
from evenrank.app.pages.templating import page, static_url
from evenrank.app.request.address import own, see_other
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.visitor import YEAR, set_cookie, visitor_of
from evenrank.app.storage.shares import found_again
from evenrank.errors import EvenrankError, reason_of

N_RECENT = 5
ROBOTS = "User-agent: *\nDisallow: /\n"
"""Links are secrets, so nothing is crawled."""


def landing(request: Request) -> Response:
    desk = desk_of(request)
    mine = [entry for entry in found_again(desk.store, visitor_of(request), limit=20) if not entry.archived]
    return page(request, "home.html", numbers=desk.numbers, mine=mine[:N_RECENT], example=example_of(desk))


def about(request: Request) -> Response:
    return page(request, "about.html", numbers=desk_of(request).numbers)


def choose_language(request: Request, fields: Fields) -> Response:
    """Remembers a language and goes back to where the visitor was."""
    back = fields.get("back", "/")
    is_own = back.startswith("/") and not back.startswith(("//", "/\\")) and "\n" not in back
    response = see_other(request, back if is_own else "/")
    if fields.get("language") in LANGUAGES:
        set_cookie(request, response, COOKIE, fields["language"], YEAR, path="/")
    return response


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
        Route("/", landing),
        Route("/about", about),
        Route("/language", with_form(choose_language), methods=["POST"]),
        Route("/healthz", health),
        Route("/metrics", metrics),
        Route("/robots.txt", robots),
        Route("/favicon.ico", favicon),
    ]
