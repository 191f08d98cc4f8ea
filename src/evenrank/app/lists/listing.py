"""A work list for readers: its articles, filtered as the address says, and the form in which exports take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request

from evenrank.app.articles.article import ArticleList
from evenrank.app.articles.collection_view import CLASSES, address_name, shown_dimensions
from evenrank.app.exports.listing import Listing
from evenrank.app.lists.work_list import WorkList, list_statuses, load_list
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.access import find_requested
from evenrank.app.request.forms import clean_text
from evenrank.app.request.visitor import list_path
from evenrank.app.state import AppState
from evenrank.core.groups import Dimension
from evenrank.trec.collection import Collection

SIZES: dict[str, tuple[str, int, int]] = {
    "tiny": ("under 1 kB", 0, 1_000),
    "small": ("1 to 5 kB", 1_000, 5_000),
    "medium": ("5 to 20 kB", 5_000, 20_000),
    "large": ("over 20 kB", 20_000, 2**31 - 1),
}
"""Size choices by their word in the address: label, least, and less than."""
VIEWS: dict[str, tuple[str, int, int]] = {
    "few": ("under 100", 0, 100),
    "some": ("100 to 1,000", 100, 1_000),
    "many": ("1,000 to 10,000", 1_000, 10_000),
    "most": ("over 10,000", 10_000, 2**62),
}
"""Choices of page views by their word in the address: label, least, and less than."""
ORDERS = {"": "By rank", "title": "By title", "class": "By class", "size": "By size", "views": "Most read first"}
"""Orders of the rows by their word in the address; the empty one is that of the list."""
MAX_TEXT = 100
"""Characters of a title that are looked for."""


@dataclass(frozen=True)
class Filters:
    """What a visitor wants to see of a list; empty text is no filter."""

    quality: str = ""
    size: str = ""
    views: str = ""
    text: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Name in the address → the group that articles must be in."""
    order: str = ""
    page: int = 1

    @property
    def is_any(self) -> bool:
        return bool(self.quality or self.groups or self.size or self.views or self.text)

    def to_query(self, page: int | None = None) -> str:
        """The filters as the part of an address behind its question mark; empty when there are none."""
        kept = self if page is None else replace(self, page=page)
        pairs = {
            "class": kept.quality,
            **kept.groups,
            "size": kept.size,
            "views": kept.views,
            "q": kept.text,
            "sort": kept.order,
        }
        chosen = {name: value for name, value in pairs.items() if value}
        return urlencode({**chosen, "page": kept.page} if kept.page > 1 else chosen)

    def apply(self, articles: ArticleList) -> NDArray[np.intp]:
        """Places of the list that pass all filters."""
        passes = np.ones(len(articles), bool)
        if self.quality:
            passes &= articles.classes() == CLASSES.index(self.quality)
        for dimension in shown_dimensions(articles.collection):
            group = self.groups.get(address_name(dimension))
            if group is not None:
                passes &= (articles.masks(dimension) >> dimension.groups.index(group) & 1).astype(bool)
        sizes = articles.sizes()
        if self.size and sizes is not None:
            _, least, below = SIZES[self.size]
            passes &= (sizes >= least) & (sizes < below)
        views = articles.views()
        if self.views and views is not None:
            _, least, below = VIEWS[self.views]
            passes &= (views >= least) & (views < below)
        if self.text:
            wanted = self.text.casefold()
            passes &= np.array([wanted in title.casefold() for title in articles.titles()], bool)
        return self._ordered(np.flatnonzero(passes), articles)

    def _ordered(self, chosen: NDArray[np.intp], articles: ArticleList) -> NDArray[np.intp]:
        """Places in the order that the visitor wants; equal ones by rank."""
        if self.order == "title":
            titles = articles.titles()
            return np.array(sorted(chosen.tolist(), key=lambda at: titles[at].casefold()), np.intp)
        if self.order == "class":
            return chosen[np.argsort(articles.classes()[chosen], kind="stable")]
        views = articles.views()
        if self.order == "views" and views is not None:
            return chosen[np.argsort(-views[chosen], kind="stable")]
        sizes = articles.sizes()
        if self.order == "size" and sizes is not None:
            return chosen[np.argsort(sizes[chosen], kind="stable")]
        return chosen


def filter_choices(dimensions: tuple[Dimension, ...]) -> dict[str, tuple[str, ...]]:
    """Names in the address that take one of a few values, with those values."""
    of_groups = {address_name(dimension): dimension.groups for dimension in dimensions}
    return {"class": CLASSES, **of_groups, "size": tuple(SIZES), "views": tuple(VIEWS)}


def check_filters(query: Mapping[str, str], collection: Collection) -> None:
    """Nothing when every filter can be used; else an error that lists all that is wrong, for bots that mistype."""
    wrong = [
        f"{name} must be one of: {', '.join(values)}."
        for name, values in filter_choices(shown_dimensions(collection)).items()
        if name in query and query[name] not in values
    ]
    if len(query.get("q", "")) > MAX_TEXT:
        wrong.append(f"q has more than {MAX_TEXT} characters.")
    if wrong:
        raise BadRequestError(" ".join(wrong))


def parse_filters(query: Mapping[str, str], collection: Collection) -> Filters:
    """Filters from an address; what is not a known value filters nothing."""
    choices = filter_choices(shown_dimensions(collection))

    def known(name: str) -> str:
        value = query.get(name, "")
        return value if value in choices[name] else ""

    page = query.get("page", "1")
    return Filters(
        quality=known("class"),
        size=known("size"),
        views=known("views"),
        text=clean_text(query.get("q", ""))[:MAX_TEXT],
        order=query.get("sort", "") if query.get("sort", "") in ORDERS else "",
        groups={name: known(name) for name in choices if name not in ("class", "size", "views") and known(name)},
        page=int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 and int(page) > 0 else 1,
    )


def find_list(request: Request) -> WorkList:
    """The list that the address names."""
    return find_requested(load_list, request)


def list_articles(state: AppState, work_list: WorkList) -> ArticleList:
    """The articles of a list with what is known of them."""
    known = state.collection.rows_of(work_list.page_ids) >= 0
    earlier = None if known.all() else work_list.earlier_titles()
    return ArticleList(
        state.collection, work_list.page_ids, work_list.relevance, work_list.reasons, state.facts, earlier
    )


def make_listing(state: AppState, work_list: WorkList, base: str, filters: Filters | None = None) -> Listing:
    """The list, filtered. Its addresses can only read; a server without an address (`base`) has none."""
    articles = list_articles(state, work_list)
    return Listing(
        title=work_list.title,
        task=1,
        topic=work_list.number,
        repeat=1,
        updated=work_list.created,
        address=base and f"{base}{list_path(work_list.reader)}/refresh",
        edit_address=base and f"{base}/lists/new?from={work_list.reader}",
        articles=articles.articles((filters or Filters()).apply(articles)),
        wiki_url=state.wiki_url,
        statuses=list_statuses(state.store, work_list),
        importances=work_list.importance,
    )
