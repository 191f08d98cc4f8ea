"""The landing page: what this is, how much there is, and what it cannot do."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.web.templating import page


def landing(request: Request) -> Response:
    return page(request, "home.html")


def routes() -> list[BaseRoute]:
    return [Route("/", landing)]
