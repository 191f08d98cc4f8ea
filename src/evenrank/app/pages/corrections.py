"""Regions that people correct for a list or search: all of them, the form for one, undone like a mark.

The data stay as they are, for everything else; the right place for a lasting correction is the item on Wikidata.
Only regions can be corrected, never what describes a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlsplit

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.collection_view import group_labels, masks_of_rows, region_dimension
from evenrank.app.lists.work_list import NotInListError
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.manage import requested_thing
from evenrank.app.request.access import role_of, saved_page
from evenrank.app.request.forms import Fields, clean_text, whole_number, with_form
from evenrank.app.request.visitor import name_of, remember, see_other, visitor_of
from evenrank.app.searches.saved_search import NotInSearchError
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.corrections import (
    Correction,
    corrections_to_apply,
    load_corrections,
    remove_correction,
    save_correction,
)
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.app.storage.store import now
from evenrank.core.groups import Dimension

MAX_NOTE = 500
"""Characters of a note."""


def show_corrections(request: Request) -> Response:
    """All corrections of a list or search, and the form for the article that the address names."""
    saved, named = requested_thing(request), request.query_params.get("page", "")
    listed = {str(page_id): page_id for page_id in saved.page_ids.tolist()}
    return _page(request, saved, listed.get(named))


def correct_region(request: Request, fields: Fields) -> Response:
    """Keeps a correction or takes it back, and goes to all of them."""
    state, saved = state_of(request), requested_thing(request)
    dimension, page_id = _dimension(state), whole_number(fields.get("page_id", ""))
    if page_id not in saved.page_ids:
        if saved.table == "work_list":
            raise NotInListError("That article is not in this list.")
        raise NotInSearchError("That article is not in this search.")
    kept = {one.page_id: one for one in load_corrections(state.store, saved)}.get(page_id)
    visitor = visitor_of(request)
    if kept is not None and kept.editor != visitor and role_of(request, saved) not in ("owner", "editor"):
        raise BadRequestError("Somebody else corrected that article. Only the owner can change it.")
    region = fields.get("region", "")
    if fields.get("action") == "undo":
        remove_correction(state.store, saved, page_id)
    elif region in ("", *dimension.groups[1:]):
        note = clean_text(fields.get("note", ""))[:MAX_NOTE]
        made = Correction(page_id, region, note, visitor, name_of(request), now())
        save_correction(state.store, saved, made)
    else:
        raise BadRequestError("Choose one of the regions.")
    return remember(request, see_other(request, f"{saved.path}/corrections"))


def _dimension(state: AppState) -> Dimension:
    dimension = region_dimension(state.collection)
    if dimension is None:
        raise HTTPException(404)
    return dimension


def _page(request: Request, saved: SavedRequest, page_id: int | None) -> Response:
    state = state_of(request)
    dimension = _dimension(state)
    made = load_corrections(state.store, saved)
    pages = [one.page_id for one in made] + ([] if page_id is None else [page_id])
    titles = dict(zip(pages, state.collection.titles_of(pages), strict=True))
    labels = dict(zip(("", *dimension.groups[1:]), dimension.readable_groups, strict=True))
    applied = set(corrections_to_apply(state.store, saved))
    return saved_page(
        request,
        saved,
        "corrections.html",
        title=saved.title,
        is_list=saved.table == "work_list",
        corrections=made,
        page_id=page_id,
        kept=next((one for one in made if one.page_id == page_id), None),
        titles=titles,
        labels=labels,
        items={page: item_address(title, state.settings) if state.wiki_url else "" for page, title in titles.items()},
        now=() if page_id is None else _regions_of(state, page_id, dimension),
        visitor=visitor_of(request),
        n_new=len(applied ^ set(saved.regions_corrected)),
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
    address = "/{area:area}/{token:token}/corrections"
    return [Route(address, show_corrections), Route(address, with_form(correct_region), methods=["POST"])]
