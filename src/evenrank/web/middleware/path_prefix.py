"""The app below a path such as /evenrank/, whether or not the proxy in front removes that path."""

from __future__ import annotations

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class PathPrefix:
    """Sets `root_path`, from which pages make their links; an empty prefix changes nothing."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app, self.prefix = app, prefix.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.prefix or scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path == self.prefix:
            await RedirectResponse(f"{self.prefix}/", 308)(scope, receive, send)
            return
        if not path.startswith(f"{self.prefix}/"):
            raw = scope.get("raw_path") or path.encode()
            scope = {**scope, "path": self.prefix + path, "raw_path": self.prefix.encode() + raw}
        await self.app({**scope, "root_path": self.prefix}, receive, send)
