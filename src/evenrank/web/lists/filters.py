"""Filters of a list, kept in the address: class, region, size, words of the title."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from evenrank.web.articles.article import CLASSES, REGIONS, ArticleList
from evenrank.web.pages.errors import BadRequestError
from evenrank.web.request.question import clean

SIZES: dict[str, tuple[str, int, int]] = {
    "tiny": ("under 1 kB", 0, 1_000),
    "small": ("1 to 5 kB", 1_000, 5_000),
    "medium": ("5 to 20 kB", 5_000, 20_000),
    "large": ("over 20 kB", 20_000, 2**31 - 1),
}
"""Size choices by their word in the address: label, least, and less than."""
CHOICES: dict[str, Collection[str]] = {"class": CLASSES, "region": REGIONS, "size": SIZES}
"""Words of the address that take one of a few values."""
MAX_TEXT = 100
"""Characters of a title that are looked for."""


@dataclass(frozen=True)
class Filters:
    """What a visitor wants to see of a list; empty text is no filter."""

    quality: str = ""
    region: str = ""
    size: str = ""
    text: str = ""
    page: int = 1

    @property
    def is_any(self) -> bool:
        return bool(self.quality or self.region or self.size or self.text)

    def to_query(self, page: int | None = None) -> str:
        """The filters as the part of an address behind its question mark; empty when there are none."""
        kept = self if page is None else replace(self, page=page)
        pairs = {"class": kept.quality, "region": kept.region, "size": kept.size, "q": kept.text}
        chosen = {name: value for name, value in pairs.items() if value}
        return urlencode({**chosen, "page": kept.page} if kept.page > 1 else chosen)

    def apply(self, articles: ArticleList) -> NDArray[np.intp]:
        """Places of the list that pass all filters."""
        passes = np.ones(len(articles), bool)
        if self.quality:
            passes &= articles.classes() == CLASSES.index(self.quality)
        if self.region:
            passes &= (articles.region_masks() >> REGIONS.index(self.region) & 1).astype(bool)
        sizes = articles.sizes()
        if self.size and sizes is not None:
            _, least, below = SIZES[self.size]
            passes &= (sizes >= least) & (sizes < below)
        if self.text:
            wanted = self.text.casefold()
            passes &= np.array([wanted in title.casefold() for title in articles.titles()], bool)
        return np.flatnonzero(passes)


def check_filters(query: Mapping[str, str]) -> None:
    """Nothing when every filter can be used; else an error that lists all that is wrong, for bots that mistype."""
    wrong = [
        f"{name} must be one of: {', '.join(values)}."
        for name, values in CHOICES.items()
        if name in query and query[name] not in values
    ]
    if len(query.get("q", "")) > MAX_TEXT:
        wrong.append(f"q has more than {MAX_TEXT} characters.")
    if wrong:
        raise BadRequestError(" ".join(wrong))


def parse_filters(query: Mapping[str, str]) -> Filters:
    """Filters from an address; what is not a known value filters nothing."""

    def known(name: str) -> str:
        value = query.get(name, "")
        return value if value in CHOICES[name] else ""

    page = query.get("page", "1")
    return Filters(
        quality=known("class"),
        region=known("region"),
        size=known("size"),
        text=clean(query.get("q", ""))[:MAX_TEXT],
        page=int(page) if page.isascii() and page.isdecimal() and 0 < len(page) < 7 and int(page) > 0 else 1,
    )
