"""The JSON interface: the same lists, searches and draws as on the pages. Bodies are checked by name and type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from hashlib import blake2b
from typing import Any, TypeVar

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.article import ListedArticle
from evenrank.app.articles.filters import check_filters, parse_filters
from evenrank.app.exports.listing import article_data
from evenrank.app.fairness.disclosure import bands_of, disclosure_of
from evenrank.app.lists.analysis import balance_of, trade_off
from evenrank.app.lists.listing import find_list, list_articles
from evenrank.app.lists.work_list import make_list, save_list
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.budget import KEYWORDS_ALLOWED, MAX_SCOPE, MAX_TITLE, are_too_many
from evenrank.app.request.capacity import expensive
from evenrank.app.request.choices import choices_of
from evenrank.app.request.forms import clean_text, with_json
from evenrank.app.request.question import QUESTION_FIELDS, Question
from evenrank.app.request.quota import check_room
from evenrank.app.request.visitor import draw_path, list_path, network_of, person_of, see_other
from evenrank.app.searches.draws import (
    Draw,
    NothingLeftError,
    draw_articles,
    find_draw,
    find_search,
    make_draw,
)
from evenrank.app.searches.progress import has_few_candidates, search_progress
from evenrank.app.searches.saved_search import SavedSearch, make_search, save_search, set_mark
from evenrank.app.state import AppState, state_of
from evenrank.app.storage.saved_request import SavedRequest
from evenrank.database.database import Database

K = TypeVar("K", bound=SavedRequest)
QUESTION = {name: asked.kind.json_kind for name, asked in QUESTION_FIELDS.items()}
SEARCH = {name: kind for name, kind in QUESTION.items() if QUESTION_FIELDS[name].is_in_search}
SOURCE = {"kind": "text", "text": "text", "role": "text", "depth": "whole number", "name": "text"}
DRAW = {"editor": "text"}
MARK = {"page_id": "page id", "mark": "text", "editor": "text"}
MAX_EDITOR = 64
LONGEST = {"title": MAX_TITLE, "scope": MAX_SCOPE, "editor": MAX_EDITOR}
"""Characters of texts as they are sent, which is what the document promises; forms count them when cleaned."""


def check_body(record: Mapping[str, Any], fields: Mapping[str, str], required: tuple[str, ...] = ()) -> None:
    """Nothing when the object has the fields it should; else an error that lists all that is wrong."""
    wrong = [f"{name} is missing." for name in required if name not in record]
    wrong += [f"There is no field {name!r}." for name in sorted(set(record) - set(fields))]
    wrong += filter(None, (_fault(name, record[name], kind) for name, kind in fields.items() if name in record))
    if wrong:
        raise BadRequestError(" ".join(wrong))


def editor_of(record: Mapping[str, Any]) -> str:
    """The editor for whom a bot asks, kept apart from the names in cookies."""
    return f"api:{clean_text(record.get('editor', ''))}"


def _fault(name: str, value: Any, kind: str) -> str:
    """What is wrong with the value of a field; empty when nothing is."""
    if not _is(value, kind):
        return f"{name} must be a {kind}."
    if name in LONGEST and len(value) > LONGEST[name]:
        return f"{name} has {len(value):,} characters; {LONGEST[name]:,} are allowed."
    return KEYWORDS_ALLOWED if name == "keywords" and are_too_many(value) else ""


def _is_source(value: object) -> bool:
    """Whether a source has the fields it should, and no others."""
    return isinstance(value, dict) and all(name in SOURCE and _is(part, SOURCE[name]) for name, part in value.items())


def _is(value: object, kind: str) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "page id":
        return isinstance(value, str) or _is(value, "whole number")
    return {
        "text": isinstance(value, str),
        "list of texts": isinstance(value, list) and all(isinstance(part, str) for part in value),
        "list of sources": isinstance(value, list) and all(_is_source(part) for part in value),
        "number": is_number,
        "whole number": isinstance(value, int | float) and is_number and 0 <= value < 2**31 and value == int(value),
    }[kind]


def json_response(record: dict[str, Any], status: int = 200) -> Response:
    return Response(orjson.dumps(record), status, media_type="application/json")


def show_collection(request: Request) -> Response:
    state = state_of(request)
    return json_response(
        {
            "articles": state.numbers.n_articles,
            "unknown_region": state.numbers.unknown_region,
            "dimensions": {name: dict(counts) for name, counts in state.numbers.groups.items()},
            "data_of": state.age.text,
            "is_synthetic": state.age.is_synthetic,
            "regions": dict(state.numbers.groups.get("geography", ())),
            "classes": dict(state.numbers.classes),
            "policies": [asdict(choice) for choice in choices_of("policy").values()],
        }
    )


def owner_of(request: Request) -> str:
    """Who owns what a bot makes: the person who signed in, else its network, so that one bot uses up no other's share.

    The store has a digest that only this server can make, never the address.
    """
    person = person_of(request)
    if person is not None:
        return person.key
    key = bytes.fromhex(state_of(request).secret)
    return f"api:{blake2b(network_of(request).encode(), key=key, digest_size=16).hexdigest()}"


def post_list(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, QUESTION, ("title",))
    return _created(request, record, make_list, save_list)


def _created(
    request: Request,
    record: Mapping[str, Any],
    make: Callable[[AppState, Question], K],
    save: Callable[[Database, K, str], str],
) -> Response:
    """The token and the address of the list or search that a bot has made."""
    state, owner = state_of(request), owner_of(request)
    made = make(state, state.parse_question(record))
    check_room(request, made, owner)
    token = save(state.store, made, owner)
    return json_response({"token": token, "address": f"{state.base_url(request)}/{made.area}/{token}"}, 201)


def get_list(request: Request) -> Response:
    state, work_list = state_of(request), find_list(request)
    check_filters(request.query_params, state.collection)
    articles = list_articles(state, work_list)
    chosen = articles.articles(parse_filters(request.query_params, state.collection).apply(articles))
    is_few = balance_of(state, work_list).has_few_people
    head = {**_head(state, work_list, is_few), "n_perhaps": work_list.n_perhaps}
    return json_response({**head, "articles": _articles(request, chosen)})


def get_fairness(request: Request) -> Response:
    state, work_list = state_of(request), find_list(request)
    balance = balance_of(state, work_list)
    certificate = _certificate(state, work_list, balance.has_few_people)
    return json_response({"certificate": certificate, **balance.as_data(), "bands": _bands(state, work_list)})


def get_trade_off(request: Request) -> Response:
    curve = trade_off(state_of(request), find_list(request))
    if curve is None:
        return see_other(request, f"/api{list_path(request.path_params['token'])}/trade-off")
    return json_response({"here": asdict(curve.here), "points": [asdict(point) for point in curve.points]})


def post_search(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, SEARCH, ("title",))
    return _created(request, record, make_search, save_search)


def get_search(request: Request) -> Response:
    state, search = state_of(request), find_search(request)
    progress = search_progress(state, search)
    so_far = (
        {"EE-L": progress.loss, "articles": progress.n_articles, **progress.balance.as_data()} if progress else None
    )
    is_few = has_few_candidates(state, search)
    head = _head(state, search, is_few)
    return json_response({**head, "n_draws": search.n_draws, "all_draws": so_far, "bands": _bands(state, search)})


def post_draw(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, DRAW)
    search = find_search(request)
    try:
        draw = make_draw(state_of(request), search, editor_of(record))
    except NothingLeftError:
        raise HTTPException(409, "Every article of this search is done, or not for this editor.") from None
    return json_response(_draw(request, search, draw), 201)


def get_draw(request: Request) -> Response:
    search = find_search(request)
    return json_response(_draw(request, search, find_draw(request, search)))


def post_mark(request: Request, record: dict[str, Any]) -> Response:
    check_body(record, MARK, ("page_id", "mark"))
    search = find_search(request)
    state = state_of(request)
    number = page_number(state, record["page_id"])
    set_mark(state.store, search, number, record["mark"], editor_of(record))
    return json_response({"page_id": state.collection.shown_id(number), "mark": record["mark"]})


def page_number(state: AppState, page_id: int | float | str) -> int:
    """The number of a page by the id that bots know, 0 for text that is no id; an error for one of the wrong kind."""
    ids = state.collection.text_ids
    if isinstance(page_id, str) == (ids is None):
        raise BadRequestError("page_id must be a whole number." if ids is None else "page_id must be a text.")
    return int(page_id) if ids is None else ids.find(str(page_id))


def _head(state: AppState, kept: SavedRequest, has_few_people: bool) -> dict[str, Any]:
    return {
        "token": kept.token,
        "number": kept.number,
        "created": kept.created,
        "question": kept.question.to_record(),
        "certificate": _certificate(state, kept, has_few_people),
        "model": kept.model and asdict(kept.model),
    }


def _certificate(state: AppState, kept: SavedRequest, has_few_people: bool) -> dict[str, float]:
    return disclosure_of(state, kept).certificate(kept.certificate, state.space(kept), has_few_people)


def _bands(state: AppState, kept: SavedRequest) -> list[dict[str, str]]:
    return [asdict(band) for band in bands_of(state, kept)]


def _articles(request: Request, articles: list[ListedArticle]) -> list[dict[str, Any]]:
    wiki_url = state_of(request).wiki_url
    return [article_data(article, wiki_url) for article in articles]


def _draw(request: Request, search: SavedSearch, draw: Draw) -> dict[str, Any]:
    state = state_of(request)
    return {
        "number": draw.number,
        "created": draw.created,
        "address": state.base_url(request) + draw_path(search.token, draw.number),
        "articles": _articles(request, draw_articles(state, search, draw).articles()),
    }


def routes() -> list[BaseRoute]:
    search = "/api/searches/{token:token}"
    return [
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
