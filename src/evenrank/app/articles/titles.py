"""Titles: the articles that the collection has under them, and subjects that have none here (red links)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.io.subjects import MissingSubject, read_missing_subjects
from evenrank.retrieval.engine.analysis import analyser_for
from evenrank.retrieval.engine.engines import index_folder
from evenrank.retrieval.query.evidence import keyword_parts
from evenrank.trec.collection import Collection
from evenrank.trec.title_hashes import ROW_BITS, normal_title, title_hash
from evenrank.trec.title_keys import read_title_keys

MAX_FOUND = 2000
"""Subjects that one list chooses from."""


@dataclass(frozen=True)
class TitleIndex:
    """Finds the row of a title; a hash only proposes, the title itself decides."""

    collection: Collection
    keys: NDArray[np.uint64]
    """Ascending: the hash of a title, then its row."""

    def find(self, title: str) -> int | None:
        """The row of a title in normal form; None when the collection has no such article."""
        titles, wanted = self.collection.titles, title_hash(title)
        at = int(np.searchsorted(self.keys, np.uint64(wanted << ROW_BITS)))
        while titles is not None and at < len(self.keys) and int(self.keys[at]) >> ROW_BITS == wanted:
            row = int(self.keys[at]) & (1 << ROW_BITS) - 1
            if normal_title(titles[row]) == title:
                return row
            at += 1
        return None


def index_titles(collection: Collection) -> TitleIndex:
    """The index of a collection's titles; an empty one when it has none."""
    return TitleIndex(collection, read_title_keys(collection, index_folder(collection)))


@dataclass(frozen=True)
class FoundSubject:
    """A subject that a question asks for."""

    subject: MissingSubject
    reasons: tuple[str, ...]
    """Keywords that its label or description has."""


@dataclass(frozen=True)
class Subjects:
    """Subjects of a wiki's language, found by their words."""

    subjects: tuple[MissingSubject, ...]
    language: str = "en"

    @cached_property
    def by_stem(self) -> Mapping[str, frozenset[int]]:
        """Word without its ending → places of the subjects that have it."""
        stems = analyser_for(self.language).stems
        found: dict[str, set[int]] = defaultdict(set)
        for place, subject in enumerate(self.subjects):
            for stem in stems(f"{subject.label} {subject.description}"):
                found[stem].add(place)
        return {stem: frozenset(places) for stem, places in found.items()}

    def find(self, topic: Topic, titles: TitleIndex) -> list[FoundSubject]:
        """Subjects with a keyword of a topic and no article here; those with most keywords first, then those that most
        wikis have."""
        stems = analyser_for(self.language).stems
        reasons: dict[int, list[str]] = defaultdict(list)
        for text, words in keyword_parts(topic, self.language).items():
            places = [self.by_stem.get(stem, frozenset()) for word in words for stem in stems(word)]
            for place in frozenset.intersection(*places) if places else ():
                reasons[place].append(text)
        missing = [place for place in reasons if titles.find(normal_title(self.subjects[place].label)) is None]
        order = sorted(missing, key=lambda at: (-len(reasons[at]), -self.subjects[at].n_wikis, self.subjects[at].label))
        return [FoundSubject(self.subjects[at], tuple(reasons[at])) for at in order[:MAX_FOUND]]


def read_subjects(path: Path, language: str = "en") -> Subjects:
    """The subjects of a file, in the language of a wiki."""
    return Subjects(read_missing_subjects(path), language)
