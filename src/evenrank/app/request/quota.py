"""How much lists and searches may take in the store: each of them, those of an owner, those of a network in an hour.

A cookie is made in no time, so what browsers keep counts for the network they come from, too.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.app.middleware.limits import Buckets
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.app.request.visitor import network_of
from evenrank.app.state import state_of
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.app.storage.store import check_collection

MAX_BYTES = 1 << 20
"""Of one list or search: about 25,000 titles that were brought."""
MAX_OWNED_BYTES = 64 << 20
"""Of the questions of one owner."""
HOUR = 3600.0
FULL = Message(
    "What you keep takes too much room. Remove lists or searches that you no longer need, or try again later."
)


def hourly_bytes(n_bytes: float) -> Buckets:
    """Room that networks may take in an hour, for all workers."""
    return Buckets(n_bytes / HOUR, burst_seconds=HOUR)


def check_room(request: Request, made: SavedRequest, owner: str) -> None:
    """Nothing when there is room for a new list or search; 400 or 429, with the reason, when there is not.

    503 where the store has become that of another collection.
    """
    state = state_of(request)
    check_collection(state.store, state.collection)
    size = made.size_bytes
    if size > MAX_BYTES:
        text = "This takes %(n)s kB; at most %(most)s kB are kept. Bring fewer or shorter lists of articles."
        raise BadRequestError(Message(text, n=size // 1024, most=MAX_BYTES // 1024))
    if owned_bytes(request, made, owner) + size > MAX_OWNED_BYTES:
        raise BadRequestError(FULL)
    room: Buckets = request.app.state.room
    if wait := room.wait_seconds(network_of(request), size):
        raise HTTPException(429, FULL, {"Retry-After": str(int(wait) + 1)})


def owned_bytes(request: Request, made: SavedRequest, owner: str) -> int:
    """What the questions of an owner take; the rest of what is stored is bounded by the number of lists."""
    query = f"SELECT coalesce(sum(length(question)), 0) FROM {made.table} WHERE owner = ?"
    return int(state_of(request).store.connection.execute(query, (owner,)).fetchone()[0])
