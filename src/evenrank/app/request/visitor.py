"""Addresses of the app, and who is asking: a person who signed in, else a random name in a cookie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evenrank.app.middleware.limits import network
from evenrank.app.storage.store import new_token

COOKIE = "desk"
YEAR = 365 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")


def root_of(request: Request) -> str:
    """The path under which the app is served, without a slash at the end; empty for a server of its own."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def own(request: Request, path: str) -> str:
    """A path of the app as browsers must ask for it."""
    return root_of(request) + path


def see_other(request: Request, path: str) -> RedirectResponse:
    """Go to a path of the app, with GET."""
    return RedirectResponse(own(request, path), 303)


class TokenConvertor(Convertor[str]):
    """A token in an address; anything that does not look like one is not found."""

    regex = "[A-Za-z0-9_-]{22}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class AreaConvertor(TokenConvertor):
    """Lists or searches, where an address is the same for both."""

    regex = "lists|searches"


class NumberConvertor(Convertor[int]):
    """A number in an address, of no more digits than any of ours has; a longer one is not found."""

    regex = "[0-9]{1,10}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("token", TokenConvertor())


register_url_convertor("number", NumberConvertor())


register_url_convertor("area", AreaConvertor())


def list_path(token: str) -> str:
    return f"/lists/{token}"


def search_path(token: str) -> str:
    return f"/searches/{token}"


def draw_path(token: str, number: int) -> str:
    return f"/searches/{token}/draws/{number}"


@dataclass(frozen=True)
class Person:
    """Somebody who signed in."""

    key: str
    """What identifies the person in the store; it has a colon, which names in cookies do not have."""
    name: str


def person_of(request: Request) -> Person | None:
    """Who signed in; None when nobody did. Sign-in sets it on the request."""
    found = getattr(request.state, "person", None)
    return found if isinstance(found, Person) else None


def visitor_of(request: Request) -> str:
    """The key of who signed in, else the name in the cookie; a new one when there is none. The same for the request."""
    person = person_of(request)
    return person.key if person else cookie_of(request)


def cookie_of(request: Request) -> str:
    """The name in this browser's cookie, signed in or not."""
    known = getattr(request.state, "visitor", None)
    if known is None:
        sent = request.cookies.get(COOKIE, "")
        known = request.state.visitor = sent if _NAME.fullmatch(sent) else new_token()
    return str(known)


def network_of(request: Request) -> str:
    """The network that a request comes from."""
    return network(request.client.host if request.client else "unknown")


def name_of(request: Request) -> str:
    """The name that others see on draws and marks; empty when nobody signed in."""
    person = person_of(request)
    return person.name if person else ""


def remember(request: Request, response: Response) -> Response:
    """The response, with the cookie that names this browser."""
    set_cookie(request, response, COOKIE, cookie_of(request), YEAR)
    return response


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int, **changes: Any) -> None:
    """Give the browser a cookie for the pages of the app, which no script can read."""
    is_secure = request.url.scheme == "https"
    usual = {"path": f"{root_of(request)}/", "httponly": True, "samesite": "lax", "secure": is_secure}
    response.set_cookie(name, value, max_age=seconds, **{**usual, **changes})
