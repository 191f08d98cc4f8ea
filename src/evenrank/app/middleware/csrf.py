"""Refusal of requests that another site makes in a visitor's browser (CSRF)."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RefuseForeignForms:
    """Lets a changing request pass only if it comes from our own pages, or from no browser at all."""

    def __init__(self, app: ASGIApp, public_host: str = "") -> None:
        self.app, self.public_host = app, public_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS or is_own(Headers(scope=scope), self.public_host):
            await self.app(scope, receive, send)
        else:
            answer = PlainTextResponse("This request came from another site, so nothing was changed.\n", 403)
            await answer(scope, receive, send)


def is_own(headers: Headers, public_host: str = "") -> bool:
    """Whether the headers that browsers set, and pages cannot forge, name our own site as the origin."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    return urlsplit(origin).netloc.lower() in {headers.get("host", "").lower(), public_host.lower()} - {""}
