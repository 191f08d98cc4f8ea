"""Features of pages themselves, read from title and opening: is it a biography, a list, how do its words fit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evenrank.records import Topic
from evenrank.search.engine.protocol import StoredPage
from evenrank.search.query.words import singular, split_words, word_list

Floats = NDArray[np.float64]

_LIFE_DATES = re.compile(r"\([^()]*\b(?:born\b|b\.\s|\d{3,4}[^()]*[–-][^()]*\d{3,4})")
_LIST = re.compile(r"(?:list|lists|outline|index) of |.*\(disambiguation\)$", re.IGNORECASE)
_HEAD = 300
"""Characters at the beginning in which a biography gives the dates of a life."""


def is_biography(page: StoredPage) -> bool:
    """Whether the first words hold the dates of a life, as those of biographies do."""
    return bool(_LIFE_DATES.search(page.opening[:_HEAD]))


def asks_for_people(topic: Topic) -> bool:
    """Whether a word of title or keywords denotes people."""
    words = split_words(" ".join([topic.title, *topic.keywords]))
    people = word_list("person_words")
    return any(word in people or singular(word) in people for word in words)


def page_features(topic: Topic, pages: Sequence[StoredPage]) -> dict[str, Floats]:
    """Features by name, each an array beside `pages`."""
    biography = np.array([is_biography(page) for page in pages], np.float64)
    return {
        "is_biography": biography,
        "wanted_biography": biography * asks_for_people(topic),
        "is_list": np.array([bool(_LIST.match(page.title)) for page in pages], np.float64),
        "is_part": np.array([" of " in page.title for page in pages], np.float64),
        "title_length": np.array([len(page.title.split()) for page in pages], np.float64),
        "opening_length": np.log1p([len(page.opening) for page in pages]),
    }


def dph(words: Mapping[str, float], openings: Sequence[Sequence[str]], rarity: Callable[[str], float]) -> Floats:
    """DPH score of each opening for weighted words (Amati 2006: divergence from randomness without parameters).

    `rarity(word)` is the number of pages over the number of pages with the word; it stands in for the number of
    pages over occurrences, which text indexes do not keep. For a word that stands tf times among l,
    with f = tf / l: (1 − f)² / (tf + 1) · (tf · log2(tf · mean l / l · rarity) + ½ log2(2π · tf · (1 − f))).
    """
    counts = [Counter(word for word in opening if word in words) for opening in openings]
    lengths = np.array([max(len(opening), 1) for opening in openings], np.float64)
    scores = np.zeros(len(openings))
    for word, weight in words.items():
        tf = np.array([count[word] for count in counts], np.float64)
        at = np.flatnonzero(tf)
        if len(at):
            scores[at] += weight * _dph_of_word(tf[at], lengths[at], lengths.mean(), rarity(word))
    return scores


def _dph_of_word(tf: Floats, lengths: Floats, mean_length: float, rarity: float) -> Floats:
    f = np.minimum(tf / lengths, 1.0 - 1e-9)
    information = tf * np.log2(np.maximum(tf * mean_length / lengths * rarity, 1e-9))
    information += 0.5 * np.log2(2.0 * np.pi * tf * (1.0 - f))
    return np.asarray((1.0 - f) ** 2 / (tf + 1.0) * information)
