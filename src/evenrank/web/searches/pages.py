"""Pages of saved searches: the form, the search with its progress, its draws, the marks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.web.desk import Desk, desk_of
from evenrank.web.exports.formats import FORMATS, export
from evenrank.web.exports.listing import Listing
from evenrank.web.pages.errors import BadRequestError
from evenrank.web.pages.templating import page
from evenrank.web.request.address import own, see_other
from evenrank.web.request.asking import answer, ask, show_preview
from evenrank.web.request.forms import Fields, with_form
from evenrank.web.request.question import parse_question
from evenrank.web.request.visitor import remember, visitor_of
from evenrank.web.searches.draws import NothingLeftError, make_draw, recent_draws
from evenrank.web.searches.marks import count_marks, marks_seen_by, set_mark
from evenrank.web.searches.progress import progress_of
from evenrank.web.searches.read import draw_articles, requested_draw, requested_search
from evenrank.web.searches.saved_search import SavedSearch, make_search, save_search
from evenrank.web.storage.links import draw_path, search_path


def ask_for_search(request: Request) -> Response:
    return ask(request, "search", request.query_params)


def create_search(request: Request, fields: Fields) -> Response:
    """Saves a search and goes to its link."""

    def make(desk: Desk) -> str:
        question = parse_question({**fields, "policy": "optimal"})
        return search_path(save_search(desk.store, make_search(desk, question), visitor_of(request)))

    return answer(request, "search", fields, make)


def show_search(request: Request) -> Response:
    """The search with all its draws so far."""
    desk, search = desk_of(request), requested_search(request)
    return page(
        request,
        "search.html",
        search=search,
        draws=recent_draws(desk.store.connection, search),
        marks=count_marks(desk.store, search),
        progress=progress_of(desk, search),
        address=own(request, search_path(search.token)),
    )


def create_draw(request: Request, _: Fields) -> Response:
    """Makes the next draw and goes to its link."""
    search = requested_search(request)
    try:
        draw = make_draw(desk_of(request), search, visitor_of(request))
    except NothingLeftError:
        raise BadRequestError("Every article of this search is done, or not for you. Save a wider search.") from None
    return remember(request, see_other(request, draw_path(search.token, draw.number)))


def show_draw(request: Request) -> Response:
    desk, search = desk_of(request), requested_search(request)
    draw = requested_draw(request, search)
    return page(
        request,
        "draw.html",
        search=search,
        draw=draw,
        articles=draw_articles(desk, search, draw).articles(),
        marks=marks_seen_by(desk.store, search, visitor_of(request)),
        formats=FORMATS.values(),
        address=own(request, search_path(search.token)),
        draw_address=own(request, draw_path(search.token, draw.number)),
    )


def export_draw(request: Request) -> Response:
    desk, search = desk_of(request), requested_search(request)
    draw = requested_draw(request, search)
    base = desk.base_url(request)
    listing = Listing(
        title=f"{search.question.title}, draw {draw.number}",
        task=2,
        topic=search.number,
        repeat=draw.number,
        updated=draw.created,
        address=base + draw_path(search.token, draw.number),
        edit_address=f"{base}/searches/new?{search.question.to_query()}",
        articles=draw_articles(desk, search, draw).articles(),
        settings=desk.settings,
    )
    return export(listing, request.path_params["suffix"])


def mark_article(request: Request, fields: Fields) -> Response:
    """Keeps a mark; answers with the row's buttons, or goes back to the row in a browser without script."""
    desk, search = desk_of(request), requested_search(request)
    number, page_id = (_number(fields.get(name, "")) for name in ("draw", "page_id"))
    set_mark(desk.store, search, page_id, fields.get("mark", ""), visitor_of(request))
    if "hx-request" in request.headers:
        return remember(request, mark_buttons(request, search, page_id, number))
    return remember(request, see_other(request, f"{draw_path(search.token, number)}#page-{page_id}"))


def mark_buttons(request: Request, search: SavedSearch, page_id: int, number: int) -> Response:
    """The buttons of one row after a mark; the first of them takes the focus that the swapped ones had."""
    mark = marks_seen_by(desk_of(request).store, search, visitor_of(request)).get(page_id, "")
    return page(
        request,
        "mark.html",
        page_id=page_id,
        mark=mark,
        number=number,
        is_swapped=True,
        address=own(request, search_path(search.token)),
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise BadRequestError("The form could not be read.")
    return int(text)


def routes() -> list[BaseRoute]:
    return [
        Route("/searches/new", ask_for_search),
        Route("/searches/preview", show_preview),
        Route("/searches", with_form(create_search), methods=["POST"]),
        Route("/searches/{token:token}", show_search),
        Route("/searches/{token:token}/draws", with_form(create_draw), methods=["POST"]),
        Route("/searches/{token:token}/draws/{number:int}", show_draw),
        Route("/searches/{token:token}/draws/{number:int}.{suffix}", export_draw),
        Route("/searches/{token:token}/marks", with_form(mark_article), methods=["POST"]),
    ]
