"""Pages of work lists: the form, the list with its filters, its fairness, its exports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.collection_view import CLASSES, Corrections, shown_dimensions
from evenrank.app.articles.filters import SIZES, VIEWS, offered_filters, parse_filters
from evenrank.app.exports.formats import FORMATS, export_listing
from evenrank.app.fairness.balance import Closeness, closeness_of, closeness_range, public_closeness
from evenrank.app.fairness.comparison import N_NAMED, differ_in_few_people
from evenrank.app.fairness.disclosure import disclosure_of, goal_in_force
from evenrank.app.lists.analysis import balance_of, list_bars, trade_off
from evenrank.app.lists.listing import find_list, list_articles, make_listing
from evenrank.app.lists.work_list import (
    WorkList,
    count_states,
    load_list,
    make_list,
    marks_of,
    newest_version,
    save_list,
)
from evenrank.app.request.access import links_to, saved_page
from evenrank.app.request.capacity import expensive
from evenrank.app.request.choices import choices_of
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.question_form import answer, question_routes
from evenrank.app.request.quota import check_room
from evenrank.app.request.visitor import list_path, remember, see_other, visitor_of
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.corrections import Correction, corrections_to_apply, save_correction
from evenrank.wikipedia.mediawiki.article_work import VIEW_DAYS


def create_list(request: Request, fields: Fields, corrections: Corrections = ()) -> Response:
    """Makes a list and goes to its link; `corrections` are those of the list that it is made from."""

    def make(state: AppState) -> str:
        made, visitor = make_list(state, state.parse_question(fields), corrections=corrections), visitor_of(request)
        check_room(request, made, visitor)
        token = save_list(state.store, made, visitor)
        if corrections and (saved := load_list(state.store, token)) is not None:
            for page_id, region in corrections:
                save_correction(state.store, saved, Correction(page_id, region, "", visitor, "", saved.created))
        return list_path(token)

    return answer(request, "list", fields, make)


def make_again(request: Request, fields: Fields) -> Response:
    """Makes the same list with another strength or goal, or with more or fewer articles, and goes to its link."""
    work_list = find_list(request)
    asked = replace(work_list.question, as_subject=()) if "goal" in fields else work_list.question
    wanted = {
        **asked.to_fields(),
        **{name: fields[name] for name in ("fairness", "goal", "match") if name in fields},
    }
    corrections = corrections_to_apply(state_of(request).store, work_list)
    policy = {} if set(fields).isdisjoint(("fairness", "goal")) else {"policy": "optimal"}
    return create_list(request, {**wanted, **policy}, corrections)


def show_list(request: Request) -> Response:
    """One page of a list."""
    state, work_list = state_of(request), find_list(request)
    filters = parse_filters(request.query_params, state.collection)
    articles = list_articles(state, work_list)
    chosen = filters.apply(articles)
    per_page = state.settings.rows_per_page
    n_pages = max(1, -(-len(chosen) // per_page))
    at = min(filters.page, n_pages)
    shown = articles.articles(chosen[(at - 1) * per_page : at * per_page])
    newest = newest_version(state, work_list)
    response = saved_page(
        request,
        work_list,
        "list.html",
        articles=shown,
        n_chosen=len(chosen),
        at=at,
        n_pages=n_pages,
        filters=filters,
        bars=list_bars(state, work_list),
        **goal_in_force(state, work_list),
        classes=CLASSES,
        sizes=SIZES,
        view_ranges=VIEWS,
        **offered_filters(articles),
        dimensions=shown_dimensions(state.collection),
        formats=FORMATS.values(),
        marks=marks_of(state.store, work_list, visitor_of(request)),
        place=("at", at),
        states=count_states(state.store, work_list),
        corrected={page for page, _ in corrections_to_apply(state.store, work_list)},
        n_counted=len(articles.on_wiki),
        view_days=VIEW_DAYS,
        newest=newest if newest.number > work_list.number else None,
        has_newer_data=bool(work_list.data) and work_list.data != state.data,
        **_before_and_after(state, work_list),
        **links_to(request, work_list, filters.to_query(1)),  # who gets the link sees what is shared
    )
    return remember(request, response)


def _before_and_after(state: AppState, work_list: WorkList) -> dict[str, Any]:
    """Titles of articles that came in against plain search, and of those that went out."""
    comparison = work_list.comparison
    if comparison is None:
        return {"came_in": [], "went_out": [], "n_moved": 0}
    titles = state.collection.titles_of
    return {
        "came_in": titles(comparison.came_in[:N_NAMED]),
        "went_out": titles(comparison.went_out[:N_NAMED]),
        "n_moved": len(comparison.came_in),
    }


def _plain_closeness(state: AppState, work_list: WorkList, reached: Closeness) -> float | None:
    """The goal reached by plain search, counted as that of the list; None when the list is plain search, when
    that is not known, or when the difference may say something about one person."""
    comparison, listed = work_list.comparison, work_list.page_ids
    if comparison is None or work_list.question.is_plain:
        return None
    balance = balance_of(state, work_list, comparison.plain)
    if not reached.is_complete:
        return public_closeness(balance).value
    space, question = state.space(work_list), work_list.question
    if balance.has_few_people or differ_in_few_people(
        state.collection_of(work_list), comparison, listed, space, question
    ):
        return None
    return closeness_of(balance).value


def export_list(request: Request) -> Response:
    state, work_list = state_of(request), find_list(request)
    filters = parse_filters(request.query_params, state.collection)
    listing = make_listing(state, work_list, state.base_url(request), filters)
    return export_listing(listing, request.path_params["suffix"])


def show_fairness(request: Request) -> Response:
    """The list's attention against its goal."""
    state, work_list = state_of(request), find_list(request)
    balance = balance_of(state, work_list)
    reached, goal = closeness_of(balance), goal_in_force(state, work_list)
    return saved_page(
        request,
        work_list,
        "fairness.html",
        balance=balance,
        bars=list_bars(state, work_list),
        closeness=reached,
        reach=closeness_range(balance),
        plain=_plain_closeness(state, work_list, reached),
        certificate=goal["disclosure"].certificate(
            work_list.certificate, state.space(work_list), balance.has_few_people
        ),
        **goal,
        **_before_and_after(state, work_list),
    )


def show_trade_off(request: Request) -> Response:
    """The trade-off; only the figure when a page that is open asks for it."""
    work_list = find_list(request)
    template = "trade_off_part.html" if "hx-request" in request.headers else "trade_off.html"
    state = state_of(request)
    curve = trade_off(state, work_list)
    if curve is None:
        return see_other(request, f"{list_path(request.path_params['token'])}/trade-off")
    return saved_page(
        request,
        work_list,
        template,
        curve=curve,
        bars=list_bars(state, work_list),
        disclosure=disclosure_of(state, work_list),
        strengths={float(name): choice.label for name, choice in choices_of("strength").items()},
    )


def routes() -> list[BaseRoute]:
    return [
        *question_routes("list", load_list, create_list),
        Route("/lists/{token:token}", show_list),
        Route("/lists/{token:token}.{suffix}", export_list),
        Route("/lists/{token:token}/again", with_form(make_again, is_expensive=True), methods=["POST"]),
        Route("/lists/{token:token}/fairness", show_fairness),
        Route("/lists/{token:token}/trade-off", expensive(show_trade_off)),
    ]
