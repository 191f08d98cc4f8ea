"""A work list for readers: its articles, and the form in which exports take it."""

from __future__ import annotations

from starlette.requests import Request

from evenrank.app.articles.article import ArticleList
from evenrank.app.articles.filters import Filters
from evenrank.app.exports.listing import Listing, run_topic
from evenrank.app.fairness.disclosure import disclosure_of
from evenrank.app.fairness.share_bars import explain_shares
from evenrank.app.lists.analysis import list_bars
from evenrank.app.lists.work_list import WorkList, list_statuses, load_list, load_wiki_counts
from evenrank.app.request.access import find_requested
from evenrank.app.request.visitor import list_path
from evenrank.app.state import AppState


def find_list(request: Request) -> WorkList:
    """The list that the address names."""
    return find_requested(load_list, request)


def list_articles(state: AppState, work_list: WorkList) -> ArticleList:
    """The articles of a list with what is known of them."""
    known = state.collection.rows_of(work_list.page_ids) >= 0
    earlier = None if known.all() else work_list.earlier_titles()
    relevance = disclosure_of(state, work_list).relevance(work_list.relevance)
    on_wiki = load_wiki_counts(state.store, work_list)
    importance = {page: facts.importance for page, facts in on_wiki.items() if facts.importance}
    return ArticleList(
        state.collection_of(work_list),
        work_list.page_ids,
        relevance,
        work_list.reasons,
        state.facts,
        earlier,
        importance={**importance, **work_list.importance},
        on_wiki=on_wiki,
        is_brought=bool(work_list.left_out[0]),
    )


def make_listing(state: AppState, work_list: WorkList, base: str, filters: Filters | None = None) -> Listing:
    """The list, filtered. Its addresses can only read; a server without an address (`base`) has none."""
    articles = list_articles(state, work_list)
    return Listing(
        title=work_list.title,
        task=1,
        topic=run_topic(state.collection, work_list.number),
        repeat=1,
        updated=work_list.created,
        address=base and f"{base}{list_path(work_list.reader)}/refresh",
        edit_address=base and f"{base}/lists/new?from={work_list.reader}",
        articles=articles.articles((filters or Filters()).apply(articles)),
        wiki_url=state.wiki_url,
        statuses=list_statuses(state.store, work_list, state.collection.manifest.language),
        explanation=explain_shares(list_bars(state, work_list), state.age, state.collection.manifest.language),
        language=state.collection.manifest.language,
    )
