"""What a title asks for, in parts: a place, women or men, the past, and the subject itself; English only.

"Women's football in Brazil" asks for a place, for women and for football; "History of Mexico" for a place and the past.
Kinds, fields and events have words of their own in `subject_words.tsv`: films, directors and actors are cinema.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Any, Literal, NamedTuple, cast

from evenrank.core.records import Topic
from evenrank.retrieval.engine.protocol import Engine
from evenrank.retrieval.query.confirmation import forms_of_name
from evenrank.retrieval.query.past import GONE, HISTORY
from evenrank.retrieval.query.people import NOT_A_PLURAL, names_people
from evenrank.retrieval.query.topic_query import ENGLISH, gender_words, singular, split_words
from evenrank.retrieval.word_lists import lines_of, word_list
from evenrank.wikipedia.annotate.geography import countries

CHOSEN: dict[str, Any] = tomllib.loads(files("evenrank.app.articles").joinpath("on_subject.toml").read_text("utf-8"))
SUBJECT_WORDS = files("evenrank.app.articles").joinpath("subject_words.tsv")
SAME = "-"
"""Stands for the people of a subject of whom the same words are said as of its things."""
LONGEST_NAME = 6
"""Words of the longest name of a place."""
LONGEST_SUBJECT = 4
"""Words of the longest name of a subject."""
N_FORMS = 2
"""Words for a place that are searched for."""
LEAST_BEGINNING = 5
"""Letters with which words begin that are taken for forms of each other."""

Sort = Literal["people", "thing", "field", "topic"]
"""What a subject is: a kind of people, a kind of thing, a field of life, or whatever else."""


@dataclass(frozen=True)
class Words:
    """Alternatives, of which a text must have one: words in the singular, and beginnings and ends of words."""

    whole: frozenset[str]
    beginnings: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    def among(self, words: Collection[str]) -> bool:
        """Whether any of these words, in the singular, is one of them."""
        if not self.whole.isdisjoint(words):
            return True
        return bool(self.beginnings or self.ends) and any(
            word.startswith(self.beginnings) or (word.endswith(self.ends) and "_" not in word) for word in words
        )


@cache
def word_choice(text: str) -> Words:
    """A line of a word list: words, and beginnings that a star marks."""
    parts = text.split()
    return Words(
        frozenset(part for part in parts if not part.endswith("*")),
        tuple(part[:-1] for part in parts if part.endswith("*")),
    )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """One of these, in lower case, at the beginning of a word; by first letters, which takes a third of the time."""
    by_letter = [
        rf"{letter}(?:{'|'.join(one[1:] for one in same)})" for letter, same in groupby(sorted(patterns), itemgetter(0))
    ]
    return re.compile(rf"\b(?:{'|'.join(by_letter)})")


_COMPOUND = _any_of(CHOSEN["compounds"])


def joined(text: str) -> str:
    """A text in small letters, where compounds that mean something else than their last word are one: table_tennis."""
    return _COMPOUND.sub(lambda found: re.sub(r"\W+", "_", found[0]), text.lower())


def words_in(text: str) -> list[str]:
    """The words of a text; table_tennis is one of them."""
    return split_words(joined(text))


@cache
def forms_of(word: str) -> Words:
    """A word with what begins like it: `vaccine` beside `vaccination`; a name of several words alone."""
    word = singular(word)
    if "_" in word:
        return Words(frozenset({word}))
    beginning = word[: max(LEAST_BEGINNING, len(word) - (5 if word.endswith("ation") else 3))]
    adherents = {word[:-3], f"{word[:-3]}ist"} if word.endswith("ism") else set()
    return Words(frozenset({word, *adherents}), (beginning,) if len(beginning) >= LEAST_BEGINNING else ())


class Field(NamedTuple):
    """What an article says that is of a subject."""

    sort: Sort
    words: Words
    people: Words
    """What biographies say."""
    others: Words = Words(frozenset())
    """What is not of it, even with one of its words: a song about politics."""
    search: tuple[str, ...] = ()
    """What is searched for if nobody gives keywords."""


@cache
def known_fields() -> Mapping[str, Field]:
    """The subjects of the list, by each of their names; names of several words have underscores."""
    found = {}
    for line in SUBJECT_WORDS.read_text("utf-8").splitlines()[1:]:
        names, sort, words, people, others, search = line.split("\t")
        field = Field(
            cast(Sort, sort),
            word_choice(words),
            word_choice(words if people == SAME else people),
            word_choice(others),
            tuple(filter(None, search.split(", "))),
        )
        found.update(dict.fromkeys(names.split(), field))
    return found


@cache
def known_things() -> frozenset[str]:
    """Names of the kinds of things of the list, in the singular."""
    return frozenset(singular(name) for name, field in known_fields().items() if field.sort == "thing")


@cache
def _known_phrases() -> Mapping[str, Mapping[str, Sequence[tuple[list[str], str]]]]:
    """The phrases of the list by their first two words, in the singular, each with the words that follow."""
    phrases: dict[str, dict[str, list[tuple[list[str], str]]]] = {}
    for field in set(known_fields().values()):
        for phrase in (*field.words.whole, *field.people.whole, *field.others.whole):
            if "_" in phrase:
                first, second, *further = map(singular, phrase.split("_"))
                phrases.setdefault(first, {}).setdefault(second, []).append((further, phrase))
    return phrases


def words_and_phrases(words: Sequence[str]) -> frozenset[str]:
    """Words in the singular, and the known phrases among them: rapid_transit beside rapid and transit."""
    single, known = list(map(singular, words)), _known_phrases()
    phrases = [
        phrase
        for at, (word, after) in enumerate(pairwise(single))
        if (by_second := known.get(word)) is not None
        for further, phrase in by_second.get(after, ())
        if not further or single[at + 2 : at + 2 + len(further)] == further
    ]
    return frozenset((*single, *phrases))


def field_of(word: str) -> Field:
    """The field that a word of a title names: one of the list, or whatever has the word."""
    known = known_fields()
    if found := known.get(word) or known.get(singular(word)):
        return found
    single = singular(word)
    if names_people(word) or single in CHOSEN["people"].split():
        return Field("people", Words(frozenset({single})), Words(frozenset({single})))
    called_after = word_choice(CHOSEN["things_called_after"])
    if single != word and not NOT_A_PLURAL.search(word):
        kind = Words(frozenset({single}), ends=(single,) if len(single) >= LEAST_BEGINNING else ())
        return Field("thing", kind, kind)
    return Field("topic", forms_of(word), forms_of(word), called_after)


@cache
def places() -> Mapping[str, str]:
    """Places by their names and adjectives; other names that have one of these in them belong to no place."""
    known = {place: tuple(forms) for place, forms in CHOSEN["place"].items()}
    names = [" ".join(split_words(country.name)) for country in countries().values()]
    for name in [*names, *(line.split()[0] for line in lines_of("adjectives_of_places"))]:
        *before, last = name.split()
        known.setdefault(name, tuple(" ".join([*before, form]) for form in forms_of_name(last)))
    for name in chain(*CHOSEN["parts"].values()):
        known.setdefault(name, (name,))
    chosen_last = sorted(known.items(), key=lambda item: item[0] in CHOSEN["place"])
    return dict.fromkeys(CHOSEN["other"], "") | {form: place for place, forms in chosen_last for form in forms}


@cache
def parts_of(place: str) -> frozenset[str]:
    """The places that belong to a place: countries to a continent, states and large cities to a country."""
    parts = set(CHOSEN["parts"].get(place, ()))
    regions = CHOSEN["regions"].get(place, ())
    parts |= {
        " ".join(split_words(country.name))
        for country in countries().values()
        if country.continent in regions or country.sub_region in regions
    }
    return frozenset(parts.union(*map(parts_of, parts)))


@cache
def _first_words() -> frozenset[str]:
    return frozenset(form.split()[0] for form in places())


class Named(NamedTuple):
    """A name of a place in a text."""

    form: str
    place: str
    begin: int
    end: int


def places_in(words: Sequence[str]) -> Iterator[Named]:
    """Names of places among words, the longest at each of them."""
    end, known, first = 0, places(), _first_words()
    for begin, word in enumerate(words):
        if begin < end or word not in first:
            continue
        for n in range(min(LONGEST_NAME, len(words) - begin), 0, -1):
            form = " ".join(words[begin : begin + n])
            if form in known:
                end = begin + n
                yield Named(form, known[form], begin, end)
                break


class Asked(NamedTuple):
    """What a title asks for, and its keywords."""

    place: str
    """Empty where it names none."""
    forms: frozenset[str]
    """Names and adjectives of the place, and of what belongs to it."""
    of_gender: tuple[str, ...]
    """Words for those whom it asks for, women or men, pronouns last; none where it asks for neither."""
    is_past: bool
    words: tuple[str, ...]
    """The words of the subject itself, of which the last says what sort it is; none in "History of Mexico"."""
    fields: tuple[Field, ...]
    """Beside the words."""
    keywords: tuple[frozenset[str], ...]
    """Words of each keyword, in the singular; those that the title has or that name its place are left out."""
    is_people: bool = False
    """Whether it asks for people, whatever they do: "People of Chile"."""

    @property
    def sort(self) -> Sort:
        """What the subject is."""
        return self.fields[-1].sort if self.fields else "topic"


def asked_by(topic: Topic) -> Asked:
    """What the title of a topic asks for."""
    return _asked_by(topic.title, tuple(topic.keywords))


@lru_cache(256)
def _asked_by(title: str, keywords: tuple[str, ...]) -> Asked:
    words = _with_names(words_in(title))
    named = next((one for one in places_in(words) if one.place), Named("", "", 0, 0))
    rest = _telling(title, [*words[: named.begin], *words[named.end :]])
    if named.place and _is_name(title, rest):
        named, rest = Named("", "", 0, 0), _telling(title, words)
    own = tuple(word for word in rest if singular(word) != HISTORY and word not in GONE)
    of_gender = next(filter(None, map(gender_words, words)), ())
    is_past = len(own) < len(rest) and (bool(named.place) or bool(own))
    is_people = own in (("people",), ("person",)) and bool(named.place or of_gender)
    own = () if is_people else own
    wanted = {named.place, *parts_of(named.place)} if named.place else set()
    forms = frozenset(form for form, place in places().items() if place in wanted)
    further = [frozenset(map(singular, words_in(one))) for one in keywords]
    known = frozenset(map(singular, (*words, *words_in(title), *_own_forms(named.place))))
    return Asked(
        named.place,
        forms,
        of_gender,
        is_past,
        own if own or is_past or named.place or is_people else tuple(rest or words),
        _either(title, own, tuple(map(field_of, own))),
        tuple(one for one in further if not one <= known),
        is_people,
    )


def _either(title: str, own: tuple[str, ...], fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields that an article must be of: of "Bays and straits" one that has the words of both."""
    if len(fields) != 2 or not _either_pattern(*own).search(joined(title)):
        return fields
    first, last = fields
    words, people = (_joined(*(getattr(one, name) for one in fields)) for name in ("words", "people"))
    others = Words((first.others.whole & last.others.whole) - words.whole)
    sort: Sort = first.sort if first.sort == last.sort != "topic" else "field"
    return (Field(sort, words, people, others, (*first.search, *last.search)),)


def _either_pattern(first: str, last: str) -> re.Pattern[str]:
    """One word, "and", and another one, as a title has them."""
    one, other = (re.escape(word).replace("_", r"[\W_]+") for word in (first, last))
    return re.compile(rf"\b{one}\W+(?:and\W+|&\W*){other}\b")


def _joined(first: Words, last: Words) -> Words:
    return Words(first.whole | last.whole, first.beginnings + last.beginnings, first.ends + last.ends)


def _own_forms(place: str) -> frozenset[str]:
    """Names and adjectives of a place itself."""
    return frozenset(form for form, named in places().items() if place and named == place)


def _with_names(words: Sequence[str]) -> list[str]:
    """The words of a title, of which those that name a subject of the list together are one: hip_hop."""
    found, at, known = [], 0, known_fields()
    while at < len(words):
        named = (
            (n, "_".join([*words[at : at + n - 1], last]))
            for n in range(min(LONGEST_SUBJECT, len(words) - at), 1, -1)
            for last in (words[at + n - 1], singular(words[at + n - 1]))
        )
        n, name = next((one for one in named if one[1] in known), (1, words[at]))
        found.append(name)
        at += n
    return found


_LAST_LETTER = re.compile(r"\w \b([A-Z])$")


def _telling(title: str, words: Sequence[str]) -> list[str]:
    """Words of a title that say what it is about; of single letters only one that ends it, as in "World War I"."""
    last = _LAST_LETTER.search(title)
    dropped = word_list("stop_words") | word_list("generic_words")
    kept = [word for word in words if word not in dropped and not gender_words(word) and len(word) > 1]
    is_apart = last is not None and bool(kept) and not kept[-1].endswith(f"_{last[1].lower()}")
    return [*kept, last[1].lower()] if last and is_apart else kept


def _is_name(title: str, rest: Sequence[str]) -> bool:
    """Whether a title with a place in it is a name as a whole, such as "French Revolution", and speaks of no field."""
    is_written_so = len(title.split()) > 1 and all(word[:1].isupper() for word in title.split())
    return is_written_so and not any(
        word in known_fields() or singular(word) in known_fields() or singular(word) == HISTORY for word in rest
    )


def with_keywords(topic: Topic, engine: Engine) -> Topic:
    """The topic with the usual words for its place; if nobody gave keywords, also with those that search for its
    fields."""
    if engine.layout.language != ENGLISH:
        return topic
    asked = asked_by(topic)
    added = [] if topic.keywords else [word for field in asked.fields for word in field.search]
    if not topic.keywords and asked.is_past and not asked.words:
        added = CHOSEN["history"]["search"]
    known = {word for text in (topic.title, *topic.keywords) for word in split_words(text)}
    further = [word for word in dict.fromkeys([*usual_forms(asked, engine), *added]) if word not in known]
    return replace(topic, keywords=(*topic.keywords, *further)) if further else topic


def usual_forms(asked: Asked, engine: Engine) -> list[str]:
    """The words for a place that leads have most: Brazil and Brazilian."""
    single = sorted(form for form in _own_forms(asked.place) if " " not in form)
    counts = engine.document_frequencies("lead", single)
    most = sorted(zip(counts, single, strict=True), reverse=True)[:N_FORMS]
    return [form for n, form in most if n]
