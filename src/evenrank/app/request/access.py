"""Who may do what with a list or search: one table of routes with the least role that each asks for.

Pages and the JSON interface get lists and searches from `find_requested` alone, which reads the table. What it gives to
a reader has no token but that of the reading link, so that no answer can carry a stronger one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.visitor import own, visitor_of
from evenrank.app.state import state_of
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.app.storage.shares import role_in
from evenrank.database.database import Database

Role = Literal["owner", "editor", "worker", "reader", ""]
"""Owner; somebody it is shared with; whoever has the link; whoever has the link that can only read; nobody."""
RANKS: tuple[Role, ...] = ("", "reader", "worker", "editor", "owner")
"""Roles, each of which may do all that those before it may do."""
LEAST_ROLES: Mapping[str, Mapping[str, Role]] = {
    "/lists/{token:token}": {"GET": "reader"},
    "/lists/{token:token}.{suffix}": {"GET": "reader"},
    "/lists/{token:token}/again": {"POST": "reader"},
    "/lists/{token:token}/campaign": {"GET": "reader"},
    "/lists/{token:token}/changes": {"GET": "reader"},
    "/lists/{token:token}/fairness": {"GET": "reader"},
    "/lists/{token:token}/marks": {"POST": "worker"},
    "/lists/{token:token}/missing": {"GET": "reader"},
    "/lists/{token:token}/publish": {"GET": "editor", "POST": "editor"},
    "/lists/{token:token}/refresh": {"GET": "reader", "POST": "editor"},
    "/lists/{token:token}/trade-off": {"GET": "reader"},
    "/searches/{token:token}": {"GET": "reader"},
    "/searches/{token:token}/draws": {"POST": "worker"},
    "/searches/{token:token}/draws/{number:number}": {"GET": "reader"},
    "/searches/{token:token}/draws/{number:number}.{suffix}": {"GET": "reader"},
    "/searches/{token:token}/marks": {"POST": "worker"},
    "/{area:area}/{token:token}/manage": {"GET": "editor", "POST": "editor"},
    "/api/lists/{token:token}": {"GET": "reader"},
    "/api/lists/{token:token}/fairness": {"GET": "reader"},
    "/api/lists/{token:token}/trade-off": {"GET": "reader"},
    "/api/searches/{token:token}": {"GET": "reader"},
    "/api/searches/{token:token}/draws": {"POST": "worker"},
    "/api/searches/{token:token}/draws/{number:number}": {"GET": "reader"},
    "/api/searches/{token:token}/marks": {"POST": "worker"},
}
"""Of every route that names a list or search, the least role by method. `again` makes a list of the visitor's own."""
READS_ONLY = Message("This link can only read. Ask the owner for the link that lets you work on it.")
OWNERS_ONLY = Message("Only the owner, and editors the owner named, may do this.")
K = TypeVar("K", bound=SavedRequest)


def find_requested(load: Callable[[Database, str], K | None], request: Request) -> K:
    """What the token in the address names, as the visitor may know it.

    404 when there is none, or when it is another's private one; 403 when the route asks for more than the visitor is.
    """
    saved = load(state_of(request).store, request.path_params["token"])
    role = "" if saved is None else role_of(request, saved)
    if saved is None or not role:
        raise HTTPException(404)
    least = least_role(request)
    if RANKS.index(role) < RANKS.index(least):
        raise HTTPException(403, READS_ONLY if least == "worker" else OWNERS_ONLY)
    return saved.for_reader() if role == "reader" else saved


def least_role(request: Request) -> Role:
    """The least role that the route of a request asks for; KeyError for a route that the table does not have."""
    method = "GET" if request.method == "HEAD" else request.method
    routes = (route for route in request.app.routes if isinstance(route, Route))
    path = next(route.path for route in routes if route.matches(request.scope)[0] is Match.FULL)
    return LEAST_ROLES[path][method]


def saved_page(request: Request, saved: SavedRequest, template: str, status: int = 200, **context: Any) -> Response:
    """A page of a list or search, which it has under its name, with the visitor's role and its address."""
    name = "work_list" if saved.table == "work_list" else "search"
    known = {name: saved, "role": role_of(request, saved), "address": own(request, saved.path)}
    return page(request, template, status, **known, **context)


def role_of(request: Request, saved: SavedRequest) -> Role:
    """What the visitor is to a list or search."""
    visitor = visitor_of(request)
    if saved.owner == visitor and not saved.is_read_only:
        return "owner"
    shared = role_in(state_of(request).store, saved, visitor)
    if shared == "editor" and not saved.is_read_only:
        return "editor"
    if saved.is_private:
        return "reader" if shared or saved.owner == visitor else ""
    return "reader" if saved.is_read_only else "worker"
