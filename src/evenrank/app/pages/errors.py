"""Error pages: what happened and what to do, as a page for people and as JSON for bots."""

from __future__ import annotations

import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from evenrank.app.middleware.limits import TooLargeError, route_name
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.capacity import BusyError
from evenrank.app.request.visitor import root_of
from evenrank.errors import DamagedStoreError, EvenrankError, NoIndexError, StoreUnavailableError
from evenrank.retrieval.engine.protocol import EngineUnavailableError

LOG = logging.getLogger("evenrank.app")
ADVICE = {
    404: Message("Check the address: links to lists and searches are long, and easily cut off when copied."),
    405: Message("This address answers other kinds of requests only."),
    500: Message("The fault is ours. Nothing was lost; please try again."),
    503: Message("The server is busy and stored nothing. Please try again in a few seconds."),
}
AWAY = {
    StoreUnavailableError: Message(
        "The database of this server does not answer right now, and nothing was stored. Please try again in a few "
        "seconds."
    ),
    EngineUnavailableError: Message(
        "The search index of this server does not answer right now, and nothing was stored. Please try again in a few "
        "seconds."
    ),
}
"""What is said where a part of the server is away."""
TOO_LARGE = "Request Entity Too Large"
"""The title for status 413, which Python 3.13 names differently."""
TITLES = (*(HTTPStatus(status).phrase for status in (400, 403, 404, 405, 409, 415, 429, 500, 503)), TOO_LARGE)
"""Titles of error pages, the same on every Python."""
RETRY_SECONDS = "5"
"""When to try again what could not be stored."""


class BadRequestError(Exception):
    """What a visitor filled in cannot be used; the text says why."""

    status_for_bots = 400
    """What the JSON interface answers; pages answer 400."""


def wants_json(request: Request) -> bool:
    """Whether the answer should be data."""
    path = request.url.path.removeprefix(root_of(request))
    return path.startswith("/api/") or path.endswith(".json")


def error_page(request: Request, status: int, detail: str = "", headers: dict[str, str] | None = None) -> Response:
    """The error in the form that the visitor can read."""
    title = TOO_LARGE if status == 413 else HTTPStatus(status).phrase
    text = detail if detail and detail != title else ADVICE.get(status, "")
    if wants_json(request):
        return JSONResponse({"error": title, "detail": text}, status, headers)
    answer = page(request, "error.html", status, title=title, status_code=status, text=text)
    answer.headers.update(headers or {})
    return answer


def on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_page(request, error.status_code, error.detail, dict(error.headers or {}))


def on_bad_request(request: Request, error: Exception) -> Response:
    for_bots = error.status_for_bots if isinstance(error, BadRequestError) else 400
    detail = error.args[0] if error.args and isinstance(error.args[0], str) else str(error)
    return error_page(request, for_bots if wants_json(request) else 400, detail)


def failure(request: Request, error: Exception) -> Response:
    """500; the log names the route, never the address, and it alone has what a damaged file says of itself."""
    LOG.error("%s failed", route_name(request.scope), exc_info=error)
    return error_page(request, 500)


def on_busy(request: Request, error: Exception) -> Response:
    """503: the database or the index is away, or too many ask at once. The visitor learns which, and when to try again;
    only the log says why."""
    LOG.warning("%s: %s", route_name(request.scope), error)
    detail = next((text for kind, text in AWAY.items() if isinstance(error, kind)), "")
    return error_page(request, 503, detail, {"Retry-After": RETRY_SECONDS})


def on_overflow(request: Request, error: Exception) -> Response:
    """400: no store and no array holds a number like that."""
    return error_page(request, 400, Message("A number in the address or in the form is out of range."))


HANDLERS = {
    OverflowError: on_overflow,
    HTTPException: on_http_error,
    BadRequestError: on_bad_request,
    StoreUnavailableError: on_busy,
    EngineUnavailableError: on_busy,
    NoIndexError: on_busy,
    BusyError: on_busy,
    DamagedStoreError: failure,
    EvenrankError: on_bad_request,
}


class AnswerFailures:
    """Answers whatever no handler expected; it runs inside the guards, so that this answer has their headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def send_noting(message: AsgiMessage) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except TooLargeError:
            raise
        except ClientDisconnect:
            return  # nobody is there to be answered
        except Exception as error:
            if has_started or scope["type"] != "http":
                raise
            await failure(Request(scope), error)(scope, receive, send)
