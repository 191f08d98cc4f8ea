"""Who is asking: a random name in a cookie, so that a browser finds its lists again. No account, no person."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from evenrank.web.storage.store import new_token

COOKIE = "desk"
_YEAR = 365 * 24 * 3600
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")


def visitor_of(request: Request) -> str:
    """The name in the cookie; a new one when there is none. The same for the whole request."""
    known = getattr(request.state, "visitor", None)
    if known is None:
        sent = request.cookies.get(COOKIE, "")
        known = request.state.visitor = sent if _NAME.fullmatch(sent) else new_token()
    return str(known)


def remember(request: Request, response: Response) -> Response:
    """The response, with the cookie that names this visitor."""
    response.set_cookie(
        COOKIE,
        visitor_of(request),
        max_age=_YEAR,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response
