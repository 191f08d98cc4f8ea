"""Signing in and out. The way to the provider is a link, because our forms may lead to our own site only."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import threading
import time

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from evenrank.app.desk import Desk, desk_of
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.address import own, root_of
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.visitor import cookie_of
from evenrank.app.signin.provider import OAuthTokens, Provider
from evenrank.app.signin.sessions import LIFETIME, end_session, find_person, keep_tokens, start_session, tokens_of
from evenrank.wikipedia.mediawiki.settings import WikiError

LOG = logging.getLogger("evenrank.app")
COOKIE = "session"
PENDING = "signing-in"
"""Cookie of a sign-in under way: a random state, and where to go afterwards."""
PENDING_SECONDS = 600
MOST_AT_ONCE = 8
"""Sign-ins that may wait for the provider at the same time: a slow one must not hold every thread of the server."""
WAIT_SECONDS = 2.0
_PLACES = threading.BoundedSemaphore(MOST_AT_ONCE)


class RecognizePerson:
    """Tells requests who signed in: `request.state.person`, for `person_of`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            cookie = request.cookies.get(COOKIE, "")
            desk: Desk = scope["app"].state.desk
            if cookie and desk.settings.sign_in is not None:
                request.state.person = await run_in_threadpool(find_person, desk.store, cookie)
        await self.app(scope, receive, send)


def sign_in(request: Request) -> Response:
    """Sends the browser to the provider."""
    desk, provider = desk_of(request), _provider(request)
    state = _new_state(desk)
    target = provider.authorize_url(state, _verifier(desk, state), _return_address(request))
    response = RedirectResponse(target, 303)
    back = local_path(request.query_params.get("back", ""), root_of(request))
    _set(request, response, PENDING, f"{state}|{back}", PENDING_SECONDS)
    return response


def finish_sign_in(request: Request) -> Response:
    """Takes the provider's answer, for the browser that asked for it only."""
    desk, provider = desk_of(request), _provider(request)
    state, _, back = request.cookies.get(PENDING, "").partition("|")
    is_same = hmac.compare_digest(state.encode(), request.query_params.get("state", "").encode())
    if not is_same or not _is_own_state(desk, state):
        raise BadRequestError("This sign-in was not started in this browser, or took too long. Please try again.")
    if "code" not in request.query_params:
        raise BadRequestError("You did not sign in: the wiki was not allowed to tell us your account.")
    if not _PLACES.acquire(timeout=WAIT_SECONDS):
        raise HTTPException(503, headers={"Retry-After": "5"})
    try:
        tokens = provider.exchange(request.query_params["code"], _verifier(desk, state), _return_address(request))
        name = provider.name_of(tokens)
    except WikiError as error:
        LOG.warning("sign-in failed: %s", error)
        raise BadRequestError(Message("Sign-in failed: %(reason)s.", reason=error)) from error
    finally:
        _PLACES.release()
    cookie = start_session(desk.store, name, tokens, cookie_of(request))
    response = RedirectResponse(local_path(back, root_of(request)), 303)
    _set(request, response, COOKIE, cookie, int(LIFETIME.total_seconds()))
    response.delete_cookie(PENDING, path=f"{root_of(request)}/")
    return response


def sign_out(request: Request, _: Fields) -> Response:
    """Ends the session of this browser."""
    cookie = request.cookies.get(COOKIE, "")
    if cookie:
        end_session(desk_of(request).store, cookie)
    response = RedirectResponse(own(request, "/"), 303)
    response.delete_cookie(COOKIE, path=f"{root_of(request)}/")
    return response


def access_token(request: Request) -> str | None:
    """The token with which the person who asks may edit the wiki, renewed if it has ended; None without a sign-in."""
    desk, cookie = desk_of(request), request.cookies.get(COOKIE, "")
    tokens: OAuthTokens | None = tokens_of(desk.store, cookie) if cookie and desk.settings.sign_in else None
    if tokens is not None and tokens.is_stale:
        tokens = _provider(request).renew(tokens)
        keep_tokens(desk.store, cookie, tokens)
    return tokens.access if tokens else None


def local_path(path: str, root: str) -> str:
    """A path of this app; its first page for anything that could lead elsewhere."""
    is_local = path.startswith(f"{root}/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_local and path.isascii() else f"{root}/"


def _provider(request: Request) -> Provider:
    settings = desk_of(request).settings.sign_in
    if settings is None:
        raise HTTPException(404, "This server has no sign-in.")
    return Provider(settings)


def _new_state(desk: Desk) -> str:
    """A random state with its time and a seal: only states of our own make the server ask the provider."""
    begun = f"{secrets.token_urlsafe(24)}.{int(time.time())}"
    return f"{begun}.{_seal(desk, begun)}"


def _is_own_state(desk: Desk, state: str) -> bool:
    """Whether this server made a state, not long ago."""
    begun, _, sealed = state.rpartition(".")
    if not begun or not hmac.compare_digest(sealed.encode(), _seal(desk, begun).encode()):
        return False
    return 0 <= time.time() - int(begun.rpartition(".")[2]) <= PENDING_SECONDS


def _seal(desk: Desk, begun: str) -> str:
    return hmac.new(desk.secret.encode(), f"state {begun}".encode(), hashlib.sha256).hexdigest()[:32]


def _verifier(desk: Desk, state: str) -> str:
    """The PKCE verifier of a state; only the server can work it out, so it need not be kept anywhere."""
    return hmac.new(desk.secret.encode(), f"verifier {state}".encode(), hashlib.sha256).hexdigest()


def _return_address(request: Request) -> str:
    return f"{desk_of(request).base_url(request)}/sign-in/return"


def _set(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=f"{root_of(request)}/",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https" or desk_of(request).settings.public_url.startswith("https:"),
    )


def routes() -> list[BaseRoute]:
    return [
        Route("/sign-in", sign_in),
        Route("/sign-in/return", finish_sign_in),
        Route("/sign-out", with_form(sign_out), methods=["POST"]),
    ]
