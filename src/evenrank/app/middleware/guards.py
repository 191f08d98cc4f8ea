"""What every request passes before the app: known hosts, the path prefix, security headers, refusal of foreign forms
(CSRF); and the way from addresses with a slash at the end to those without."""

from __future__ import annotations

import ipaddress
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex",
}
"""Links are secrets, so nothing is told to other sites, kept by caches or indexed."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


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


class SecurityHeaders:
    """Adds `HEADERS` to each answer; an answer that says nothing of caching is not stored."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


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
    try:
        named = urlsplit(origin).netloc.lower()
    except ValueError:  # such as http://[
        return False
    return named in {headers.get("host", "").lower(), public_host.lower()} - {""}


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
