"""Addresses with slashes at the end, which people type and other programs add: they lead to the page without them."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import RedirectResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Receive, Scope, Send


class WithoutSlash:
    """Answers what no route does: leads to a page of the app, where one has this address without the slash.

    Only the path is sent, never a host, and only one that a route has, so it cannot lead to another site.
    """

    def __init__(self, router: Router) -> None:
        self.router, self.not_found = router, router.default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self.not_found
        if scope["type"] == "http" and scope["path"].endswith("/"):
            path = scope["path"].rstrip("/")
            if not path.startswith("//") and self.has(path, scope):
                query = scope["query_string"].decode("latin-1")
                answer = RedirectResponse(quote(path) + (query and f"?{query}"), 308)
        await answer(scope, receive, send)

    def has(self, path: str, scope: Scope) -> bool:
        """Whether a route has this path, for any method: the next request tells whether it has this one."""
        return any(route.matches({**scope, "path": path})[0] is not Match.NONE for route in self.router.routes)
