"""Where the app is served: under which host names, and below which path."""

from __future__ import annotations

import ipaddress

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class KnownHosts:
    """Answers only to the names given. Addresses in numbers pass too: no other site's name can lead to them."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...], allows_addresses: bool = False) -> None:
        self.app = app
        self.names = frozenset(name.lower().strip("[]") for name in names) - {""}
        self.allows_addresses = allows_addresses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and not self.knows(host_name(Headers(scope=scope).get("host", ""))):
            text = (
                "This server is not known under that name; its operator can allow it (evenrank serve --allow-host).\n"
            )
            await PlainTextResponse(text, 400)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def knows(self, name: str) -> bool:
        """Whether a name is one of ours."""
        if name in self.names:
            return True
        return self.allows_addresses and is_ip_address(name)


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    name, _, port = header.rpartition(":")
    return (name if name and port.isdecimal() else header).lower()


def is_ip_address(name: str) -> bool:
    """Whether a name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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
