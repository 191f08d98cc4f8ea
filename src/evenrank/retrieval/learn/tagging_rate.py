"""The share of relevant pages that a project tagged, from a sample of pages that people judged.

Page lists of projects are positive and unlabelled: a tagged page is relevant, and of another nothing is known. Where
every relevant page had the same chance c to be tagged, the probability of a tag is c times the probability of relevance
(Elkan and Noto, *Learning classifiers from only positive and unlabeled data*, 2008); c is the tagging rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from evenrank.core.records import Topic
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.topics import read_qrels
from evenrank.trec.collection import Collection, as_collection

Z = 1.959963984540054
"""Standard normal deviate of an interval of 95 %."""


@dataclass(frozen=True)
class TaggingRate:
    """An estimated tagging rate."""

    rate: float
    low: float
    """Lower end of the 95 % interval (Wilson)."""
    high: float
    n_relevant: int
    """Judged pages that are relevant."""
    n_tagged: int
    """Those of them that were tagged."""

    def __str__(self) -> str:
        return (
            f"tagging rate {self.rate:.3f} ({self.low:.3f} to {self.high:.3f}): "
            f"{self.n_tagged:,} of {self.n_relevant:,} judged relevant pages are tagged"
        )


def estimate_tagging_rate(collection: Collection | FilePath, sample: FilePath) -> TaggingRate:
    """The tagging rate of a collection's training topics from a qrels file of pages that people judged.

    Pages must be chosen for judging whether they are tagged or not, for example at random from a ranking: a sample of
    tagged pages alone would always give 1.
    """
    topics = {topic.id: topic for topic in as_collection(collection).topics if topic.split == "train"}
    grades = read_qrels(sample)
    known = {topic: pages for topic, pages in grades.items() if topic in topics}
    if not known:
        raise EvenrankError(
            f"{sample}: no judgments of training topics (judge pages of topics that `learn` learns from)"
        )
    return tagging_rate_of(topics, known)


def tagging_rate_of(topics: Mapping[int, Topic], grades: Mapping[int, Mapping[int, int]]) -> TaggingRate:
    """Share of the relevant pages of a judged sample that their topics list."""
    n_relevant = n_tagged = 0
    for topic, pages in grades.items():
        relevant = np.array([page for page, grade in pages.items() if grade > 0], np.int64)
        n_relevant += len(relevant)
        n_tagged += int(np.isin(relevant, topics[topic].rel_docs).sum())
    if not n_tagged:
        raise EvenrankError(f"none of the {n_relevant:,} judged relevant pages is tagged: no rate to learn with")
    low, high = wilson_interval(n_tagged, n_relevant)
    return TaggingRate(n_tagged / n_relevant, low, high, n_relevant, n_tagged)


def wilson_interval(n_hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    share, square = n_hits / n, Z * Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z * sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return centre - half if n_hits else 0.0, centre + half if n_hits < n else 1.0
