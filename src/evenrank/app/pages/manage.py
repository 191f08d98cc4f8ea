"""Things one owns: all of them, searchable; rename, copy, archive, delete, share."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.lists.listing import find_list
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.pages.templating import page
from evenrank.app.request.access import links_to, role_of, saved_page
from evenrank.app.request.budget import MAX_TITLE
from evenrank.app.request.forms import Fields, clean_text, with_form
from evenrank.app.request.visitor import person_of, see_other, visitor_of
from evenrank.app.searches.draws import find_search
from evenrank.app.state import state_of
from evenrank.app.storage.saved_request import SavedRequest, delete_request
from evenrank.app.storage.shares import PREFIX, ShareRole, change_saved, find_owned, share_with, shares_of
from evenrank.app.storage.store import now

MAX_PERSON = 255


def show_mine(request: Request) -> Response:
    """All lists and searches of the visitor."""
    words = clean_text(request.query_params.get("q", ""))[:100]
    entries = find_owned(state_of(request).store, visitor_of(request), words)
    return page(
        request,
        "mine.html",
        entries=[entry for entry in entries if not entry.archived],
        archived=[entry for entry in entries if entry.archived],
        words=words,
    )


def to_mine(request: Request) -> Response:
    """Where the lists are shown: an address without the name of a list is one that people type or shorten."""
    return see_other(request, "/mine")


def requested_thing(request: Request) -> SavedRequest:
    """The list or search that the address names."""
    is_list = request.path_params["area"] == "lists"
    return find_list(request) if is_list else find_search(request)


def show_manage(request: Request, fault: str = "") -> Response:
    """The page on which an owner changes what a list or search is called and who may see it; `fault` says what was
    wrong with what was sent."""
    saved = requested_thing(request)
    state = state_of(request)
    return saved_page(
        request,
        saved,
        "manage.html",
        400 if fault else 200,
        fault=fault,
        saved=saved,
        area=saved.area,
        shares=[(person.removeprefix(PREFIX), role) for person, role in shares_of(state.store, saved)],
        has_sign_in=person_of(request) is not None,
        **links_to(request, saved),
    )


def manage(request: Request, fields: Fields) -> Response:
    """Does what the owner asked for; deleting and sharing are for the owner alone."""
    saved, store = requested_thing(request), state_of(request).store
    action = fields.get("action", "")
    is_owner = role_of(request, saved) == "owner"
    if action in ("delete", "share", "unshare", "private", "public") and not is_owner:
        raise HTTPException(403, "Only the owner may do this.")
    if action == "rename":
        change_saved(store, saved, "name", clean_text(fields.get("name", ""))[:MAX_TITLE] or None)
    elif action in ("archive", "restore"):
        change_saved(store, saved, "archived", now() if action == "archive" else None)
    elif action in ("private", "public"):
        change_saved(store, saved, "is_private", int(action == "private"))
    elif action in ("share", "unshare"):
        share_with(store, saved, parse_person(fields), _role(fields) if action == "share" else None)
    elif action == "delete":
        if fields.get("sure") != "yes":
            return show_manage(
                request, Message("Nothing was deleted. Tick the box to say that it may be deleted for ever.")
            )
        delete_request(store, saved.table, saved.shared_number)
        return see_other(request, "/mine")
    else:
        raise BadRequestError("The form could not be read.")
    return see_other(request, "/mine" if action in ("archive", "restore") else f"{saved.path}/manage")


def parse_person(fields: Fields) -> str:
    """The key of the person whose name the form has."""
    name = clean_text(fields.get("person", "")).replace("_", " ")
    if not name or len(name) > MAX_PERSON:
        raise BadRequestError("Give the name of an account.")
    return f"{PREFIX}{name[:1].upper()}{name[1:]}"


def _role(fields: Fields) -> ShareRole:
    return "editor" if fields.get("role") == "editor" else "reader"


def routes() -> list[BaseRoute]:
    start = "/{area:area}/{token:token}/manage"
    return [
        Route("/mine", show_mine),
        Route("/{area:area}", to_mine, methods=["GET"]),
        Route(start, show_manage),
        Route(start, with_form(manage), methods=["POST"]),
    ]
