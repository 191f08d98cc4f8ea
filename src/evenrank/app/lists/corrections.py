"""Regions that people corrected for a list: kept with it, counted in its next version, undone like a mark.

The data stay as they are, for every other list; the right place for a lasting correction is the item on Wikidata.
Only regions can be corrected, never what describes a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.collection_view import group_labels, masks_of_rows, region_dimension
from evenrank.app.lists.listing import find_list
from evenrank.app.lists.work_list import NotInListError, WorkList, corrections_to_apply
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.access import role_of, saved_page
from evenrank.app.request.forms import Fields, clean_text, whole_number, with_form
from evenrank.app.request.visitor import name_of, remember, see_other, visitor_of
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.store import now, upsert
from evenrank.core.groups import Dimension
from evenrank.database.database import Database

MAX_NOTE = 500
"""Characters of a note."""
_SAVE = upsert("correction", ("series", "page_id"), "region", "note", "editor", "name", "created")


@dataclass(frozen=True)
class Correction:
    """What somebody said of the region of an article."""

    page_id: int
    region: str
    """The right region, as the dimension names it; empty when it is not known."""
    note: str
    editor: str
    name: str
    created: str


def load_corrections(store: Database, work_list: WorkList) -> list[Correction]:
    """The corrections of a list, in whatever version they were made, the newest first."""
    query = (
        "SELECT page_id, region, note, editor, name, created FROM correction WHERE series = ? "
        "ORDER BY created DESC, page_id"
    )
    return [Correction(*row) for row in store.connection.execute(query, (work_list.series,)).fetchall()]


def save_correction(store: Database, work_list: WorkList, made: Correction) -> None:
    """Keep a correction, in place of an earlier one of the same article."""
    row = (work_list.series, made.page_id, made.region, made.note, made.editor, made.name, made.created)
    with store.transaction(work_list.turn) as connection:
        connection.execute(_SAVE, row)


def remove_correction(store: Database, work_list: WorkList, page_id: int) -> None:
    """Take a correction back; the next version has the region of the data again."""
    with store.transaction(work_list.turn) as connection:
        connection.execute("DELETE FROM correction WHERE series = ? AND page_id = ?", (work_list.series, page_id))


def show_corrections(request: Request) -> Response:
    """All corrections of a list, and the form for the article that the address names."""
    work_list, named = find_list(request), request.query_params.get("page", "")
    listed = {str(page_id): page_id for page_id in work_list.page_ids.tolist()}
    return _page(request, work_list, listed.get(named))


def correct_region(request: Request, fields: Fields) -> Response:
    """Keeps a correction or takes it back, and goes to all of them."""
    state, work_list = state_of(request), find_list(request)
    dimension, page_id = _dimension(state), whole_number(fields.get("page_id", ""))
    if page_id not in work_list.page_ids:
        raise NotInListError("That article is not in this list.")
    kept = {one.page_id: one for one in load_corrections(state.store, work_list)}.get(page_id)
    visitor = visitor_of(request)
    if kept is not None and kept.editor != visitor and role_of(request, work_list) not in ("owner", "editor"):
        raise BadRequestError("Somebody else corrected that article. The owner of the list can change it.")
    region = fields.get("region", "")
    if fields.get("action") == "undo":
        remove_correction(state.store, work_list, page_id)
    elif region in ("", *dimension.groups[1:]):
        note = clean_text(fields.get("note", ""))[:MAX_NOTE]
        made = Correction(page_id, region, note, visitor, name_of(request), now())
        save_correction(state.store, work_list, made)
    else:
        raise BadRequestError("Choose one of the regions.")
    return remember(request, see_other(request, f"{work_list.path}/corrections"))


def _dimension(state: AppState) -> Dimension:
    dimension = region_dimension(state.collection)
    if dimension is None:
        raise HTTPException(404)
    return dimension


def _page(request: Request, work_list: WorkList, page_id: int | None) -> Response:
    state = state_of(request)
    dimension = _dimension(state)
    made = load_corrections(state.store, work_list)
    pages = [one.page_id for one in made] + ([] if page_id is None else [page_id])
    titles = dict(zip(pages, state.collection.titles_of(pages), strict=True))
    labels = dict(zip(("", *dimension.groups[1:]), dimension.readable_groups, strict=True))
    return saved_page(
        request,
        work_list,
        "corrections.html",
        corrections=made,
        page_id=page_id,
        kept=next((one for one in made if one.page_id == page_id), None),
        titles=titles,
        labels=labels,
        items={page: item_address(title, state.settings) if state.wiki_url else "" for page, title in titles.items()},
        now=() if page_id is None else _regions_of(state, page_id, dimension),
        visitor=visitor_of(request),
        n_new=len(set(corrections_to_apply(state.store, work_list)) ^ set(work_list.corrections)),
    )


def _regions_of(state: AppState, page_id: int, dimension: Dimension) -> tuple[str, ...]:
    """The regions of an article as the data have them, in words."""
    [mask] = masks_of_rows(state.collection, state.collection.rows_of(np.array([page_id])), dimension).tolist()
    return group_labels(mask, dimension)


def item_address(title: str, settings: WebSettings) -> str:
    """Where Wikidata leads to the item of an article; empty for wikis that are no Wikipedia."""
    host: Sequence[str] = (urlsplit(settings.wiki_site).hostname or "").split(".")
    if len(host) != 3 or host[1:] != ["wikipedia", "org"]:
        return ""
    wiki = f"{host[0].replace('-', '_')}wiki"
    return f"https://www.wikidata.org/wiki/Special:ItemByTitle/{wiki}/{quote(title.replace(' ', '_'))}"


def routes() -> list[BaseRoute]:
    address = "/lists/{token:token}/corrections"
    return [Route(address, show_corrections), Route(address, with_form(correct_region), methods=["POST"])]
