"""Pages of saved searches: the form, the search with its progress, its draws, the marks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.filters import offered_filters, parse_filters
from evenrank.app.exports.formats import FORMATS, export_listing
from evenrank.app.exports.listing import Listing, run_topic
from evenrank.app.fairness.balance import closeness_range
from evenrank.app.fairness.disclosure import goal_in_force
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message, in_language
from evenrank.app.request.access import after_mark, links_to, role_of, saved_page
from evenrank.app.request.forms import Fields, whole_number, with_form
from evenrank.app.request.question_form import answer, question_routes
from evenrank.app.request.quota import check_room
from evenrank.app.request.visitor import draw_path, name_of, own, remember, search_path, see_other, visitor_of
from evenrank.app.searches.draws import (
    NothingLeftError,
    draw_articles,
    draws_of,
    find_draw,
    find_search,
    make_draw,
    n_shown_before,
)
from evenrank.app.searches.progress import progress_bars, search_progress
from evenrank.app.searches.saved_search import (
    NONE,
    count_marks,
    load_search,
    make_search,
    marks_seen_by,
    remove_marks,
    save_search,
    set_mark,
)
from evenrank.app.state import AppState, state_of

N_DRAWS = 50
"""Draws that are linked on one page of a search."""
FEW_DRAWS = 4
"""Searches with fewer articles than this many draws have say that articles come again."""


def create_search(request: Request, fields: Fields) -> Response:
    """Saves a search and goes to its link."""

    def make(state: AppState) -> str:
        question = state.parse_question({**fields, "policy": "optimal"})
        made = make_search(state, question)
        check_room(request, made, visitor_of(request))
        return search_path(save_search(state.store, made, visitor_of(request)))

    return answer(request, "search", fields, make)


def show_search(request: Request) -> Response:
    """The search with all its draws so far."""
    state, search = state_of(request), find_search(request)
    before, progress = request.query_params.get("before", ""), search_progress(state, search)
    draws = draws_of(state.store.connection, search, whole_number(before) if before else 0, N_DRAWS)
    response = saved_page(
        request,
        search,
        "search.html",
        draws=draws,
        few_articles=FEW_DRAWS * state.settings.draw_length,
        has_older=bool(draws) and draws[-1]["number"] > 1,
        marks=count_marks(state.store, search),
        progress=progress,
        bars=progress_bars(state, search, progress),
        **goal_in_force(state, search),
        **links_to(request, search),
    )
    return remember(request, response)


def show_search_fairness(request: Request) -> Response:
    """The attention of all draws together against the goal."""
    state, search = state_of(request), find_search(request)
    progress = search_progress(state, search)
    return saved_page(
        request,
        search,
        "search_fairness.html",
        progress=progress,
        bars=progress_bars(state, search, progress),
        reach=progress and closeness_range(progress.balance),
        **goal_in_force(state, search),
    )


def create_draw(request: Request, _: Fields) -> Response:
    """Makes the next draw and goes to its link."""
    search = find_search(request)
    try:
        draw = make_draw(state_of(request), search, visitor_of(request), name_of(request))
    except NothingLeftError:
        raise BadRequestError("Every article of this search is done, or not for you. Save a wider search.") from None
    return remember(request, see_other(request, draw_path(search.token, draw.number)))


def show_draw(request: Request) -> Response:
    state, search = state_of(request), find_search(request)
    draw = find_draw(request, search)
    articles = draw_articles(state, search, draw)
    filters = parse_filters(request.query_params, state.collection)
    return saved_page(
        request,
        search,
        "draw.html",
        draw=draw,
        n_again=n_shown_before(state.store.connection, search, draw),
        articles=articles.articles(filters.apply(articles)),
        filters=filters,
        **offered_filters(articles),
        marks=marks_seen_by(state.store, search, visitor_of(request)),
        place=("draw", draw.number),
        corrected={page for page, _ in search.corrections},
        formats=FORMATS.values(),
        draw_address=own(request, draw_path(search.token, draw.number)),
    )


def export_draw(request: Request) -> Response:
    """A draw as a file. Its addresses can only read, because what is published is read by everybody."""
    state, search = state_of(request), find_search(request)
    draw = find_draw(request, search)
    base, language = state.base_url(request), state.collection.manifest.language
    articles = draw_articles(state, search, draw)
    number = in_language(Message("draw %(n)s", n=draw.number), language)
    listing = Listing(
        title=f"{search.title}{in_language(', ', language)}{number}",
        task=2,
        topic=run_topic(state.collection, search.number),
        repeat=draw.number,
        updated=draw.created,
        address=base + draw_path(search.reader, draw.number),
        edit_address=f"{base}/searches/new?from={search.reader}",
        articles=articles.articles(parse_filters(request.query_params, state.collection).apply(articles)),
        wiki_url=state.wiki_url,
        language=language,
    )
    return export_listing(listing, request.path_params["suffix"])


def mark_in_draw(request: Request, fields: Fields) -> Response:
    """Keeps a mark; answers with the row's buttons, or goes back to the row in a browser without script."""
    state, search = state_of(request), find_search(request)
    number, page_id = (whole_number(fields.get(name, "")) for name in ("draw", "page_id"))
    kind = fields.get("mark", "")
    if kind == NONE and role_of(request, search) in ("owner", "editor"):
        remove_marks(state.store, search, page_id)
    else:
        set_mark(state.store, search, page_id, kind, visitor_of(request), name_of(request))
    mark = marks_seen_by(state.store, search, visitor_of(request)).get(page_id)
    back = draw_path(search.token, number)
    return after_mark(request, search, page_id, mark, ("draw", number), back, was_undone=kind == NONE)


def routes() -> list[BaseRoute]:
    return [
        *question_routes("search", load_search, create_search),
        Route("/searches/{token:token}", show_search),
        Route("/searches/{token:token}/fairness", show_search_fairness),
        Route("/searches/{token:token}/draws", with_form(create_draw), methods=["POST"]),
        Route("/searches/{token:token}/draws/{number:number}", show_draw),
        Route("/searches/{token:token}/draws/{number:number}.{suffix}", export_draw),
        Route("/searches/{token:token}/marks", with_form(mark_in_draw), methods=["POST"]),
    ]
