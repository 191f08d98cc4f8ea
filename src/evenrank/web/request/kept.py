"""What an address names: a list, a search, loaded from the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.sqlite import SqliteFile
from evenrank.web.desk import desk_of

T = TypeVar("T")


def requested(load: Callable[[SqliteFile, str], T | None], request: Request) -> T:
    """What the token in the address names; 404 when there is none."""
    kept = load(desk_of(request).store, request.path_params["token"])
    if kept is None:
        raise HTTPException(404)
    return kept
