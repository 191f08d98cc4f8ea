"""Red links: subjects with an item or an article in another wiki and none here, from a file that the operator names."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import orjson

from evenrank.errors import Fault, InputError, input_error
from evenrank.records import Topic
from evenrank.search.engine.analysis import analyser_for
from evenrank.web.articles.reasons import keyword_parts
from evenrank.web.sources.entries import normal_title
from evenrank.web.sources.titles_index import TitleIndex

MAX_SUBJECTS = 1_000_000
MAX_FAULTS = 50
MAX_LINE = 1 << 20
"""Characters of the longest line of a file of subjects."""
MAX_FOUND = 500
"""Subjects that one list shows."""
_ITEM = re.compile(r"(?:https?://www\.wikidata\.org/(?:entity|wiki)/)?(?P<item>Q[1-9]\d{0,11})")


@dataclass(frozen=True, slots=True)
class MissingSubject:
    """Something that could have an article."""

    item: str
    """Its item, e.g. `Q42`."""
    label: str
    description: str = ""
    n_wikis: int = 0
    """Wikis that have an article on it."""


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
    """The subjects in a CSV, TSV or JSON lines file with `item`, `label` and, if known, `description` and `wikis`.

    That is what the Wikidata query service and PetScan give. Every fault is reported with its line.
    """
    faults: list[Fault] = []
    found: dict[str, MissingSubject] = {}
    for line, record in _records(path):
        subject = _subject(record)
        if isinstance(subject, str):
            faults.append(Fault(str(path), line, subject))
        else:
            found[subject.item] = subject
        if len(found) > MAX_SUBJECTS:
            raise input_error(path, line, f"more than {MAX_SUBJECTS:,} subjects", "name fewer of them")
        if len(faults) >= MAX_FAULTS:
            break
    if faults:
        raise InputError(faults)
    return Subjects(tuple(found.values()), language)


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line and content of each record."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix in (".jsonl", ".json"):
                for line, text in enumerate(_lines(path, file), 1):
                    if text.strip():
                        record = orjson.loads(text)
                        yield line, record if isinstance(record, dict) else {}
            else:
                reader = csv.DictReader(_lines(path, file), delimiter="\t" if path.suffix == ".tsv" else ",")
                for row in reader:
                    yield reader.line_num, {str(name).strip().lower(): value for name, value in row.items()}
    except (OSError, UnicodeDecodeError, csv.Error, orjson.JSONDecodeError) as error:
        raise input_error(path, 0, f"cannot be read: {error}", "give CSV, TSV or JSON lines in UTF-8") from error


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    """The lines of a file, as long as they are not longer than any subject."""
    for text in iter(lambda: file.readline(MAX_LINE), ""):
        if len(text) == MAX_LINE:
            raise input_error(path, 0, f"a line of {MAX_LINE:,} characters and more", "give one subject a line")
        yield text


def _subject(record: Mapping[str, Any]) -> MissingSubject | str:
    """The subject of a record, or what is wrong with it."""
    item = _ITEM.fullmatch(str(record.get("item", "")).strip())
    label = " ".join(str(record.get("label", record.get("itemlabel")) or "").split())
    if item is None:
        return f"no item such as Q42 under 'item', but {str(record.get('item', 'nothing'))[:40]!r}"
    if not label:
        return "no label under 'label'"
    wikis = record.get("wikis", record.get("sitelinks")) or 0
    text = str(wikis).strip()
    is_number = text.isascii() and text.isdecimal() and len(text) < 10
    n_wikis = len(wikis) if isinstance(wikis, list) else int(text) if is_number else -1
    if n_wikis < 0:
        return f"'wikis' is neither a number nor a list: {str(wikis)[:40]!r}"
    return MissingSubject(item["item"], label, str(record.get("description") or ""), n_wikis)
