"""What an address names, and what the visitor may do with it: read, work on it, or change what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.app.desk import desk_of
from evenrank.app.request.visitor import visitor_of
from evenrank.app.storage.kept import Kept
from evenrank.app.storage.shares import role_in
from evenrank.database.database import Database

Role = Literal["owner", "editor", "worker", "reader", ""]
"""Owner; somebody it is shared with; whoever has the link; whoever has the link that can only read; nobody."""
K = TypeVar("K", bound=Kept)


def requested(load: Callable[[Database, str], K | None], request: Request) -> K:
    """What the token in the address names; 404 when there is none, or when it is another's private one."""
    kept = load(desk_of(request).store, request.path_params["token"])
    if kept is None or not role_of(request, kept):
        raise HTTPException(404)
    return kept


def role_of(request: Request, kept: Kept) -> Role:
    """What the visitor is to a list or search."""
    visitor = visitor_of(request)
    if kept.owner == visitor and not kept.is_read_only:
        return "owner"
    shared = role_in(desk_of(request).store, kept, visitor)
    if shared == "editor" and not kept.is_read_only:
        return "editor"
    if kept.is_private:
        return "reader" if shared or kept.owner == visitor else ""
    return "reader" if kept.is_read_only else "worker"


def refuse_readers(request: Request, kept: Kept) -> None:
    """An error when the visitor may only read."""
    if role_of(request, kept) == "reader":
        raise HTTPException(403, "This link can only read. Ask the owner for the link that lets you work on it.")


def refuse_others(request: Request, kept: Kept) -> None:
    """An error when the visitor is neither the owner nor an editor."""
    if role_of(request, kept) not in ("owner", "editor"):
        raise HTTPException(403, "Only the owner, and editors the owner named, may do this.")
