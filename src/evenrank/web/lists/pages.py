"""Pages of work lists: the form, the list with its filters, its fairness, its exports."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.web.articles.article import CLASSES
from evenrank.web.articles.groups import shown_dimensions
from evenrank.web.desk import Desk, desk_of
from evenrank.web.exports.formats import FORMATS, export
from evenrank.web.exports.listing import Listing
from evenrank.web.fairness.balance import list_balance
from evenrank.web.lists.filters import SIZES, Filters, parse_filters
from evenrank.web.lists.make import make_list
from evenrank.web.lists.read import list_articles, requested_list
from evenrank.web.lists.trade_off import trade_off
from evenrank.web.lists.work_list import WorkList, save_list
from evenrank.web.pages.templating import page
from evenrank.web.request.address import own
from evenrank.web.request.asking import answer, ask, show_preview
from evenrank.web.request.forms import Fields, with_form
from evenrank.web.request.question import parse_question
from evenrank.web.request.visitor import visitor_of
from evenrank.web.storage.links import list_path


def ask_for_list(request: Request) -> Response:
    return ask(request, "list", request.query_params)


def create_list(request: Request, fields: Fields) -> Response:
    """Makes a list and goes to its link."""

    def make(desk: Desk) -> str:
        token = save_list(desk.store, make_list(desk, parse_question(fields)), visitor_of(request))
        return list_path(token)

    return answer(request, "list", fields, make)


def show_list(request: Request) -> Response:
    """One page of a list."""
    desk, work_list = desk_of(request), requested_list(request)
    filters = parse_filters(request.query_params, desk.collection)
    articles = list_articles(desk, work_list)
    chosen = filters.apply(articles)
    per_page = desk.settings.rows_per_page
    n_pages = max(1, -(-len(chosen) // per_page))
    at = min(filters.page, n_pages)
    shown = articles.articles(chosen[(at - 1) * per_page : at * per_page])
    return page(
        request,
        "list.html",
        work_list=work_list,
        articles=shown,
        n_chosen=len(chosen),
        at=at,
        n_pages=n_pages,
        filters=filters,
        classes=CLASSES,
        sizes=SIZES,
        dimensions=shown_dimensions(desk.collection),
        formats=FORMATS.values(),
        address=own(request, list_path(work_list.token)),
    )


def list_listing(request: Request, work_list: WorkList, filters: Filters) -> Listing:
    """The list as exports take it, filtered as the address says."""
    desk = desk_of(request)
    articles = list_articles(desk, work_list)
    base = desk.base_url(request)
    return Listing(
        title=work_list.question.title,
        task=1,
        topic=work_list.number,
        repeat=1,
        updated=work_list.created,
        address=base + list_path(work_list.token),
        edit_address=f"{base}/lists/new?{work_list.question.to_query()}",
        articles=articles.articles(filters.apply(articles)),
        settings=desk.settings,
    )


def export_list(request: Request) -> Response:
    desk, work_list = desk_of(request), requested_list(request)
    listing = list_listing(request, work_list, parse_filters(request.query_params, desk.collection))
    return export(listing, request.path_params["suffix"])


def show_fairness(request: Request) -> Response:
    """The list's attention against its goal."""
    work_list = requested_list(request)
    balance = list_balance(desk_of(request).collection, work_list.page_ids, work_list.target)
    address = own(request, list_path(work_list.token))
    return page(request, "fairness.html", work_list=work_list, balance=balance, address=address)


def show_trade_off(request: Request) -> Response:
    """The trade-off; only the figure when a page that is open asks for it."""
    work_list = requested_list(request)
    template = "trade_off_part.html" if "hx-request" in request.headers else "trade_off.html"
    curve = trade_off(desk_of(request), work_list)
    return page(request, template, work_list=work_list, curve=curve, address=own(request, list_path(work_list.token)))


def routes() -> list[BaseRoute]:
    return [
        Route("/lists/new", ask_for_list),
        Route("/lists/preview", show_preview),
        Route("/lists", with_form(create_list), methods=["POST"]),
        Route("/lists/{token:token}", show_list),
        Route("/lists/{token:token}.{suffix}", export_list),
        Route("/lists/{token:token}/fairness", show_fairness),
        Route("/lists/{token:token}/trade-off", show_trade_off),
    ]
