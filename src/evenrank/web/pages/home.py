"""The landing page: what this is, how much there is, and what it cannot do."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.web.desk import desk_of
from evenrank.web.lists.work_list import lists_of
from evenrank.web.pages.templating import page
from evenrank.web.request.visitor import visitor_of
from evenrank.web.searches.saved_search import searches_of


def landing(request: Request) -> Response:
    desk, visitor = desk_of(request), visitor_of(request)
    return page(
        request,
        "home.html",
        numbers=desk.numbers,
        lists=lists_of(desk.store, visitor, 5),
        searches=searches_of(desk.store, visitor, 5),
    )


def about(request: Request) -> Response:
    return page(request, "about.html", numbers=desk_of(request).numbers)


def routes() -> list[BaseRoute]:
    return [Route("/", landing), Route("/about", about)]
