"""Reading a saved search and its draws, for pages, exports and the JSON interface alike."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request

from evenrank.web.articles.article import ArticleList
from evenrank.web.articles.reasons import Reasons
from evenrank.web.desk import Desk, desk_of
from evenrank.web.request.kept import requested
from evenrank.web.searches.draws import Draw, load_draw
from evenrank.web.searches.saved_search import SavedSearch, load_search


def requested_search(request: Request) -> SavedSearch:
    """The search that the address names."""
    return requested(load_search, request)


def requested_draw(request: Request, search: SavedSearch) -> Draw:
    """The draw that the address names."""
    number = request.path_params["number"]
    draw = load_draw(desk_of(request).store.connection, search, number) if number < 2**31 else None
    if draw is None:
        raise HTTPException(404, f"Draw {number} of this search has not been made yet.")
    return draw


def draw_articles(desk: Desk, search: SavedSearch, draw: Draw) -> ArticleList:
    """The articles of a draw with what is known of them."""
    places = search.places_of(draw.page_ids)
    reasons = Reasons(search.reasons.words, search.reasons.bits[places])
    return ArticleList(desk.collection, draw.page_ids, search.relevance[places], reasons, desk.facts)
