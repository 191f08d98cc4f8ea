"""What visitors see of a list or draw: filters and orders that live in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.article import NOTICES, ArticleList
from evenrank.app.articles.collection_view import CLASSES, address_name, shown_dimensions
from evenrank.app.pages.errors import BadRequestError
from evenrank.app.request.forms import clean_text
from evenrank.core.groups import Dimension
from evenrank.trec.collection import Collection
from evenrank.wikipedia.annotate.work_counts import WorkCounts
from evenrank.wikipedia.mediawiki.titles import IMPORTANCES

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
NEEDS = {
    "citations": "citations that are marked as needed",
    "maintenance": "what maintenance templates ask for",
    "sources": "sources (has none)",
    "images": "images (has none)",
    "sections": "sections (has none)",
}
"""Work that an article can need, by its word in the address. An article in which nothing was counted needs none."""
ORDERS = {
    "": "By rank",
    "title": "By title",
    "class": "By class",
    "size": "By size",
    "views": "Most read first",
    "importance": "Most important first",
    "citations": "Most citations needed first",
    "maintenance": "Most maintenance templates first",
    "sources": "Fewest sources first",
}
"""Orders of the rows by their word in the address; the empty one is that of the list."""
MAX_TEXT = 100
"""Characters of a title that are looked for."""


@dataclass(frozen=True)
class Filters:
    """What a visitor wants to see of a list; empty text is no filter."""

    quality: str = ""
    size: str = ""
    views: str = ""
    needs: str = ""
    importance: str = ""
    text: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Name in the address → the group that articles must be in."""
    order: str = ""
    page: int = 1

    @property
    def is_any(self) -> bool:
        return bool(
            self.quality or self.groups or self.size or self.views or self.needs or self.importance or self.text
        )

    def to_query(self, page: int | None = None) -> str:
        """The filters as the part of an address behind its question mark; empty when there are none."""
        kept = self if page is None else replace(self, page=page)
        pairs = {
            "class": kept.quality,
            **kept.groups,
            "size": kept.size,
            "views": kept.views,
            "needs": kept.needs,
            "importance": kept.importance,
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
        work = articles.work()
        if self.needs and work is not None:
            n = work[:, WorkCounts._fields.index(self.needs)]
            passes &= n > 0 if self.needs in NOTICES else n == 0
        if self.importance and articles.importance:
            known = [articles.importance.get(page, "Unknown") for page in articles.page_ids.tolist()]
            passes &= np.array([value == self.importance for value in known], bool)
        if self.text:
            wanted = self.text.casefold()
            passes &= np.array([wanted in title.casefold() for title in articles.titles()], bool)
        return self._ordered(np.flatnonzero(passes), articles)

    def _ordered(self, chosen: NDArray[np.intp], articles: ArticleList) -> NDArray[np.intp]:
        """Places in the order that the visitor wants; equal ones by rank."""
        if self.order == "title":
            titles = articles.titles()
            return np.array(sorted(chosen.tolist(), key=lambda at: titles[at].casefold()), np.intp)
        keys = self._keys(articles)
        return chosen if keys is None else chosen[np.argsort(keys[chosen], kind="stable")]

    def _keys(self, articles: ArticleList) -> NDArray[np.integer] | None:
        """What the order sorts by, the smallest first; None for the order of the list, or where nothing is known."""
        if self.order == "class":
            return articles.classes()
        if self.order == "importance":
            ranks = {name: place for place, name in enumerate(IMPORTANCES)}
            known = (articles.importance.get(page, "") for page in articles.page_ids.tolist())
            return np.array([ranks.get(name, len(ranks)) for name in known], np.intp)
        if self.order in WorkCounts._fields:
            work = articles.work()
            n = None if work is None else work[:, WorkCounts._fields.index(self.order)].astype(np.int64)
            if n is None or self.order in NOTICES:
                return None if n is None else -n
            return np.where(n < 0, np.iinfo(np.int64).max, n)
        sizes, views = articles.sizes(), articles.views()
        if self.order == "views":
            return None if views is None else -views
        return sizes if self.order == "size" else None


def offered_filters(articles: ArticleList) -> dict[str, Any]:
    """What forms offer: orders, kinds of work and importances of which something is known of the articles."""
    work = articles.work()
    known = {"views": articles.views() is not None, "importance": bool(articles.importance)}
    offered = {"has_views": known["views"], "importances": IMPORTANCES if articles.importance else ()}
    known |= {name: work is not None and bool((work[:, at] >= 0).any()) for at, name in enumerate(WorkCounts._fields)}
    return offered | {
        "orders": {name: label for name, label in ORDERS.items() if known.get(name, True)},
        "needs": {name: label for name, label in NEEDS.items() if known[name]},
    }


def filter_choices(dimensions: tuple[Dimension, ...]) -> dict[str, tuple[str, ...]]:
    """Names in the address that take one of a few values, with those values."""
    of_groups = {address_name(dimension): dimension.groups for dimension in dimensions}
    work = {"needs": tuple(NEEDS), "importance": IMPORTANCES}
    return {"class": CLASSES, **of_groups, "size": tuple(SIZES), "views": tuple(VIEWS), **work}


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
        needs=known("needs"),
        importance=known("importance"),
        text=clean_text(query.get("q", ""))[:MAX_TEXT],
        order=query.get("sort", "") if query.get("sort", "") in ORDERS else "",
        groups={name: known(name) for name in map(address_name, shown_dimensions(collection)) if known(name)},
        page=int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 and int(page) > 0 else 1,
    )
