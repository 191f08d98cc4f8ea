"""Who is asking: a person who signed in, else a random name in a cookie, so that a browser finds its lists again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from evenrank.app.request.address import root_of
from evenrank.app.storage.store import new_token

COOKIE = "desk"
YEAR = 365 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")


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
