"""Titles: the articles that the collection has under them, and subjects that have none here (red links)."""

from __future__ import annotations

import re
import unicodedata
import zlib
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
from evenrank.retrieval.query.evidence import keyword_parts
from evenrank.trec.collection import Collection

_DIRECTION = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MAX_FOUND = 2000
"""Subjects that one list chooses from."""


def normal_title(title: str) -> str:
    """A title in the form in which titles are compared: NFC, blanks for underscores, first letter upper case."""
    clean = unicodedata.normalize("NFC", _DIRECTION.sub("", title)).replace("_", " ")
    clean = " ".join(clean.split()).lstrip(":").strip()
    return clean[:1].upper() + clean[1:]


@dataclass(frozen=True)
class TitleIndex:
    """Finds the row of a title; a hash only proposes, the title itself decides."""

    collection: Collection
    hashes: NDArray[np.uint32]
    """Ascending."""
    rows: NDArray[np.int32]
    """Row of each hash."""

    def find(self, title: str) -> int | None:
        """The row of a title in normal form; None when the collection has no such article."""
        titles, wanted = self.collection.titles, _hash(title)
        at = int(np.searchsorted(self.hashes, wanted))
        while titles is not None and at < len(self.hashes) and self.hashes[at] == wanted:
            row = int(self.rows[at])
            if normal_title(titles[row]) == title:
                return row
            at += 1
        return None


def index_titles(collection: Collection) -> TitleIndex:
    """The index of a collection's titles; an empty one when it has none."""
    titles = collection.titles
    n_titles = len(titles) if titles is not None else 0
    hashes = np.fromiter((_hash(normal_title(titles[row])) for row in range(n_titles)) if titles else (), np.uint32)
    order = np.argsort(hashes, kind="stable")
    return TitleIndex(collection, hashes[order], order.astype(np.int32))


def _hash(title: str) -> int:
    return zlib.crc32(title.encode("utf-8", "surrogatepass"))


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
