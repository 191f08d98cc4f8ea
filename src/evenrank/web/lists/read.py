"""Reading a work list, for pages, exports and the JSON interface alike."""

from __future__ import annotations

from starlette.requests import Request

from evenrank.web.articles.article import ArticleList
from evenrank.web.desk import Desk
from evenrank.web.lists.work_list import WorkList, load_list
from evenrank.web.request.kept import requested


def requested_list(request: Request) -> WorkList:
    """The list that the address names."""
    return requested(load_list, request)


def list_articles(desk: Desk, work_list: WorkList) -> ArticleList:
    """The articles of a list with what is known of them."""
    return ArticleList(desk.collection, work_list.page_ids, work_list.relevance, work_list.reasons, desk.facts)
