"""Addresses of the app's own pages: below the path under which the app is served."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse


def root_of(request: Request) -> str:
    """The path under which the app is served, without a slash at the end; empty for a server of its own."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def own(request: Request, path: str) -> str:
    """A path of the app as browsers must ask for it."""
    return root_of(request) + path


def see_other(request: Request, path: str) -> RedirectResponse:
    """Go to a path of the app, with GET."""
    return RedirectResponse(own(request, path), 303)
