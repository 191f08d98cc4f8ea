"""The nouns of the paper as plain values: topic, article, run, ranking; and the work order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from evenrank.core.text_ids import TextIds

Task = Literal[1, 2]
Split = Literal["train", "eval"]

WORK_ORDER = ("Stub", "Start", "C", "B", "GA", "FA")
"""Quality classes, the one that needs most work first."""
NO_CLASS = len(WORK_ORDER)
"""Code of a page without a quality class."""
CONTINENTS = (
    "Africa",
    "Antarctica",
    "Asia",
    "Europe",
    "Latin America and the Caribbean",
    "Northern America",
    "Oceania",
)
"""Continents in the track's order (UN geoscheme)."""

RANKING_LENGTH: dict[Task, int] = {1: 1000, 2: 50}
"""Pages in one ranking, by task."""
N_RANKINGS: dict[Task, int] = {1: 1, 2: 100}
"""Rankings for one topic, by task."""


def no_pages() -> NDArray[np.int32]:
    """An empty list of page ids."""
    return np.empty(0, np.int32)


LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
"""The form of a language's code, such as `en` or `zh-hant`."""


class Article(NamedTuple):
    """One record of the corpus (a plain tuple, because millions of them are made)."""

    page_id: int
    title: str
    url: str
    text: str
    """Wikitext, or plain text."""
    key: str = ""
    """The id in the corpus, where ids are text."""


def _is_equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other


@dataclass(frozen=True, slots=True)
class Topic:
    """A WikiProject as a query, with its judgments where they are known."""

    id: int
    title: str
    keywords: tuple[str, ...] = ()
    scope: str = ""
    homepage: str = ""
    split: Split = "train"
    rel_docs: NDArray[np.int32] = field(default_factory=no_pages)
    """Relevant pages, without repetition, in the file's order."""
    assessed_docs: NDArray[np.int32] | None = None
    """All judged pages; None when the judgments are a complete list of the relevant."""
    max_tier: int | None = None
    """Deepest pool tier that was assessed; None for training topics."""
    judged_up_to: int | None = None
    """Only pages up to this id were judged, all of them; an import lists them in `assessed_docs`."""

    def was_judged(self, page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether each page was judged: all of them where the judgments are a complete list of the relevant."""
        if self.assessed_docs is None:
            return np.ones(len(page_ids), np.bool_)
        return np.isin(page_ids, self.assessed_docs) | np.isin(page_ids, self.rel_docs)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal; arrays as a whole, which a dataclass would compare number by number."""
        if not isinstance(other, Topic):
            return NotImplemented
        return all(_is_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))


@dataclass(frozen=True, slots=True)
class Run:
    """The rankings of one system, in the file's order.

    Ranking r holds `pages[starts[r]:starts[r + 1]]`, rank 1 first, for topic `topic_ids[r]`; in Task 2
    `repeats[r]` is its repeat number, in Task 1 it is 1.
    """

    name: str
    task: Task
    topic_ids: NDArray[np.int32]
    repeats: NDArray[np.int32]
    starts: NDArray[np.int64]
    pages: NDArray[np.int32]
    scores: NDArray[np.float64] | None = None
    """Retrieval scores beside `pages`, when the file had them (six-column TREC)."""
    ids: TextIds | None = field(default=None, repr=False, compare=False)
    """The ids of pages where they are text; `pages` has their numbers."""
    made_for: str | None = None
    """Protocol that the run was made for, when the record beside its file says so."""
    titles: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    """Titles of topics that are in no file, from the record: the subject of a query."""

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: task {self.task}, {self.n_rankings:,} rankings, {len(self.pages):,} pages>"

    @property
    def n_rankings(self) -> int:
        return len(self.topic_ids)

    def shown_ids(self, pages: NDArray[np.int32]) -> list[int] | list[str]:
        """Ids of pages as files have them: numbers, or text."""
        numbers: list[int] = pages.tolist()
        return numbers if self.ids is None else self.ids.texts(numbers)

    def ranking(self, index: int) -> NDArray[np.int32]:
        """Pages of ranking number `index` of the file, rank 1 first."""
        return self.pages[self.starts[index] : self.starts[index + 1]]

    def rankings(self) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
        """(topic id, repeat number, pages) of each ranking."""
        for index in range(self.n_rankings):
            yield int(self.topic_ids[index]), int(self.repeats[index]), self.ranking(index)

    @classmethod
    def from_rankings(cls, name: str, task: Task, rankings: Iterator[tuple[int, int, NDArray[np.int32]]]) -> Run:
        """A run from (topic id, repeat number, pages) triples."""
        triples = list(rankings)
        lengths = [len(pages) for _, _, pages in triples]
        return cls(
            name=name,
            task=task,
            topic_ids=np.array([topic for topic, _, _ in triples], np.int32),
            repeats=np.array([repeat for _, repeat, _ in triples], np.int32),
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            pages=np.concatenate([p for _, _, p in triples]).astype(np.int32) if triples else no_pages(),
        )
