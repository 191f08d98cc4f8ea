"""Pages of work lists: the form, the list with its filters, its fairness, its exports."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.collection_view import CLASSES, shown_dimensions
from evenrank.app.exports.formats import FORMATS, export_listing
from evenrank.app.exports.listing import Listing
from evenrank.app.fairness.balance import Closeness, closeness_of, public_certificate, public_closeness
from evenrank.app.fairness.comparison import N_NAMED, changes, differ_in_few_people
from evenrank.app.lists.analysis import balance_of, trade_off
from evenrank.app.lists.listing import (
    ORDERS,
    SIZES,
    VIEWS,
    Filters,
    find_list,
    list_articles,
    make_listing,
    parse_filters,
)
from evenrank.app.lists.work_list import (
    WorkList,
    count_states,
    load_list,
    make_list,
    marks_of,
    newest_version,
    save_list,
)
from evenrank.app.request.access import saved_page
from evenrank.app.request.capacity import expensive
from evenrank.app.request.choices import choices_of
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.question_form import answer, ask, check, initial_fields, show_goal, show_preview
from evenrank.app.request.quota import check_room
from evenrank.app.request.visitor import list_path, remember, visitor_of
from evenrank.app.state import AppState, state_of


def ask_for_list(request: Request) -> Response:
    store = state_of(request).store
    return ask(request, "list", initial_fields(request, lambda token: load_list(store, token)))


def check_list(request: Request, fields: Fields) -> Response:
    return check(request, "list", fields)


def create_list(request: Request, fields: Fields) -> Response:
    """Makes a list and goes to its link."""

    def make(state: AppState) -> str:
        made = make_list(state, state.parse_question(fields))
        check_room(request, made, visitor_of(request))
        return list_path(save_list(state.store, made, visitor_of(request)))

    return answer(request, "list", fields, make)


def make_again(request: Request, fields: Fields) -> Response:
    """Makes the same list with another strength or goal, and goes to its link."""
    work_list = find_list(request)
    wanted = {
        **work_list.question.to_fields(),
        **{name: fields[name] for name in ("fairness", "goal") if name in fields},
    }
    return create_list(request, {**wanted, "policy": "optimal"})


def show_list(request: Request) -> Response:
    """One page of a list."""
    state, work_list = state_of(request), find_list(request)
    filters = parse_filters(request.query_params, state.collection)
    articles = list_articles(state, work_list)
    chosen = filters.apply(articles)
    per_page = state.settings.rows_per_page
    n_pages = max(1, -(-len(chosen) // per_page))
    at = min(filters.page, n_pages)
    balance = balance_of(state, work_list)
    reached = closeness_of(balance)
    if filters.is_any:
        reached = public_closeness(balance_of(state, work_list, work_list.page_ids[chosen]))
    shown = articles.articles(chosen[(at - 1) * per_page : at * per_page])
    newest = newest_version(state, work_list)
    query = f"?{filters.to_query(1)}" if filters.to_query(1) else ""  # who gets the link sees what is shared
    response = saved_page(
        request,
        work_list,
        "list.html",
        articles=shown,
        n_chosen=len(chosen),
        at=at,
        n_pages=n_pages,
        filters=filters,
        closeness=reached,
        plain=None if filters.is_any else _plain_closeness(state, work_list, reached),
        balance=balance,
        classes=CLASSES,
        sizes=SIZES,
        view_ranges=VIEWS,
        has_views=state.collection.page_views is not None,
        orders=ORDERS,
        dimensions=shown_dimensions(state.collection),
        formats=FORMATS.values(),
        marks=marks_of(state.store, work_list, visitor_of(request)),
        states=count_states(state.store, work_list),
        newest=newest if newest.number > work_list.number else None,
        has_newer_data=bool(work_list.data) and work_list.data != state.data,
        **_before_and_after(state, work_list),
        full_address=state.base_url(request) + work_list.path + query,
        read_address=state.base_url(request) + list_path(work_list.reader) + query,
    )
    return remember(request, response)


def _before_and_after(state: AppState, work_list: WorkList) -> dict[str, Any]:
    """What changed against plain search: groups, and titles of articles that came in and went out."""
    comparison = work_list.comparison
    if comparison is None:
        return {"changes": [], "came_in": [], "went_out": [], "n_moved": 0}
    titles = state.collection.titles_of
    return {
        "changes": changes(
            state.collection,
            comparison,
            work_list.page_ids,
            work_list.target,
            state.space(work_list),
            work_list.question,
        ),
        "came_in": titles(comparison.came_in[:N_NAMED]),
        "went_out": titles(comparison.went_out[:N_NAMED]),
        "n_moved": len(comparison.came_in),
    }


def _plain_closeness(state: AppState, work_list: WorkList, reached: Closeness) -> float | None:
    """The goal reached by plain search, counted as that of the list; None when they are the same list, when it is not
    known, or when the difference may say something about one person."""
    comparison, listed = work_list.comparison, work_list.page_ids
    if comparison is None or np.array_equal(comparison.plain, listed):
        return None
    balance = balance_of(state, work_list, comparison.plain)
    if not reached.is_complete:
        return public_closeness(balance).value
    space, question = state.space(work_list), work_list.question
    if balance.has_few_people or differ_in_few_people(state.collection, comparison, listed, space, question):
        return None
    return closeness_of(balance).value


def list_listing(request: Request, work_list: WorkList, filters: Filters) -> Listing:
    """The list as exports take it, filtered as the address says."""
    state = state_of(request)
    return make_listing(state, work_list, state.base_url(request), filters)


def export_list(request: Request) -> Response:
    state, work_list = state_of(request), find_list(request)
    listing = list_listing(request, work_list, parse_filters(request.query_params, state.collection))
    return export_listing(listing, request.path_params["suffix"])


def show_fairness(request: Request) -> Response:
    """The list's attention against its goal."""
    state, work_list = state_of(request), find_list(request)
    balance = balance_of(state, work_list)
    reached = closeness_of(balance)
    return saved_page(
        request,
        work_list,
        "fairness.html",
        balance=balance,
        closeness=reached,
        plain=_plain_closeness(state, work_list, reached),
        certificate=public_certificate(work_list.certificate, balance.space, balance.has_few_people),
        **_before_and_after(state, work_list),
    )


def show_trade_off(request: Request) -> Response:
    """The trade-off; only the figure when a page that is open asks for it."""
    work_list = find_list(request)
    template = "trade_off_part.html" if "hx-request" in request.headers else "trade_off.html"
    curve = trade_off(state_of(request), work_list)
    return saved_page(
        request,
        work_list,
        template,
        curve=curve,
        strengths={float(name): choice.label for name, choice in choices_of("strength").items()},
    )


def routes() -> list[BaseRoute]:
    return [
        Route("/lists/new", expensive(ask_for_list)),
        Route("/lists/check", with_form(check_list, is_expensive=True), methods=["POST"]),
        Route("/lists/preview", expensive(show_preview)),
        Route("/lists/goal", with_form(show_goal, is_expensive=True), methods=["POST"]),
        Route("/lists", with_form(create_list, is_expensive=True), methods=["POST"]),
        Route("/lists/{token:token}", show_list),
        Route("/lists/{token:token}.{suffix}", export_list),
        Route("/lists/{token:token}/again", with_form(make_again, is_expensive=True), methods=["POST"]),
        Route("/lists/{token:token}/fairness", show_fairness),
        Route("/lists/{token:token}/trade-off", expensive(show_trade_off)),
    ]
