"""A work list as exports and wikis take it."""

from __future__ import annotations

from evenrank.web.desk import Desk
from evenrank.web.exports.listing import Listing
from evenrank.web.lists.filters import Filters
from evenrank.web.lists.marks import list_statuses
from evenrank.web.lists.read import list_articles
from evenrank.web.lists.work_list import WorkList
from evenrank.web.storage.links import list_path


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
        settings=desk.settings,
        statuses=list_statuses(desk.store, work_list),
        importances=work_list.importance,
    )
