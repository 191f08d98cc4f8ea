"""The JSON interface: the same lists, searches and draws as on the pages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.api.bodies import DRAW, MARK, QUESTION, SEARCH, check_body, editor_of
from evenrank.app.api.document import document, operations
from evenrank.app.articles.article import ListedArticle
from evenrank.app.articles.groups import shown_dimensions
from evenrank.app.desk import Desk, desk_of
from evenrank.app.exports.data import article_data
from evenrank.app.exports.formats import FORMATS
from evenrank.app.fairness.closeness import public_certificate
from evenrank.app.lists.campaign import balance_of
from evenrank.app.lists.filters import check_filters, parse_filters
from evenrank.app.lists.listing import list_articles, requested_list
from evenrank.app.lists.trade_off import trade_off
from evenrank.app.lists.work_list import make_list, save_list
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.templating import page
from evenrank.app.request.address import draw_path, list_path, search_path
from evenrank.app.request.capacity import expensive
from evenrank.app.request.choices import policy_choices
from evenrank.app.request.forms import with_json
from evenrank.app.searches.draws import (
    Draw,
    NothingLeftError,
    draw_articles,
    make_draw,
    requested_draw,
    requested_search,
)
from evenrank.app.searches.marks import set_mark
from evenrank.app.searches.progress import candidates_have_few_people, search_progress
from evenrank.app.searches.saved_search import SavedSearch, make_search, save_search
from evenrank.app.sources.source import sources_as_data
from evenrank.app.storage.kept import Kept


def json_response(record: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(record), status, media_type="application/json")


def api_document(desk: Desk) -> dict[str, Any]:
    """The document of this server's collection."""
    collection = desk.collection
    return document(shown_dimensions(collection), collection.dimensions, collection.manifest.has_text_ids)


def show_document(request: Request) -> Response:
    return json_response(api_document(desk_of(request)))


def show_guide(request: Request) -> Response:
    desk = desk_of(request)
    document = api_document(desk)
    return page(
        request,
        "api.html",
        document=document,
        operations=operations(),
        base=desk.base_url(request),
        suffixes=list(FORMATS),
    )


def show_collection(request: Request) -> Response:
    desk = desk_of(request)
    return json_response(
        {
            "articles": desk.numbers.n_articles,
            "unknown_region": desk.numbers.unknown_region,
            "dimensions": {name: dict(counts) for name, counts in desk.numbers.groups.items()},
            "data_of": desk.age.text,
            "is_synthetic": desk.age.is_synthetic,
            "regions": dict(desk.numbers.groups.get("geography", ())),
            "classes": dict(desk.numbers.classes),
            "policies": [asdict(choice) for choice in policy_choices().values()],
        }
    )


def post_list(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, QUESTION, ("title",))
    desk = desk_of(request)
    token = save_list(
        desk.store,
        make_list(desk, desk.asked(record)),
        editor_of({}),
    )
    return json_response({"token": token, "address": desk.base_url(request) + list_path(token)}, 201)


def get_list(request: Request) -> Response:
    desk, work_list = desk_of(request), requested_list(request)
    check_filters(request.query_params, desk.collection)
    articles = list_articles(desk, work_list)
    chosen = articles.articles(parse_filters(request.query_params, desk.collection).apply(articles))
    is_few = balance_of(desk, work_list).has_few_people
    return json_response({**_head(desk, work_list, is_few), "articles": _articles(request, chosen)})


def get_fairness(request: Request) -> Response:
    desk, work_list = desk_of(request), requested_list(request)
    balance = balance_of(desk, work_list)
    certificate = public_certificate(work_list.certificate, balance.space, balance.has_few_people)
    return json_response({"certificate": certificate, **balance.as_data()})


def get_trade_off(request: Request) -> Response:
    curve = trade_off(desk_of(request), requested_list(request))
    hidden = {"awrf": None} if curve.is_withheld else {}
    points = [{**asdict(point), **hidden} for point in (curve.here, *curve.points)]
    return json_response({"here": points[0], "points": points[1:]})


def post_search(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, SEARCH, ("title",))
    desk = desk_of(request)
    token = save_search(
        desk.store,
        make_search(desk, desk.asked(record)),
        editor_of({}),
    )
    return json_response({"token": token, "address": desk.base_url(request) + search_path(token)}, 201)


def get_search(request: Request) -> Response:
    desk, search = desk_of(request), requested_search(request)
    progress = search_progress(desk, search)
    so_far = (
        {"EE-L": progress.loss, "articles": progress.n_articles, **progress.balance.as_data()} if progress else None
    )
    is_few = candidates_have_few_people(desk, search)
    return json_response({**_head(desk, search, is_few), "n_draws": search.n_draws, "all_draws": so_far})


def post_draw(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, DRAW)
    search = requested_search(request)
    try:
        draw = make_draw(desk_of(request), search, editor_of(record))
    except NothingLeftError:
        raise HTTPException(409, "Every article of this search is done, or not for this editor.") from None
    return json_response(_draw(request, search, draw), 201)


def get_draw(request: Request) -> Response:
    search = requested_search(request)
    return json_response(_draw(request, search, requested_draw(request, search)))


def post_mark(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, MARK, ("page_id", "mark"))
    search = requested_search(request)
    desk = desk_of(request)
    number = page_number(desk, record["page_id"])
    set_mark(desk.store, search, number, record["mark"], editor_of(record))
    return json_response({"page_id": desk.collection.shown_id(number), "mark": record["mark"]})


def page_number(desk: Desk, page_id: int | float | str) -> int:
    """The number of a page by the id that bots know, 0 for text that is no id; an error for one of the wrong kind."""
    ids = desk.collection.text_ids
    if isinstance(page_id, str) == (ids is None):
        raise BadRequestError("page_id must be a whole number." if ids is None else "page_id must be a text.")
    return int(page_id) if ids is None else ids.find(str(page_id))


def _head(desk: Desk, kept: Kept, has_few_people: bool) -> dict[str, Any]:
    return {
        "token": kept.token,
        "number": kept.number,
        "created": kept.created,
        "question": {**asdict(kept.question), "sources": sources_as_data(kept.question.sources)},
        "certificate": public_certificate(kept.certificate, desk.space(kept), has_few_people),
        "model": kept.model and asdict(kept.model),
    }


def _articles(request: Request, articles: list[ListedArticle]) -> list[dict[str, Any]]:
    wiki_url = desk_of(request).wiki_url
    return [article_data(article, wiki_url) for article in articles]


def _draw(request: Request, search: SavedSearch, draw: Draw) -> dict[str, Any]:
    desk = desk_of(request)
    return {
        "number": draw.number,
        "created": draw.created,
        "address": desk.base_url(request) + draw_path(search.token, draw.number),
        "articles": _articles(request, draw_articles(desk, search, draw).articles()),
    }


def routes() -> list[BaseRoute]:
    search = "/api/searches/{token:token}"
    return [
        Route("/api", show_guide),
        Route("/api/openapi.json", show_document),
        Route("/api/collection", show_collection),
        Route("/api/lists", with_json(post_list, is_expensive=True), methods=["POST"]),
        Route("/api/lists/{token:token}", get_list),
        Route("/api/lists/{token:token}/fairness", get_fairness),
        Route("/api/lists/{token:token}/trade-off", expensive(get_trade_off)),
        Route("/api/searches", with_json(post_search, is_expensive=True), methods=["POST"]),
        Route(search, get_search),
        Route(f"{search}/draws", with_json(post_draw), methods=["POST"]),
        Route(f"{search}/draws/{{number:number}}", get_draw),
        Route(f"{search}/marks", with_json(post_mark), methods=["POST"]),
    ]
