"""Signing in and out. The way to the provider is a link, because our forms may lead to our own site only."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.visitor import cookie_of, own, root_of, set_cookie
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.sessions import (
    LIFETIME,
    OAuthTokens,
    Provider,
    end_session,
    find_person,
    keep_tokens,
    start_session,
    tokens_of,
)
from evenrank.wikipedia.mediawiki.settings import WikiError

LOG = logging.getLogger("evenrank.app")
COOKIE = "session"
PENDING = "signing-in"
"""Cookie of a sign-in under way: a random state, and where to go afterwards."""
PENDING_SECONDS = 600
MOST_AT_ONCE = 8
"""Sign-ins that may wait for the provider at the same time: a slow one must not hold every thread of the server."""
WAIT_SECONDS = 2.0
N_THREADS = 4
"""Threads that look up who signed in."""
_PLACES = threading.BoundedSemaphore(MOST_AT_ONCE)


class RecognizePerson:
    """Tells requests who signed in: `request.state.person`, for `person_of`.

    It has threads of its own: who signed in waits for a turn once, not twice.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._threads = ThreadPoolExecutor(N_THREADS, thread_name_prefix="person")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            cookie = request.cookies.get(COOKIE, "")
            state: AppState = scope["app"].state.current
            if cookie and state.settings.sign_in is not None:
                loop = asyncio.get_running_loop()
                request.state.person = await loop.run_in_executor(self._threads, find_person, state.store, cookie)
        await self.app(scope, receive, send)


def sign_in(request: Request) -> Response:
    """Sends the browser to the provider."""
    state, provider = state_of(request), _provider(request)
    oauth_state = _new_oauth_state(state)
    target = provider.authorize_url(oauth_state, _verifier(state, oauth_state), _return_address(request))
    response = RedirectResponse(target, 303)
    back = local_path(request.query_params.get("back", ""), root_of(request))
    _set(request, response, PENDING, f"{oauth_state}|{back}", PENDING_SECONDS)
    return response


def finish_sign_in(request: Request) -> Response:
    """Takes the provider's answer, for the browser that asked for it only."""
    state, provider = state_of(request), _provider(request)
    oauth_state, _, back = request.cookies.get(PENDING, "").partition("|")
    is_same = hmac.compare_digest(oauth_state.encode(), request.query_params.get("state", "").encode())
    if not is_same or not _is_own_oauth_state(state, oauth_state):
        raise BadRequestError("This sign-in was not started in this browser, or took too long. Please try again.")
    if "code" not in request.query_params:
        raise BadRequestError("You did not sign in: the wiki was not allowed to tell us your account.")
    if not _PLACES.acquire(timeout=WAIT_SECONDS):
        raise HTTPException(503, headers={"Retry-After": "5"})
    try:
        tokens = provider.exchange(
            request.query_params["code"], _verifier(state, oauth_state), _return_address(request)
        )
        name = provider.name_of(tokens)
    except WikiError as error:
        LOG.warning("sign-in failed: %s", error)
        raise BadRequestError(Message("Sign-in failed: %(reason)s.", reason=error)) from error
    finally:
        _PLACES.release()
    cookie = start_session(state.store, name, tokens, cookie_of(request))
    response = RedirectResponse(local_path(back, root_of(request)), 303)
    _set(request, response, COOKIE, cookie, int(LIFETIME.total_seconds()))
    response.delete_cookie(PENDING, path=f"{root_of(request)}/")
    return response


def sign_out(request: Request, _: Fields) -> Response:
    """Ends the session of this browser."""
    cookie = request.cookies.get(COOKIE, "")
    if cookie:
        end_session(state_of(request).store, cookie)
    response = RedirectResponse(own(request, "/"), 303)
    response.delete_cookie(COOKIE, path=f"{root_of(request)}/")
    return response


def access_token(request: Request) -> str | None:
    """The token with which the person who asks may edit the wiki, renewed if it has ended; None without a sign-in."""
    state, cookie = state_of(request), request.cookies.get(COOKIE, "")
    tokens: OAuthTokens | None = tokens_of(state.store, cookie) if cookie and state.settings.sign_in else None
    if tokens is not None and tokens.is_stale:
        tokens = _provider(request).renew(tokens)
        keep_tokens(state.store, cookie, tokens)
    return tokens.access if tokens else None


def local_path(path: str, root: str) -> str:
    """A path of this app; its first page for anything that could lead elsewhere."""
    is_local = path.startswith(f"{root}/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_local and path.isascii() else f"{root}/"


def _provider(request: Request) -> Provider:
    settings = state_of(request).settings.sign_in
    if settings is None:
        raise HTTPException(404, "This server has no sign-in.")
    return Provider(settings)


def _new_oauth_state(state: AppState) -> str:
    """A random state with its time and a seal: only states of our own make the server ask the provider."""
    begun = f"{secrets.token_urlsafe(24)}.{int(time.time())}"
    return f"{begun}.{_seal(state, begun)}"


def _is_own_oauth_state(state: AppState, oauth_state: str) -> bool:
    """Whether this server made a state, not long ago."""
    begun, _, sealed = oauth_state.rpartition(".")
    if not begun or not hmac.compare_digest(sealed.encode(), _seal(state, begun).encode()):
        return False
    return 0 <= time.time() - int(begun.rpartition(".")[2]) <= PENDING_SECONDS


def _seal(state: AppState, begun: str) -> str:
    return hmac.new(state.secret.encode(), f"state {begun}".encode(), hashlib.sha256).hexdigest()[:32]


def _verifier(state: AppState, oauth_state: str) -> str:
    """The PKCE verifier of a state; only the server can work it out, so it need not be kept anywhere."""
    return hmac.new(state.secret.encode(), f"verifier {oauth_state}".encode(), hashlib.sha256).hexdigest()


def _return_address(request: Request) -> str:
    return f"{state_of(request).base_url(request)}/sign-in/return"


def _set(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    is_https = request.url.scheme == "https" or state_of(request).settings.public_url.startswith("https:")
    set_cookie(request, response, name, value, seconds, secure=is_https)


def routes() -> list[BaseRoute]:
    return [
        Route("/sign-in", sign_in),
        Route("/sign-in/return", finish_sign_in),
        Route("/sign-out", with_form(sign_out), methods=["POST"]),
    ]
