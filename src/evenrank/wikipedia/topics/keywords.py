"""Keywords of projects: words that occur in more of their articles than in the rest of the corpus.

The contrast is the log-odds ratio of Monroe, Colaresi and Quinn, *Fightin' Words* (2008), with an informative Dirichlet
prior: how often a word occurs in the whole corpus counts as so many articles seen before, and the difference is divided
by its standard deviation. Counted are articles with the word, so that one long article does not decide.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from evenrank.core.records import Article
from evenrank.core.types import Floats
from evenrank.io.corpus import Site
from evenrank.wikipedia.annotate.inline import site_names
from evenrank.wikipedia.annotate.wikitext import parse_wikitext

METHOD = (
    "log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi and Quinn 2008) over the numbers of articles "
    "with a word, in the project against the rest of the corpus, divided by its standard deviation"
)
SHORTEST = 3
"""Letters of the shortest keyword."""
FEWEST_ARTICLES = 2
"""Articles of the project that a keyword occurs in, at least."""
MAX_WORDS = 4_000_000
"""Different words that are kept; when there are more, those seen in one article are forgotten."""
_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")


class Keyword(NamedTuple):
    """A word of a project."""

    word: str
    z: float
    """Log-odds ratio divided by its standard deviation."""
    n_articles: int
    """Articles of the project that have the word."""


@dataclass(frozen=True)
class WordReader:
    """The distinct words of articles; a function that any process can call."""

    site: Site
    n_characters: int
    """Characters of each article that are read."""

    def __call__(self, articles: tuple[Article, ...]) -> list[tuple[int, tuple[str, ...]]]:
        return [(article.page_id, self.words(article.text)) for article in articles]

    def words(self, text: str) -> tuple[str, ...]:
        """The distinct words of an article, in lower case, ascending."""
        page = parse_wikitext(text, site_names(self.site))
        parts = chain([page.lead], (section.text for section in page.sections))
        shown = "\n".join(parts)[: self.n_characters].casefold()
        return tuple(sorted({word for word in _WORD.findall(shown) if len(word) >= SHORTEST}))


@dataclass
class ProjectWords:
    """Articles with each word, in the whole corpus and in each project."""

    projects_of: dict[int, tuple[int, ...]]
    """Places of the projects of each tagged page."""
    n_projects: int
    n_articles: int = 0
    by_word: Counter[str] = field(default_factory=Counter)
    in_project: list[Counter[str]] = field(default_factory=list)
    n_in_project: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.in_project = [Counter() for _ in range(self.n_projects)]
        self.n_in_project = [0] * self.n_projects

    def add(self, articles: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        """Count the words of some articles."""
        for page_id, words in articles:
            self.n_articles += 1
            self.by_word.update(words)
            for at in self.projects_of.get(page_id, ()):
                self.in_project[at].update(words)
                self.n_in_project[at] += 1
        if len(self.by_word) > MAX_WORDS:
            self.by_word = Counter({word: n for word, n in self.by_word.items() if n > 1})

    def keywords(self, at: int, n: int, prior_articles: float) -> list[Keyword]:
        """The words that set a project apart, best first; forms of one word count once."""
        counts = self.in_project[at]
        common = sorted(word for word, count in counts.items() if count >= FEWEST_ARTICLES)
        inside = np.array([counts[word] for word in common], np.float64)
        everywhere = np.maximum(np.array([self.by_word[word] for word in common], np.float64), inside)
        z = log_odds_z(inside, self.n_in_project[at], everywhere, self.n_articles, prior_articles)
        order = np.lexsort((np.arange(len(common)), -z)).tolist()
        return _distinct((Keyword(common[i], float(z[i]), counts[common[i]]) for i in order if z[i] > 0.0), n)


def log_odds_z(inside: Floats, n_inside: int, everywhere: Floats, n_everywhere: int, prior_articles: float) -> Floats:
    """z of each word: how far its odds in a project exceed those in the rest, in standard deviations.

    `inside` and `everywhere` are articles with the word, among `n_inside` and `n_everywhere`; the prior is worth
    `prior_articles` articles (equations 16 and 18 to 22 of the paper, for binomial counts).
    """
    prior = prior_articles * everywhere / max(n_everywhere, 1)
    outside, n_outside = everywhere - inside, n_everywhere - n_inside
    log_odds = [
        np.log(count + prior) - np.log(np.maximum(n - count + prior_articles - prior, 1e-9))
        for count, n in ((inside, n_inside), (outside, n_outside))
    ]
    variance = 1.0 / (inside + prior) + 1.0 / (outside + prior)
    return np.asarray((log_odds[0] - log_odds[1]) / np.sqrt(variance))


def _distinct(keywords: Iterable[Keyword], n: int) -> list[Keyword]:
    """The first n keywords of which none is another with a short ending (`opening`, `openings`)."""
    kept: list[Keyword] = []
    for keyword in keywords:
        if len(kept) == n:
            break
        if not any(_is_form(keyword.word, other.word) for other in kept):
            kept.append(keyword)
    return kept


def _is_form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(long) - len(short) <= 2 and long.startswith(short)


def projects_of_pages(page_lists: Sequence[Iterable[int]]) -> dict[int, tuple[int, ...]]:
    """Places of the projects of each page."""
    found: dict[int, tuple[int, ...]] = {}
    for at, pages in enumerate(page_lists):
        for page in pages:
            found[int(page)] = (*found.get(int(page), ()), at)
    return found
