"""A work list for readers: its articles, and the form in which exports and wikis take it."""

from __future__ import annotations

from starlette.requests import Request

from evenrank.app.articles.article import ArticleList
from evenrank.app.desk import Desk
from evenrank.app.exports.listing import Listing
from evenrank.app.lists.filters import Filters
from evenrank.app.lists.marks import list_statuses
from evenrank.app.lists.work_list import WorkList, load_list
from evenrank.app.request.access import requested
from evenrank.app.request.address import list_path


def requested_list(request: Request) -> WorkList:
    """The list that the address names."""
    return requested(load_list, request)


def list_articles(desk: Desk, work_list: WorkList) -> ArticleList:
    """The articles of a list with what is known of them."""
    known = desk.collection.rows_of(work_list.page_ids) >= 0
    earlier = None if known.all() else work_list.earlier_titles()
    return ArticleList(desk.collection, work_list.page_ids, work_list.relevance, work_list.reasons, desk.facts, earlier)


def listing_of(desk: Desk, work_list: WorkList, base: str, filters: Filters | None = None) -> Listing:
    """The list, filtered. Its addresses can only read; a server without an address (`base`) has none."""
    articles = list_articles(desk, work_list)
    return Listing(
        title=work_list.title,
        task=1,
        topic=work_list.number,
        repeat=1,
        updated=work_list.created,
        address=base and f"{base}{list_path(work_list.reader)}/refresh",
        edit_address=base and f"{base}/lists/new?from={work_list.reader}",
        articles=articles.articles((filters or Filters()).apply(articles)),
        wiki_url=desk.wiki_url,
        statuses=list_statuses(desk.store, work_list),
        importances=work_list.importance,
    )
