"""The landing page: what this is, how much there is, and what it cannot do; and the choice of language."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.desk import desk_of
from evenrank.app.lists.example import example_of
from evenrank.app.pages.i18n import COOKIE, LANGUAGES
from evenrank.app.pages.templating import page
from evenrank.app.request.address import see_other
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.visitor import visitor_of
from evenrank.app.storage.shares import found_again

N_RECENT = 5
YEAR = 365 * 24 * 3600


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
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, fields["language"], max_age=YEAR, httponly=True, samesite="lax", secure=secure)
    return response


def routes() -> list[BaseRoute]:
    return [
        Route("/", landing),
        Route("/about", about),
        Route("/language", with_form(choose_language), methods=["POST"]),
    ]
