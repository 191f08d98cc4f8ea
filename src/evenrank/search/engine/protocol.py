"""The engine protocol: what a text index does for us, in lists of weighted words, never in its query language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenrank.alignment.dimension import UNKNOWN_MASK
from evenrank.records import NO_CLASS

TextField = Literal["title", "lead", "text", "categories", "infobox"]
TEXT_FIELDS: tuple[TextField, ...] = ("title", "lead", "text", "categories", "infobox")
"""Fields that can be searched."""
ValueField = Literal["geography", "gender", "quality_class", "quality_score"]
VALUE_FIELDS: tuple[ValueField, ...] = ("geography", "gender", "quality_class", "quality_score")
"""Fields read as one number a page, without loading documents."""
GROUP_FIELDS = ("geography", "gender")
"""Fields whose masks can restrict a search."""


@dataclass(frozen=True, slots=True)
class IndexPage:
    """One page as it goes into an index."""

    page_id: int
    title: str
    lead: str = ""
    """Text before the first heading."""
    text: str = ""
    """The whole article, lead included."""
    categories: str = ""
    infobox: str = ""
    masks: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(GROUP_FIELDS, UNKNOWN_MASK))
    """Group mask by dimension; bit i is the dimension's group i, bit 0 is unknown."""
    quality_class: int = NO_CLASS
    """Class in work order (`records.WORK_ORDER`); `records.NO_CLASS` when unknown."""
    quality_score: float = float("nan")


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """What a query asks of one field. Words are analysed already (`Engine.analyse`)."""

    field: TextField
    words: tuple[str, ...]
    """Alternatives, of which the best-scoring counts; or, for a phrase, words in a row."""
    weight: float = 1.0
    is_phrase: bool = False

    def __str__(self) -> str:
        words = " ".join(self.words) if self.is_phrase else "/".join(self.words)
        return f'{self.field}:"{words}"' if self.is_phrase else f"{self.field}:{words}"


@dataclass(frozen=True, slots=True)
class Restriction:
    """Which pages a search may return; the empty restriction allows all."""

    groups: Mapping[str, int] = field(default_factory=dict)
    """Mask by dimension: the page must share a bit with each."""
    page_ids: Sequence[int] | None = None
    """Only these pages."""
    up_to_page_id: int | None = None
    """Only pages with this id or a smaller one (a judged window)."""


EVERYTHING = Restriction()


class Hits(NamedTuple):
    """Pages found, by descending score, equal scores by ascending page id."""

    page_ids: NDArray[np.int32]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """How large an index is."""

    n_pages: int
    n_segments: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoredPage:
    """What an index can show of a page."""

    page_id: int
    title: str
    opening: str
    """The first characters of the text."""


class Engine(Protocol):
    """A text index. Several threads and processes may search one index; one process at a time writes."""

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages; they are found after the next commit. A page id must not be in the index already."""
        ...

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages; to update a page, delete and add it."""
        ...

    def commit(self) -> None:
        """Make all changes since the last commit visible, at once or not at all."""
        ...

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages by the sum of weighted BM25 scores; fewer when fewer match any term."""
        ...

    def values(self, name: ValueField, page_ids: Sequence[int]) -> NDArray[np.float64]:
        """One number for each page; NaN for a page that is not in the index."""
        ...

    def stored(self, page_ids: Sequence[int]) -> list[StoredPage | None]:
        """Title and opening of each page; None for a page that is not in the index."""
        ...

    def analyse(self, field: TextField, text: str) -> list[str]:
        """The words of a text as `field` indexes them."""
        ...

    def document_frequency(self, field: TextField, word: str) -> int:
        """Number of pages whose field holds an analysed word."""
        ...

    def statistics(self) -> IndexStatistics: ...

    def close(self) -> None: ...
