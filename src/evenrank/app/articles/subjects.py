"""Red links: subjects with an item or an article in another wiki and none here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from evenrank.app.sources.entries import normal_title
from evenrank.app.sources.titles_index import TitleIndex
from evenrank.core.records import Topic
from evenrank.io.subjects import MissingSubject, read_missing_subjects
from evenrank.retrieval.engine.analysis import analyser_for
from evenrank.retrieval.query.evidence import keyword_parts

MAX_FOUND = 500
"""Subjects that one list shows."""


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
