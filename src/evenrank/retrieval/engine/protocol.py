"""The engine protocol: what a text index does for us, in lists of weighted words, never in its query language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import NO_CLASS
from evenrank.errors import EvenrankError

TextField = Literal["title", "lead", "text", "categories", "infobox", "kind", "person"]
TEXT_FIELDS: tuple[TextField, ...] = ("title", "lead", "text", "categories", "infobox", "kind", "person")
"""Fields that can be searched; `person` has one word, which tells biographies from other pages (`biography`)."""
POSITION_FIELDS: tuple[TextField, ...] = ("title", "lead", "categories")
"""Fields that know phrases; positions of the whole text would triple the index."""
OPENING_LENGTH = 2000
"""Characters of the text that are stored: for feedback, encoders and people."""
SHOWN_FIELDS = ("shown_title", "shown_categories", "opening")
"""Texts that are stored as they are."""
QUALITY_FIELDS = ("quality_class", "quality_score")
"""Numbers of a page that can be read without loading documents; the group masks of its dimensions are others."""


class EngineUnavailableError(EvenrankError):
    """An engine does not answer, or only in part, or its folder is gone; nothing is wrong with the request."""


@dataclass(frozen=True)
class IndexLayout:
    """What the fields of an index depend on."""

    groups: tuple[str, ...] = ("geography", "gender")
    """Dimensions whose group masks every page carries and a search can be restricted to."""
    language: str = "en"
    """Code of the language of the text (`analysis.analyser_for`)."""


class IndexPage(NamedTuple):
    """One page as it goes into an index (a plain tuple, because millions of them are made)."""

    page_id: int
    title: str
    lead: str = ""
    """Text before the first heading."""
    text: str = ""
    """The whole article, lead included."""
    categories: str = ""
    """Names of the categories, one a line."""
    infobox: str = ""
    """Values of the infoboxes and words of table cells."""
    kind: str = ""
    """What the page is: names of its infoboxes, occupations of a person, classes by Wikidata."""
    masks: Mapping[str, int] = MappingProxyType({})
    """Group mask by dimension; bit i is the dimension's group i, bit 0 is unknown, as is a dimension not named."""
    quality_class: int = NO_CLASS
    """Class in work order (`records.WORK_ORDER`); `records.NO_CLASS` when unknown."""
    quality_score: float = float("nan")


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """What a query asks of one field. Words are analysed already (`analysis.analyse`)."""

    field: TextField
    words: tuple[str, ...]
    """Alternatives, of which the best-scoring counts; or, for a phrase, words in a row."""
    weight: float = 1.0
    is_phrase: bool = False
    with_words: tuple[tuple[str, ...], ...] = ()
    """Further words that the field must have anywhere, each with its alternatives; all of them are scored."""

    def __str__(self) -> str:
        if self.is_phrase:
            return f'{self.field}:"{" ".join(self.words)}"'
        return f"{self.field}:" + "+".join("/".join(words) for words in (self.words, *self.with_words))


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
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordCounts:
    """How often words occur in one field of some pages, and of all."""

    in_pages: NDArray[np.float64]
    """Page by word."""
    lengths: NDArray[np.float64]
    """Words in the field of each page, rounded as the index rounds them; 0 where a page has none of the words."""
    in_all: NDArray[np.float64]
    """Occurrences of each word in all pages."""
    mean_length: float
    """Of the field, over all pages; 0 where no page has any of the words."""
    n_pages: int
    """All pages of the index."""


class Query(NamedTuple):
    """One search: what is asked for, how many pages, and among which."""

    terms: Sequence[WeightedTerm]
    k: int
    restriction: Restriction = EVERYTHING


class Engine(Protocol):
    """A text index, here or on another machine. Several threads and processes may search it; one at a time writes.

    Methods that take several queries, words or pages send them together: one exchange with a remote engine. Scores
    are BM25 with k1 = 1.2 and b = 0.75 in every engine. Any method may raise EngineUnavailableError.
    """

    @property
    def layout(self) -> IndexLayout:
        """What the fields of the index depend on."""
        ...

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages, each in place of an earlier page with its id; they are found after the next commit."""
        ...

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages, as of the next commit."""
        ...

    def commit(self, mark: str = "") -> None:
        """Make all changes since the last commit durable and visible; the mark says how far they reach."""
        ...

    def mark(self) -> str:
        """The mark of the last commit that is durable; empty when there was none. A build resumes after it."""
        ...

    def publish(self) -> None:
        """Put a complete build in the place of the index that was in use before it."""
        ...

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages by the sum of weighted BM25 scores; fewer when fewer match any term."""
        ...

    def search_many(self, queries: Sequence[Query]) -> list[Hits]:
        """The answer of `search` to each query."""
        ...

    def values(self, name: str, page_ids: Sequence[int]) -> NDArray[np.float64]:
        """A group mask or a number of `QUALITY_FIELDS` for each page; NaN for a page that is not in the index."""
        ...

    def stored(self, page_ids: Sequence[int]) -> list[StoredPage | None]:
        """What can be shown of each page; None for a page that is not in the index."""
        ...

    def analyse(self, field: TextField, text: str) -> list[str]:
        """The words of a text as `field` indexes them: `analysis.analyse` for the language of the index."""
        ...

    def document_frequencies(self, field: TextField, words: Sequence[str]) -> list[int]:
        """Number of pages whose field holds each analysed word."""
        ...

    def page_ids(self) -> NDArray[np.int32]:
        """The ids of all pages, ascending."""
        ...

    def statistics(self) -> IndexStatistics: ...

    def refresh(self) -> None:
        """Search what other processes have committed since this index was opened."""
        ...

    def close(self) -> None:
        """Let go of the index; what is not committed is dropped."""
        ...


@runtime_checkable
class PreparingEngine(Engine, Protocol):
    """An engine whose pages can be turned into documents on any machine (`opensearch_index.bulk_bodies`)."""

    def add_prepared(self, bodies: Iterable[bytes]) -> None:
        """Add pages that were prepared, in order; see `Engine.add`."""
        ...


class UpdatingEngine(Engine, Protocol):
    """An engine whose finished index can be copied and changed (`EngineKind.copy`): with the same results as an index
    that is built from the changed pages."""

    @property
    def n_removed(self) -> int:
        """Pages that were removed or replaced since the index was built, and still take room."""
        ...

    def pages(self, page_ids: Sequence[int]) -> list[IndexPage | None]:
        """Pages as they were added; None for a page that is not in the index."""
        ...

    def update(self, pages: Iterable[IndexPage], removed: Iterable[int], mark: str) -> bool:
        """Add pages, each once, in place of earlier ones with their ids, and remove others; commit all with a mark.

        False where the results would not be those of an index built from the changed pages: build one instead.
        """
        ...


@runtime_checkable
class CountingEngine(Engine, Protocol):
    """An engine that tells how often words occur."""

    def count_words(self, field: TextField, words: Sequence[str], page_ids: Sequence[int]) -> WordCounts:
        """Occurrences of analysed words in the field of each page, and in all pages."""
        ...


@runtime_checkable
class MatchingEngine(Engine, Protocol):
    """An engine that tells which pages have some words faster than by a search for each."""

    def matches(self, asked: Sequence[Sequence[WeightedTerm]], page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each page has any of the terms, for each of several lists of terms: list by page."""
        ...


@runtime_checkable
class BoundingEngine(Engine, Protocol):
    """An engine that would have to look for the pages of a word to count them, and knows about how many there are."""

    def frequency_bounds(self, field: TextField, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """Numbers from which and up to which `document_frequencies` are."""
        ...


def shown_texts(page: IndexPage) -> dict[str, bytes]:
    """Texts that are stored as they are, in UTF-8; halves of characters, which no file can hold, are replaced."""
    return {
        "shown_title": page.title.encode("utf-8", "replace"),
        "shown_categories": page.categories.encode("utf-8", "replace"),
        "opening": page.text[:OPENING_LENGTH].encode("utf-8", "replace"),
    }


def stored_page(page_id: int, shown: Mapping[str, str]) -> StoredPage:
    """The page whose `shown_texts` were decoded."""
    title, categories, opening = (shown.get(name, "") for name in SHOWN_FIELDS)
    return StoredPage(page_id, title, opening, tuple(filter(None, categories.split("\n"))))


@lru_cache(4096)
def set_bits(mask: int) -> tuple[int, ...]:
    """Positions of the bits that are set."""
    return tuple(position for position in range(mask.bit_length()) if mask >> position & 1)


def merge_terms(terms: Iterable[WeightedTerm]) -> list[WeightedTerm]:
    """Terms without repetition, their weights added up, zeros dropped: engines count a repeated term once."""
    merged: dict[tuple[object, ...], WeightedTerm] = {}
    for term in terms:
        asked = (term.field, term.words, term.is_phrase, term.with_words)
        earlier = merged.get(asked)
        merged[asked] = term if earlier is None else replace(term, weight=earlier.weight + term.weight)
    return [term for term in merged.values() if term.weight and term.words]


SCORE_DIGITS = 5
"""Digits of the best score that count: the order of additions, and so the last bits, differ between builds."""


def order_of_ties(scores: NDArray[np.float64], page_ids: NDArray[np.int32]) -> NDArray[np.intp]:
    """Positions by falling score, equal scores by page id; scores must fall already, so that ties are adjacent."""
    tie = np.zeros(len(scores), np.int64)
    np.cumsum(scores[1:] != scores[:-1], out=tie[1:])
    return np.argsort(tie << 32 | page_ids, kind="stable")


def round_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores to so many digits of the best one that equal pages have equal scores in every build and engine."""
    best = np.abs(scores).max(initial=0.0)
    decimals = SCORE_DIGITS - int(np.floor(np.log10(best))) if best > 0 else 0
    return np.round(scores, decimals)
