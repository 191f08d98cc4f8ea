"""What the wiki itself says of the articles of a list: read when somebody asks, kept with the list."""

from __future__ import annotations

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from evenrank.app.articles.filters import parse_filters
from evenrank.app.articles.user_articles import wiki_fault
from evenrank.app.lists.listing import find_list, list_articles
from evenrank.app.lists.work_list import WorkList
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.capacity import waiting_elsewhere
from evenrank.app.request.forms import Fields, with_form
from evenrank.app.request.visitor import see_other
from evenrank.app.state import state_of
from evenrank.app.storage.store import now, upsert
from evenrank.database.database import Database
from evenrank.wikipedia.annotate.inline import Namespaces
from evenrank.wikipedia.mediawiki.article_work import WikiFacts, count_on_wiki
from evenrank.wikipedia.mediawiki.settings import WikiError

_SAVE = upsert("wiki_count", ("series", "page_id"), "counts", "created")


def save_wiki_counts(store: Database, work_list: WorkList, counts: dict[int, WikiFacts]) -> None:
    """Keep facts, in place of earlier ones of the same articles."""
    with store.transaction(work_list.turn) as connection:
        for page_id, found in counts.items():
            facts = orjson.dumps((*found.work, *found[1:])).decode()
            connection.execute(_SAVE, (work_list.series, page_id, facts, now()))


def count_shown(request: Request, _: Fields) -> Response:
    """Counts the articles on the page of the list that the address shows, and goes back to it."""
    state, work_list = state_of(request), find_list(request)
    if state.wiki is None:
        raise BadRequestError("This server is not connected to a wiki.")
    filters = parse_filters(request.query_params, state.collection)
    articles = list_articles(state, work_list)
    n = state.settings.rows_per_page
    shown = articles.page_ids[filters.apply(articles)[(filters.page - 1) * n : filters.page * n]].tolist()
    titles = dict(zip(shown, state.collection.titles_of(shown), strict=True))
    names = Namespaces.local(language=state.collection.manifest.language)
    try:
        with waiting_elsewhere():
            counts = count_on_wiki(state.wiki.client, titles, names)
    except WikiError as error:
        raise HTTPException(502, wiki_fault(error)) from error
    if shown and not counts:
        raise BadRequestError("The wiki has none of these articles under the same number and title.")
    save_wiki_counts(state.store, work_list, counts)
    query = filters.to_query()
    return see_other(request, f"{work_list.path}{'?' if query else ''}{query}")


def routes() -> list[BaseRoute]:
    path = "/lists/{token:token}/counts"
    return [Route(path, with_form(count_shown, is_expensive=True), methods=["POST"])]
