"""Who may ask what: tables of all routes, and of those of a list or search the least role that each asks for.

Pages and the JSON interface get lists and searches from `find_requested` alone, which reads the table. What it gives to
a reader has no token but that of the reading link, so that no answer can carry a stronger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route

from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.visitor import own, remember, see_other, visitor_of
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
    "/lists/{token:token}/counts": {"POST": "worker"},
    "/lists/{token:token}/fairness": {"GET": "reader"},
    "/lists/{token:token}/marks": {"POST": "worker"},
    "/lists/{token:token}/missing": {"GET": "reader"},
    "/lists/{token:token}/missing.{suffix}": {"GET": "reader"},
    "/lists/{token:token}/publish": {"GET": "editor", "POST": "editor"},
    "/lists/{token:token}/refresh": {"GET": "reader", "POST": "editor"},
    "/lists/{token:token}/trade-off": {"GET": "reader"},
    "/searches/{token:token}": {"GET": "reader"},
    "/searches/{token:token}/fairness": {"GET": "reader"},
    "/searches/{token:token}/draws": {"POST": "worker"},
    "/searches/{token:token}/draws/{number:number}": {"GET": "reader"},
    "/searches/{token:token}/draws/{number:number}.{suffix}": {"GET": "reader"},
    "/searches/{token:token}/marks": {"POST": "worker"},
    "/{area:area}/{token:token}/corrections": {"GET": "worker", "POST": "worker"},
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
PUBLIC_ROUTES: Mapping[str, Mapping[str, str]] = {
    "/": {"GET": "the landing page; what it lists belongs to the visitor's own cookie or account"},
    "/about": {"GET": "facts about the data"},
    "/language": {"POST": "sets a cookie of the visitor, and nothing else"},
    "/healthz": {"GET": "says only that the process lives"},
    "/readyz": {"GET": "says only which part is away, and the age of the data"},
    "/metrics": {"GET": "counts by route, without addresses and words; a proxy may deny it"},
    "/robots.txt": {"GET": "a constant text"},
    "/favicon.ico": {"GET": "leads to a static file"},
    "/static": {"GET": "files of the package"},
    "/mine": {"GET": "shows what belongs to the visitor's own cookie or account"},
    "/{area:area}": {"GET": "leads to /mine"},
    "/api": {"GET": "the guide to the JSON interface"},
    "/api/openapi.json": {"GET": "its description"},
    "/api/collection": {"GET": "totals of the collection"},
    "/sign-in": {"GET": "leads to the provider of accounts"},
    "/sign-in/return": {"GET": "accepts only a sign-in that this browser began"},
    "/sign-out": {"POST": "ends the visitor's own session"},
    "/lists/new": {"GET": "an empty form; ?from= asks for the role of a reader"},
    "/lists/check": {"POST": "the form again, nothing is stored"},
    "/lists/preview": {
        "GET": "counts of articles that anybody may find",
        "POST": "the same of a form, which is not stored",
    },
    "/lists/goal": {"POST": "totals of groups, nothing is stored"},
    "/lists": {"POST": "makes something that belongs to the visitor, within limits"},
    "/api/lists": {"POST": "makes something that belongs to the network or account, within limits"},
    "/searches/new": {"GET": "an empty form; ?from= asks for the role of a reader"},
    "/searches/check": {"POST": "the form again, nothing is stored"},
    "/searches/preview": {
        "GET": "counts of articles that anybody may find",
        "POST": "the same of a form, which is not stored",
    },
    "/searches/goal": {"POST": "totals of groups, nothing is stored"},
    "/searches": {"POST": "makes something that belongs to the visitor, within limits"},
    "/api/searches": {"POST": "makes something that belongs to the network or account, within limits"},
}
"""Routes that anybody may ask, and by method the reason why that is safe."""
SECRET_ROUTES: Mapping[str, Mapping[str, Literal["assessor", "organiser", "administrator"]]] = {
    "/judge/{secret:secret}": {"GET": "assessor"},
    "/judge/{secret:secret}/next": {"GET": "assessor"},
    "/judge/{secret:secret}/undo": {"POST": "assessor"},
    "/judge/{secret:secret}/{topic:number}": {"GET": "assessor"},
    "/judge/{secret:secret}/{topic:number}/next": {"GET": "assessor"},
    "/judge/{secret:secret}/{topic:number}/{page:number}": {"GET": "assessor", "POST": "assessor"},
    "/judge/{secret:secret}/{topic:number}/{page:number}/remarks": {"POST": "assessor"},
    "/organise/{secret:secret}": {"GET": "organiser"},
    "/organise/{secret:secret}/agreement": {"GET": "organiser"},
    "/organise/{secret:secret}/settle": {"GET": "organiser"},
    "/organise/{secret:secret}/settle/{topic:number}/{page:number}": {"GET": "organiser", "POST": "organiser"},
    "/organise/{secret:secret}/settle/{topic:number}/{page:number}/remarks": {"POST": "organiser"},
    "/organise/{secret:secret}/settle/{topic:number}/{page:number}/reopen": {"POST": "organiser"},
    "/organise/{secret:secret}/settle/{topic:number}/{page:number}/gold": {"POST": "organiser"},
    "/organise/{secret:secret}/undo": {"POST": "organiser"},
    "/organise/{secret:secret}/scores": {"GET": "organiser"},
    "/organise/{secret:secret}/results.zip": {"GET": "organiser"},
    "/organise/{secret:secret}/pages": {"GET": "organiser"},
    "/organise/{secret:secret}/log": {"GET": "organiser"},
    "/organise/{secret:secret}/export/{name}": {"GET": "organiser"},
    "/organise/{secret:secret}/people": {"GET": "organiser"},
    "/organise/{secret:secret}/people/add": {"POST": "organiser"},
    "/organise/{secret:secret}/people/replace": {"POST": "organiser"},
    "/organise/{secret:secret}/people/run": {"POST": "organiser"},
    "/organise/{secret:secret}/people/revoke": {"POST": "organiser"},
    "/organise/{secret:secret}/people/assign": {"POST": "organiser"},
    "/organise/{secret:secret}/people/hand-over": {"POST": "organiser"},
    "/organise/{secret:secret}/people/pool": {"POST": "organiser"},
    "/organise/{secret:secret}/people/reopen": {"POST": "organiser"},
    "/organise/{secret:secret}/people/scale": {"POST": "organiser"},
    "/organise/{secret:secret}/people/topic": {"POST": "organiser"},
    "/organise/{secret:secret}/people/order": {"POST": "organiser"},
    "/admin": {"GET": "administrator", "POST": "administrator"},
    "/admin/{secret:secret}": {"GET": "administrator"},
}
"""Routes of assessors, organisers and whoever runs the server: to everybody else, they do not exist (404)."""
READS_ONLY = Message("This link can only read. Ask the owner for the link that lets you work on it.")
OWNERS_ONLY = Message("Only the owner, and editors the owner named, may do this.")
K = TypeVar("K", bound=SavedRequest)


def undeclared(routes: Iterable[BaseRoute]) -> list[str]:
    """`METHOD path` of routes for which no table says who may ask them, and of what a table has twice."""
    tables: tuple[Mapping[str, Mapping[str, str]], ...] = (LEAST_ROLES, PUBLIC_ROUTES, SECRET_ROUTES)
    found = []
    for route in routes:
        methods = sorted((route.methods or set()) - {"HEAD"}) if isinstance(route, Route) else ["GET"]
        path = route.path if isinstance(route, Route | Mount) else repr(route)
        found += [f"{method} {path}" for method in methods if sum(method in t.get(path, {}) for t in tables) != 1]
    return found


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


def saved_page(request: Request, saved: SavedRequest, template: str, status: int = 200, /, **context: Any) -> Response:
    """A page of a list or search, which it has under its name, with the visitor's role and its address."""
    name = "work_list" if saved.table == "work_list" else "search"
    known = {name: saved, "role": role_of(request, saved), "address": own(request, saved.path)}
    return page(request, template, status, **known, **context)


def links_to(request: Request, saved: SavedRequest, query: str = "") -> dict[str, str]:
    """The links to share: to work on it, and to read it."""
    start, end = f"{state_of(request).base_url(request)}/{saved.area}/", f"?{query}" if query else ""
    return {"full_address": f"{start}{saved.token}{end}", "read_address": f"{start}{saved.reader}{end}"}


def after_mark(
    request: Request,
    saved: SavedRequest,
    page_id: int,
    mark: object,
    place: tuple[str, object],
    back: str,
    *,
    was_undone: bool,
) -> Response:
    """What follows a mark: the buttons of its row, the first of which takes the focus that the swapped ones had; in a
    browser without script, the row again, `back` on its page. `place` is the field that says where that is."""
    if "hx-request" not in request.headers:
        return remember(request, see_other(request, f"{back}#page-{page_id}"))
    shown = {"page_id": page_id, "mark": mark, "place": place, "is_swapped": True, "was_undone": was_undone}
    return remember(request, saved_page(request, saved, "mark.html", **shown))


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
