"""Which of the articles that a search found are about its subject: decision trees over evidence; English only.

What a title asks for has parts (`asked_subject`): a place, women or men, the past, the subject itself. For each part
the title of an article, its first sentence and the beginning of its text are evidence; so is how near it is to the
subject, where the index has text vectors. Small decision trees turn the evidence into a probability. They were fitted
to articles that readers judged, with keywords and without (`benchmarks/subject_labels.py`). More evidence for an
article never makes it less likely, nor more evidence against it more likely.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import islice
from math import log2
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from evenrank.app.articles.asked_subject import (
    CHOSEN,
    Asked,
    Field,
    Named,
    Sort,
    asked_by,
    forms_of,
    joined,
    known_things,
    places_in,
    word_choice,
    words_and_phrases,
    words_in,
)
from evenrank.core.records import Topic
from evenrank.core.types import Floats
from evenrank.retrieval.encode.nearness import Nearness
from evenrank.retrieval.engine.analysis import first_sentence
from evenrank.retrieval.engine.protocol import Engine, WeightedTerm
from evenrank.retrieval.learn.trees import Trees
from evenrank.retrieval.query.evidence import have_terms
from evenrank.retrieval.query.past import GONE
from evenrank.retrieval.query.people import are_biographies, defining_nouns, defining_words, is_of_kind, names_people
from evenrank.retrieval.query.topic_query import GENDER_WORDS, number_forms, singular, split_words

TREES_FILE = files("evenrank.app.articles").joinpath("on_subject_trees.json")
LEAST, LIKELY, PERHAPS = 0.85, 0.77, 0.4
"""Probabilities from which on an article is about a subject: usually, where few are; and perhaps about it."""
ENOUGH = 10
"""Articles from which on they are not few."""
WITHIN = 0.9
"""Share of the best probability from which on articles are listed where none is likely enough."""
READ, READ_ON, BROAD = 300, 100, 0.75
"""Best matches that are read; and how many more at a time while this share of the last ones is about the subject."""
N_LETTERS = 1000
"""Letters of an article that are read."""
PRONOUNS = frozenset(word for words in GENDER_WORDS for word in words[3:])
MOST_MENTIONS = 7
"""Mentions that say all that mentions can say."""

Evidence = dict[str, float]
"""What an article has of a part by name, each between 0 and 1; of nearness, in deviations."""
SORTS = get_args(Sort)
AGAINST = frozenset(
    (
        "other sort",
        "another kind",
        "something else",
        "other in title",
        "other pronouns",
        "first is another",
        "match or work",
    )
)
"""Evidence that speaks against an article."""
_BRACKETS = re.compile(r"\([^()]*\)")
_NOT_FROM = re.compile(
    r"\b[\w-]+[- ]born\b|\b[\w-]+-(?:language|speaking|based)\b"
    r"|\b[\w-]+ (?:descent|origin|ancestry|heritage|parentage)\b",
    re.IGNORECASE,
)
"""Where somebody does not belong to: "a Canadian-born American", "of Turkish descent"."""
_VERB = re.compile(r"\b(?:is|was|are|were|has been)\b")
_NOT_THEMSELVES = re.compile(
    r"\b(?:who|whose|which|that|known|best|noted|where|when|currently|playing|plays|wife|husband|widow|son|daughter|"
    r"mother|father|brother|sister|mistress|child|cousin|nephew|niece|grandson|granddaughter)\b"
)
"""What follows speaks no longer of what somebody is."""
_NOT_ITSELF = re.compile(r"\b(?:based on|named after|used by|similar to|opposite)\b")
"""What follows speaks of another thing."""
_AFTER_HEAD = re.compile(r",|\s\(|\s(?:of|in|at|on|for|by|and)\s")
_OF = frozenset(("of", "to", "under", "by"))
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2}|[1-9]\d{2}(?= (?:AD|BC|CE|BCE)\b))\b")
_PERIOD = re.compile(r"^(?:\d+s?|\d+(?:st|nd|rd|th) (?:century|millennium))(?: (?:bce?|ad|ce))?$", re.IGNORECASE)


@dataclass(frozen=True)
class ReadPage:
    """What an article says of itself: sets of words are in the singular, lists as they are written."""

    name: str
    text: str
    """Its opening."""
    is_person: bool
    classes: tuple[str, ...] = ()
    """What it is an instance of."""

    @cached_property
    def title(self) -> list[str]:
        return words_in(self.name)

    @cached_property
    def title_words(self) -> frozenset[str]:
        return words_and_phrases(self.title)

    @cached_property
    def first(self) -> str:
        """The first sentence."""
        return first_sentence(self.text)

    @cached_property
    def plain(self) -> str:
        """The same without what is in brackets, and without where somebody does not belong to."""
        text, shorter = self.first, _BRACKETS.sub(" ", self.first)
        while text != shorter:
            text, shorter = shorter, _BRACKETS.sub(" ", shorter)
        return _NOT_FROM.sub(" ", text)

    @cached_property
    def verb(self) -> str:
        found = _VERB.search(self.plain)
        return found[0] if found else ""

    @cached_property
    def sentence(self) -> list[str]:
        return words_in(self.plain)

    @cached_property
    def said(self) -> list[str]:
        """What comes after the verb of the first sentence; of a person, only what they are."""
        said = _VERB.split(self.plain, maxsplit=1)[-1]
        return words_in((_NOT_THEMSELVES if self.is_person else _NOT_ITSELF).split(said, maxsplit=1)[0])

    @cached_property
    def own(self) -> frozenset[str]:
        """What it is itself: of "a councillor of the king", no king; of a thing, what it is called."""
        if not self.is_person:
            nouns = frozenset(map(singular, words_in(" ".join(defining_nouns(self.text)))))
            phrases = frozenset(word for word in self.defining if "_" in word)
            return nouns | phrases or words_and_phrases(words_in(_AFTER_HEAD.split(self.name, maxsplit=1)[0])[-1:])
        before = zip(["", "", *self.said], ["", *self.said], self.said, strict=False)
        words = [word for two, one, word in before if one not in _OF and not (one == "the" and two in _OF)]
        return words_and_phrases(words)

    @cached_property
    def occupation(self) -> frozenset[str]:
        """The first word for people in what somebody is."""
        return frozenset(islice((singular(word) for word in self.said if self.is_person and names_people(word)), 1))

    @cached_property
    def defining(self) -> frozenset[str]:
        """The noun phrase after "is a"."""
        return words_and_phrases(words_in(" ".join(defining_words(self.text))))

    @cached_property
    def about(self) -> frozenset[str]:
        """What it says that it is, with the title of a thing; used by writers is not literature."""
        if self.is_person:
            return words_and_phrases(self.said)
        return words_and_phrases([word for word in (*self.said, *self.title) if not names_people(word)])

    @cached_property
    def head(self) -> frozenset[str]:
        """Title and first sentence."""
        return words_and_phrases((*self.title, *self.sentence))

    @cached_property
    def letters(self) -> str:
        """The beginning in small letters."""
        return joined(self.text[:N_LETTERS])

    @cached_property
    def opening(self) -> list[str]:
        return split_words(self.letters)

    @cached_property
    def body(self) -> frozenset[str]:
        return words_and_phrases(self.opening)

    @cached_property
    def years(self) -> list[int]:
        return [int(year) for year in _YEAR.findall(self.first)]


def subject_evidence(asked: Asked, page: ReadPage, match: float) -> Evidence:
    """What an article has of the subject itself; `match` is how well it matches, as a share of the best."""
    counted = _mentions(asked)
    about, body, title = _has_subject(asked, page)
    choice = asked.fields[-1].people if page.is_person else asked.fields[-1].words
    n_keywords = sum(keyword <= page.head for keyword in asked.keywords)
    first = min((found.start() for one in counted if (found := one.search(page.letters))), default=N_LETTERS)
    return {
        "is one": float(_is_one(asked, page)),
        "words of the subject": _n_words(asked.fields[-1], page),
        "mentioned early": 1.0 - first / N_LETTERS,
        "in first sentence": float(choice.among(page.head)),
        "has keywords": float(bool(asked.keywords)),
        "is first of all": float(choice.among(page.occupation)),
        "is said": float(about),
        "in text": float(body),
        "in title": float(title),
        "mentions": sum(_share(len(one.findall(page.letters))) for one in counted) / len(counted),
        "keywords in first sentence": min(n_keywords, 2) / 2,
        "keywords in text": min(sum(keyword <= page.body for keyword in asked.keywords), 3) / 3,
        "other sort": float(asked.sort in ("people", "thing") and page.is_person != (asked.sort == "people")),
        "person": float(page.is_person),
        "another kind": float(_is_another_kind(asked, page)),
        "something else": float(any(field.others.among(page.defining) for field in asked.fields)),
        "match": match * body,
    }


def _has_subject(asked: Asked, page: ReadPage) -> tuple[bool, ...]:
    """Whether what an article is about, its text, and its title have all words of the subject; in a row where it is no
    field and no kind of thing: a solar flare sets energy free, and is no solar energy."""
    if asked.sort == "topic" and len(asked.words) > 1:
        (phrase,) = _mentions(asked)
        title = " ".join(page.title)
        texts = (f"{title} / {' '.join(page.said)}", page.letters, title)
        return tuple(phrase.search(text) is not None for text in texts)
    choices = [field.people if page.is_person else field.words for field in asked.fields]
    zones = (page.about, page.body, page.title_words)
    return tuple(all(one.among(zone) for one in choices) for zone in zones)


def _is_one(asked: Asked, page: ReadPage) -> bool:
    """Whether an article says that it is about one of the kind, or about somebody or something of the field."""
    field = asked.fields[-1]
    if asked.sort == "thing" and (page.is_person or not field.words.among(page.own)):
        return is_of_kind(frozenset(number_forms(asked.words[-1])), page.name, page.text, page.is_person, page.classes)
    return (field.people if page.is_person else field.words).among(page.own)


def _is_another_kind(asked: Asked, page: ReadPage) -> bool:
    """Whether an article says that it is about a known kind of thing that is not asked for: "a soup of vegetables"."""
    if page.is_person or not page.own or asked.fields[-1].words.among(page.own):
        return False
    return not known_things().isdisjoint(page.own)


MOST_WORDS = 6
"""Different words of a subject in the beginning of an article that say all that they can say."""


def _n_words(field: Field, page: ReadPage) -> float:
    """How many different words of a subject the beginning of an article has, as a share of the most that counts."""
    words = field.people if page.is_person else field.words
    n = len(words.whole & page.body)
    if words.beginnings:
        n += sum(word.startswith(words.beginnings) for word in page.body)
    return min(n, MOST_WORDS) / MOST_WORDS


@lru_cache(256)
def _mentions(asked: Asked) -> tuple[re.Pattern[str], ...]:
    """How a text mentions a subject: each of its words, or all in a row; nothing of "post-Cold War"."""
    each = [rf"\b(?:{'|'.join(_forms(word))})s?\b" for word in asked.words]
    if asked.sort == "topic":
        each = [r"(?<!post[-– ])" + r"\W+".join(each)]
    return tuple(map(re.compile, each))


def _share(n_mentions: int) -> float:
    """What mentions say, of the most that they can say."""
    return log2(1 + min(n_mentions, MOST_MENTIONS)) / log2(1 + MOST_MENTIONS)


def _forms(word: str) -> list[str]:
    """Patterns of a word and what begins like it."""
    forms = forms_of(word)
    return [*map(_pattern, sorted(forms.whole)), *(rf"{_pattern(one)}\w*" for one in forms.beginnings)]


def _pattern(word: str) -> str:
    return re.escape(word).replace("_", r"[\W_]+")


def _belongs_to(page: ReadPage, named: Named) -> bool:
    """Whether a place in a title says where the article belongs to: a person's name does only after "of"."""
    return not page.is_person or page.title[named.begin - 1 : named.begin] == ["of"]


def place_evidence(asked: Asked, page: ReadPage) -> Evidence:
    """What an article has of a place: mostly it says first where it belongs to."""
    titled = [one.form in asked.forms for one in places_in(page.title) if _belongs_to(page, one)]
    words = page.said if page.is_person else page.sentence
    named = list(places_in(words))
    is_own = [one.form in asked.forms for one in named]
    later = [one.form in asked.forms for one in places_in(page.opening)]
    return {
        "other in title": float(not all(titled)),
        "first": float(is_own[:1] == [True]),
        "first is another": float(is_own[:1] == [False]),
        "share of first sentence": sum(is_own) / len(named) if named else 0.0,
        "share of text": sum(later) / len(later) if later else 0.0,
    }


_OTHER_GENDER: Mapping[tuple[str, ...], frozenset[str]] = {
    of: frozenset(other[:3]) for of, other in zip(GENDER_WORDS, GENDER_WORDS[::-1], strict=True)
}


def gender_evidence(asked: Asked, page: ReadPage) -> Evidence:
    """What an article has of women, or of men: pronouns in a biography, and words elsewhere."""
    words, own = frozenset(asked.of_gender[:3]), asked.of_gender[3:]
    n_own = sum(word in own for word in page.opening)
    n_other = sum(word in PRONOUNS for word in page.opening) - n_own
    is_said = not words.isdisjoint((*page.title, *page.sentence))
    in_a_row = _of_gender(asked.of_gender[:3], asked.words)
    return {
        "pronouns": float(page.is_person and n_own > n_other),
        "other pronouns": float(page.is_person and n_own < n_other),
        "said": float(not page.is_person and is_said),
        "other in title": float(not _OTHER_GENDER[asked.of_gender].isdisjoint(page.title)),
        "in a row": float(in_a_row.search(page.letters) is not None) if in_a_row else 0.0,
        "mentions": _share(sum(word in words for word in page.opening)),
    }


@lru_cache(256)
def _of_gender(of_gender: tuple[str, ...], words: tuple[str, ...]) -> re.Pattern[str] | None:
    """How a text says "women's rights" word for word."""
    if not words:
        return None
    return re.compile(rf"\b(?:{'|'.join(of_gender)})(?:['’]?s)?\W+(?:{'|'.join(_forms(words[0]))})s?\b")


def past_evidence(asked: Asked, page: ReadPage) -> Evidence:
    """What an article has of the past: the tense, years, keywords, and words of historians and of public life."""
    lists = CHOSEN["history"]
    year = min(page.years, default=2000)
    return {
        "was": float(page.verb in ("was", "were") or not (page.is_person or GONE.isdisjoint(page.head))),
        "long ago": float(year < lists["born_before"]),
        "word of history": float(word_choice(lists["things"]).among(page.about | page.title_words)),
        "historian": float(page.is_person and word_choice(lists["scholars"]).among(page.own)),
        "public life": float(page.is_person and word_choice(lists["people"]).among(page.own)),
        "keyword said": float(any(keyword <= page.head for keyword in asked.keywords)),
        "keywords in text": min(sum(keyword <= page.body for keyword in asked.keywords), 3) / 3,
        "match or work": float(word_choice(lists["others"]).among(page.defining | page.title_words)),
        "person": float(page.is_person),
    }


def evidence_of(asked: Asked, page: ReadPage, match: float) -> dict[str, Evidence]:
    """The evidence for each part that is asked for, by the name of the part."""
    parts: dict[str, Evidence] = {}
    if asked.fields:
        sort = float(SORTS.index(asked.sort))
        parts["subject"] = {**subject_evidence(asked, page, match), "sort": sort}
    if asked.place:
        parts["place"] = place_evidence(asked, page)
    if asked.of_gender:
        parts["gender"] = gender_evidence(asked, page)
    if asked.is_past:
        parts["past"] = past_evidence(asked, page)
    return parts


FOR_NOT_ASKED, AGAINST_NOT_ASKED = 2.0, -1.0
"""Evidence of a part that is not asked for, as if all of it were there: what speaks for an article, and against it."""


@cache
def known_trees() -> Mapping[str, Trees]:
    """The trees of the file: for evidence of words alone, and with that of text vectors."""
    record = json.loads(TREES_FILE.read_text("utf-8"))
    return {name: Trees.of(record[name]) for name in ("words", "vectors")}


def speaks_against(column: str) -> bool:
    """Whether more of this evidence makes an article less likely."""
    return column.partition(": ")[2] in AGAINST


def evidence_rows(pages: Sequence[Mapping[str, Evidence]], columns: Sequence[str]) -> Floats:
    """Evidence of pages as rows of an array. What is not asked for counts as if all of it were there."""
    rows = np.tile(
        [AGAINST_NOT_ASKED if speaks_against(column) else FOR_NOT_ASKED for column in columns], (len(pages), 1)
    )
    place = {column: number for number, column in enumerate(columns)}
    for row, parts in zip(rows, pages, strict=True):
        for part, evidence in parts.items():
            for name, value in evidence.items():
                if (number := place.get(f"{part}: {name}")) is not None:
                    row[number] = value
    return rows


def are_on_subject(
    engine: Engine,
    topic: Topic,
    page_ids: NDArray[np.int32],
    matches: Floats,
    classes: Sequence[tuple[str, ...]] | None = None,
    nearness: Nearness | None = None,
) -> Floats:
    """How likely each article is about the subject of a topic; 0 for those that were not read.

    `matches` are shares of the best match; `classes` are the names of what each is an instance of.
    """
    asked = asked_by(topic)
    possible = _name_place(engine, asked, page_ids) if asked.place else np.ones(len(page_ids), bool)
    found = np.zeros(len(page_ids))
    chosen, left = np.split(np.flatnonzero(possible), [READ])
    near = nearness.evidence(page_ids[possible]) if nearness and len(chosen) else []
    trees, n_read = known_trees()["vectors" if nearness else "words"], 0
    while len(chosen):
        kinds = [classes[at] for at in chosen.tolist()] if classes else None
        pages = list(read_matches(engine, page_ids[chosen], kinds))
        evidence = [
            evidence_of(asked, page, share) for page, share in zip(pages, matches[chosen].tolist(), strict=True)
        ]
        if near:
            evidence = [{**one, "vectors": near[n_read + at]} for at, one in enumerate(evidence)]
        chances = trees.chances(evidence_rows(evidence, trees.columns))
        found[chosen] = np.where([is_no_candidate(asked, page) for page in pages], 0.0, chances)
        n_read += len(chosen)
        is_broad = (found[chosen[-READ_ON:]] >= LEAST).mean() >= BROAD
        chosen, left = np.split(left, [READ_ON if is_broad else 0])
    return found


def is_no_candidate(asked: Asked, page: ReadPage) -> bool:
    """Whether an article is about a year or a century, or about no person where people are asked for."""
    return _PERIOD.match(page.name) is not None or (asked.is_people and not page.is_person)


def least_chance(chances: Floats, is_broad: bool) -> float:
    """The probability from which on articles are listed: a lower one where few are as likely, or where a question also
    asks for those that are perhaps about its subject. Where none is likely enough, those within a tenth of the best."""
    has_enough = (chances >= LEAST).sum() >= ENOUGH
    least = PERHAPS if is_broad else LEAST if has_enough else LIKELY
    return least if (chances >= least).any() else WITHIN * float(chances.max(initial=0.0))


def _name_place(engine: Engine, asked: Asked, page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each page names the place in its lead: the others need not be read."""
    forms = [tuple(engine.analyse("lead", form)) for form in sorted(asked.forms)]
    single = tuple(dict.fromkeys(form[0] for form in forms if len(form) == 1))
    phrases = [WeightedTerm("lead", form, is_phrase=True) for form in forms if len(form) > 1]
    (has_name,) = have_terms(engine, [[*phrases, *([WeightedTerm("lead", single)] if single else [])]], page_ids)
    return np.asarray(has_name)


def read_matches(
    engine: Engine, page_ids: NDArray[np.int32], classes: Sequence[tuple[str, ...]] | None = None
) -> Iterator[ReadPage]:
    """What each article says of itself; `classes` are the names of what each is an instance of."""
    is_person = are_biographies(engine, page_ids).tolist()
    kinds = classes or [()] * len(page_ids)
    for stored, person, kind in zip(engine.stored(page_ids.tolist()), is_person, kinds, strict=True):
        yield ReadPage("" if stored is None else stored.title, "" if stored is None else stored.opening, person, kind)
