"""What a title that somebody typed asks for beyond its words, and which articles are about that; English only.

"Turkish cinema" names a place and a field: an article is about it if the first place that it names is that place, and
its first sentence says something of the field. Of "Baseball players" it says both words. Any other subject, such as
"Cold War", is in its title or first sentence, or is mentioned again and again. These rules are stricter than those of
`ranking/subject.py`, and hold in the app alone, for titles without keywords: whoever typed no more would rather have a
shorter list.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import BIOGRAPHY, first_sentence
from evenrank.retrieval.engine.protocol import Engine, WeightedTerm
from evenrank.retrieval.query.confirmation import forms_of_name, names_in_title
from evenrank.retrieval.query.evidence import have_terms
from evenrank.retrieval.query.past import GONE, HISTORY, LAST_YEAR
from evenrank.retrieval.query.people import (
    NOT_A_PLURAL,
    are_biographies,
    defining_nouns,
    defining_words,
    kind_of_title,
    named_kinds,
    names_people,
)
from evenrank.retrieval.query.topic_query import ENGLISH, gender_words, singular, split_words
from evenrank.retrieval.word_lists import lines_of, word_list
from evenrank.wikipedia.annotate.geography import countries

CHOSEN: dict[str, Any] = tomllib.loads(files("evenrank.app.articles").joinpath("on_subject.toml").read_text("utf-8"))
MOST_READ = 300
"""Articles that are read, the best matches; the others are left out, so that a broad subject costs no more."""
LONGEST_NAME = 6
"""Words of the longest name of a place."""
LEAST_BEGINNING = 5
"""Letters with which words begin that are taken for forms of each other."""


class Words(NamedTuple):
    """Alternatives, of which a text must have one: words in the singular, and beginnings of words."""

    whole: frozenset[str]
    beginnings: tuple[str, ...] = ()

    def among(self, words: Sequence[str]) -> bool:
        """Whether any of these words is one of them."""
        return any(
            word in self.whole or singular(word) in self.whole or word.startswith(self.beginnings) for word in words
        )


@cache
def word_choice(text: str) -> Words:
    """A line of a word list: words, and beginnings that a star marks."""
    parts = text.split()
    return Words(
        frozenset(part for part in parts if not part.endswith("*")),
        tuple(part[:-1] for part in parts if part.endswith("*")),
    )


_COMPOUND = re.compile(
    rf"\b(?:{'|'.join(CHOSEN['compounds'])})"
)  # in lower case: ignoring case takes five times as long


def words_in(text: str) -> list[str]:
    """The words of a text; a compound that means something else than its last word is one of them: table tennis."""
    return split_words(_COMPOUND.sub(lambda found: re.sub(r"\W", "", found[0]), text.lower()))


@cache
def forms_of(word: str) -> Words:
    """A word with what begins like it: `vaccine` beside `vaccination`."""
    word = singular(word)
    beginning = word[: max(LEAST_BEGINNING, len(word) - (5 if word.endswith("ation") else 3))]
    adherents = {word[:-3], f"{word[:-3]}ist"} if word.endswith("ism") else set()
    return Words(frozenset({word, *adherents}), (beginning,) if len(beginning) >= LEAST_BEGINNING else ())


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
_KNOWN_FOR = re.compile(r"\b(?:best|known|noted)\b")
_NOT_ITSELF = re.compile(r"\b(?:based on|named after|used by|similar to|opposite)\b")
"""What follows speaks of another thing."""
_AFTER_HEAD = re.compile(r",|\s\(|\s(?:of|in|at|on|for|by|and)\s")
_OF = frozenset(("of", "to", "under", "by"))
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2}|[1-9]\d{2}(?= (?:AD|BC|CE|BCE)\b))\b")
_PERIOD = re.compile(r"^(?:\d+s?|\d+(?:st|nd|rd|th) (?:century|millennium))(?: (?:bce?|ad|ce))?$", re.IGNORECASE)


@dataclass(frozen=True)
class ReadPage:
    """What an article says of itself, in words."""

    name: str
    text: str
    """Its opening."""
    is_person: bool

    @cached_property
    def title(self) -> list[str]:
        return words_in(self.name)

    @cached_property
    def title_without_places(self) -> list[str]:
        inside = {at for one in places_in(self.title) for at in range(one.begin, one.end)}
        return [word for at, word in enumerate(self.title) if at not in inside]

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
    def sentence(self) -> list[str]:
        return words_in(self.plain)

    @cached_property
    def head(self) -> list[str]:
        """Title and first sentence."""
        return [*self.title, *self.sentence]

    @cached_property
    def said(self) -> list[str]:
        """What comes after the verb of the first sentence; of a person, only what they are."""
        said = _VERB.split(self.plain, maxsplit=1)[-1]
        return words_in((_NOT_THEMSELVES if self.is_person else _NOT_ITSELF).split(said, maxsplit=1)[0])

    @cached_property
    def about(self) -> list[str]:
        """What a thing says that it is; of one that is called after a place, also its title: "Politics of Kenya"."""
        is_of_place = any(_OF.union({"in"}).intersection(self.title[: one.begin][-1:]) for one in places_in(self.title))
        return [*self.said, *(self.title if is_of_place or not _VERB.search(self.plain) else ())]

    @cached_property
    def own(self) -> list[str]:
        """What it is itself: of "a councillor of the king", no king."""
        before = zip(["", "", *self.said], ["", *self.said], self.said, strict=False)
        return [word for two, one, word in before if one not in _OF and not (one == "the" and two in _OF)]

    @cached_property
    def defining(self) -> list[str]:
        """The noun phrase after "is a"."""
        return words_in(" ".join(defining_words(self.text)))

    @cached_property
    def nouns(self) -> list[str]:
        """Words of that phrase which name the thing itself."""
        return words_in(" ".join(defining_nouns(self.text)))

    @cached_property
    def opening(self) -> list[str]:
        return words_in(self.text)


class Field(NamedTuple):
    """What an article must say to be of a field."""

    words: Words
    is_defining: bool = False
    """Whether only title and "is a …" count, and no biography is of the field: a governor is no province."""
    is_people: bool = False
    """Whether it is a kind of people, so that only biographies are of it."""
    search: tuple[str, ...] = ()
    """What is searched for if nobody gives keywords."""
    others: Words = Words(frozenset())
    """What is not of the field, even with one of its words."""

    people: Words = Words(frozenset())
    """What biographies say instead; empty for the same."""

    def has(self, page: ReadPage) -> bool:
        """Whether an article is of the field."""
        if self.is_people:
            return page.is_person and self.words.among(page.own)
        if self.is_defining:
            nouns = page.defining if self.search else page.nouns  # a university town is a town
            said = nouns or page.title_without_places
            return not page.is_person and self.words.among(said) and not self.others.among(said)
        if page.is_person:
            return (self.people if self.people.whole else self.words).among(page.said)
        about = [word for word in page.about if not names_people(word)]  # used by writers is not literature
        return self.words.among(about) and not self.others.among(page.defining)


@cache
def known_fields() -> Mapping[str, Field]:
    """The fields of the list, by each of their names."""
    return {
        name: Field(
            word_choice(one["words"]),
            one.get("is_defining", False),
            one.get("is_people", False),
            tuple(one["search"]),
            word_choice(one.get("others", "")),
            word_choice(one.get("people", "")),
        )
        for one in CHOSEN["field"].values()
        for name in one["names"].split()
    }


def field_of(word: str) -> Field:
    """The field that a word of a title names: one of the list, or whatever has the word."""
    known = known_fields()
    is_people, is_thing = names_people(word), singular(word) != word and not NOT_A_PLURAL.search(word)
    field = Field(forms_of(word), is_defining=is_thing and not is_people, is_people=is_people)
    return known.get(word) or known.get(singular(word)) or field


@cache
def country_names() -> tuple[str, ...]:
    """Names of countries in words."""
    return tuple(" ".join(split_words(country.name)) for country in countries().values())


@cache
def places() -> Mapping[str, str]:
    """Places by their names and adjectives; other names that have one of these in them belong to no place."""
    known = {place: tuple(forms) for place, forms in CHOSEN["place"].items()}
    for name in [*country_names(), *(line.split()[0] for line in lines_of("adjectives_of_places"))]:
        *before, last = name.split()
        known.setdefault(name, tuple(" ".join([*before, form]) for form in forms_of_name(last)))
    chosen_last = sorted(known.items(), key=lambda item: item[0] in CHOSEN["place"])
    return dict.fromkeys(CHOSEN["other"], "") | {form: place for place, forms in chosen_last for form in forms}


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
    """What a title asks for."""

    place: str
    """Empty where it names none."""
    forms: frozenset[str]
    """Names and adjectives of the place."""
    further: frozenset[str]
    """Keywords that stand for the place where the text also names it: Aztec, of Mexico."""
    fields: tuple[Field, ...]
    """What the article must be of, all of it."""
    words: tuple[str, ...]
    """The words that name them."""
    keywords: tuple[tuple[str, ...], ...]
    """Or what else it may say."""
    is_history: bool
    is_of_gender: bool
    """Whether it is about women or men."""


def asked_by(topic: Topic) -> Asked:
    """What the title of a topic asks for."""
    return _asked_by(topic.title, tuple(topic.keywords))


@lru_cache(256)
def _asked_by(title: str, keywords: tuple[str, ...]) -> Asked:
    words = words_in(title)
    named = next((one for one in places_in(words) if one.place), Named("", "", 0, 0))
    rest = [*words[: named.begin], *words[named.end :]]
    dropped = word_list("stop_words") | word_list("generic_words") | GONE
    rest = [word for word in rest if word not in dropped and not gender_words(word) and len(word) > 1]
    if named.place and _is_name(title, rest):
        named, rest = Named("", "", 0, 0), words
    fields = tuple(field_of(word) for word in rest if singular(word) != HISTORY)
    forms = frozenset(form for form, place in places().items() if named.place and place == named.place)
    if named.place not in country_names():
        forms |= {long for long, place in places().items() for form in forms if place and long.endswith(f" {form}")}
    searched = {word for field in fields for word in field.search}
    small = tuple(tuple(words_in(one)) for one in keywords if one[:1].islower() and one not in searched)
    capitals = [split_words(one) for one in keywords if named.place and one[:1].isupper() and not one.isupper()]
    of_place = [one for one in capitals if not any(field.words.among(one) for field in fields)]
    return Asked(
        named.place,
        forms,
        frozenset(map(" ".join, of_place)) - forms,
        fields,
        tuple(word for word in rest if singular(word) != HISTORY),
        small,
        HISTORY in map(singular, rest),
        any(map(gender_words, words)),
    )


def _is_name(title: str, rest: Sequence[str]) -> bool:
    """Whether a title with a place in it is a name as a whole, such as "French Revolution", and speaks of no field."""
    is_written_so = len(title.split()) > 1 and all(word[:1].isupper() for word in title.split())
    return is_written_so and not any(word in known_fields() or singular(word) == HISTORY for word in rest)


def _narrows(asked: Asked) -> bool:
    """Whether it asks for a field of a place, or for women or men in a field, where no rule for people does better."""
    is_field = bool(asked.fields) and all(field.search and not field.is_people for field in asked.fields)
    return bool(asked.place) or (asked.is_of_gender and is_field)


def with_keywords(topic: Topic, language: str) -> Topic:
    """The topic; if nobody gave keywords, with words that search for the field that its title names."""
    if topic.keywords or language != ENGLISH or not _narrows(asked := asked_by(topic)):
        return topic
    added = dict.fromkeys(word for field in asked.fields for word in field.search)
    return replace(topic, keywords=tuple(added or (CHOSEN["history"]["search"] if asked.is_history else ())))


def is_of_place(asked: Asked, page: ReadPage) -> bool:
    """Whether the first place that an article names is the one that is asked for."""
    if _PERIOD.match(page.name):
        return False
    in_title = [
        one.form
        for one in places_in(page.title)
        if not page.is_person or page.title[one.begin - 1 : one.begin] == ["of"]
    ]
    sought = page.said if page.is_person else page.sentence
    named = list(places_in(sought))
    if in_title:
        said = next((one.form for one in places_in(page.said)), "")
        is_sure = page.is_person or not said or said in asked.forms or _is_of_place(asked, page.title)
        return not asked.forms.isdisjoint(in_title) and is_sure
    if named and named[0].form in asked.forms:
        is_double = any(one.end == two.begin and two.place != asked.place for one, two in pairwise(named[:2]))
        return not (page.is_person and is_double)  # a Turkish-German actor
    before = f" {' '.join(sought[: named[0].begin] if named else sought)} "
    later = (one.form for one in places_in(page.opening))
    if any(f" {form} " in before for form in asked.further):
        return not asked.forms.isdisjoint(later)
    is_of_land = any(field.is_defining for field in asked.fields)  # a river, whose country comes later
    return is_of_land and not named and next(later, "") in asked.forms


def _is_of_place(asked: Asked, title: Sequence[str]) -> bool:
    """Whether a title says "of Mexico" or "in Turkish …", and is no name such as "Cuba Libre"."""
    return any(
        one.form in asked.forms and {"of", "in"}.intersection(title[: one.begin][-1:]) for one in places_in(title)
    )


def is_of_fields(asked: Asked, page: ReadPage) -> bool:
    """Whether an article says that it is about the fields that are asked for, or one of the keywords."""
    if asked.is_history and not is_historic(page):
        return False
    if all(field.has(page) for field in asked.fields):
        return True
    words = page.said if page.is_person else page.about
    is_open = not any(field.is_people or field.is_defining for field in asked.fields)
    return is_open and any(has_keyword(words, keyword) for keyword in asked.keywords)


def has_keyword(words: Sequence[str], keyword: Sequence[str]) -> bool:
    """Whether words have all of a keyword, in the singular or plural."""
    return {singular(word) for word in keyword} <= {singular(word) for word in words}


def is_historic(page: ReadPage) -> bool:
    """Whether an article is about history: somebody of public life who was born long ago, or who studies it; a past
    thing that is no match and no work of art."""
    lists, verb = CHOSEN["history"], _VERB.search(page.first)
    years = [int(year) for year in _YEAR.findall(page.first)]
    is_past = verb is not None and verb[0] in ("was", "were")
    if page.is_person:
        is_past = is_past and (not years or min(years) < lists["born_before"])
        return word_choice(lists["scholars"]).among(page.said) or (
            is_past and word_choice(lists["people"]).among(page.own)
        )
    if word_choice(lists["others"]).among([*page.title, *page.defining]):
        return False
    is_past = is_past and (not years or min(years) < LAST_YEAR)
    return is_past or word_choice(lists["things"]).among([*page.title, *(page.said if verb else ())])


@lru_cache(256)
def _mentions(title: str) -> tuple[tuple[Words, ...], re.Pattern[str], bool]:
    """The words of a subject, how a text mentions the last two of them, and whether the title is written as a name."""
    dropped = word_list("stop_words") | word_list("generic_words") | {HISTORY}
    words = [word for word in words_in(title) if word not in dropped and not gender_words(word) and len(word) > 1]
    words = words or words_in(title)
    words = list(next(iter(names_in_title(title)), words))
    forms = [forms_of(word) for word in words]
    any_of = ["|".join([*map(re.escape, one.whole), *(rf"{re.escape(b)}\w*" for b in one.beginnings)]) for one in forms]
    mention = re.compile(r"(?<!post[-– ])" + r"\W+".join(rf"\b(?:{one})s?\b" for one in any_of[-2:]))
    return tuple(forms), mention, len(words) > 1 and all(word[:1].isupper() for word in title.split())


def prominence(topic: Topic, page: ReadPage) -> int:
    """How prominent a subject is in an article: `mentions` if it is in its title or first sentence, or mentioned as
    often, or if the first sentence has two keywords, one of which saves a mention.

    Where the title is not written as a name, as "Cold War" is, it is enough to be what a keyword says.
    """
    most: int = CHOSEN["mentions"]
    if _PERIOD.match(page.name):
        return 0
    words, mention, is_name = _mentions(topic.title)
    first = f"{page.name} {_KNOWN_FOR.split(page.plain, maxsplit=1)[0] if page.is_person else page.plain}".lower()
    if all(word.among(page.head) for word in words) and mention.search(first):
        return most
    keywords = [split_words(keyword) for keyword in topic.keywords]
    if not is_name and any(has_keyword([*page.title, *page.defining], keyword) for keyword in keywords):
        return most
    n_keywords = sum(has_keyword(page.head, keyword) for keyword in keywords)
    n = len(mention.findall(page.text.lower()))
    return most if n_keywords >= 2 else n + min(n_keywords, n, 1)


def about_place(engine: Engine, topic: Topic, page_ids: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """The articles about a field of a place that a title names; None where it names no place, or hardly any is."""
    if engine.layout.language != ENGLISH or not (asked := asked_by(topic)).place:
        return None
    possible = page_ids[_name_place(engine, asked, page_ids)][:MOST_READ]
    pages = [(page, is_of_place(asked, page)) for page in _read(engine, possible)]
    kept = [is_there and is_of_fields(asked, page) for page, is_there in pages]
    if not any(kept):
        words = [forms_of(word) for word in asked.words]
        counts = [min((sum(one.among([w]) for w in page.opening) for one in words), default=0) for page, _ in pages]
        is_thing = any(field.is_defining for field in asked.fields)
        is_possible = [there and not (is_thing and page.is_person) for page, there in pages]
        kept = _most_prominent([count * possible for count, possible in zip(counts, is_possible, strict=True)])
    return possible[np.array(kept, bool)] if any(kept) else None


def _most_prominent(counts: Sequence[int]) -> list[bool]:
    """The articles with as many mentions as prominence takes; where none has, those with fewer."""
    tiers = ([count >= least for count in counts] for least in range(CHOSEN["mentions"], 0, -1))
    return next((tier for tier in tiers if any(tier)), [False] * len(counts))


def _name_place(engine: Engine, asked: Asked, page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each page names the place in its lead: the others need not be read."""
    forms = [tuple(engine.analyse("lead", form)) for form in sorted(asked.forms | asked.further)]
    single = tuple(dict.fromkeys(form[0] for form in forms if len(form) == 1))
    phrases = [WeightedTerm("lead", form, is_phrase=True) for form in forms if len(form) > 1]
    (has_name,) = have_terms(engine, [[*phrases, *([WeightedTerm("lead", single)] if single else [])]], page_ids)
    return np.asarray(has_name)


def about_subject(
    engine: Engine, topic: Topic, page_ids: NDArray[np.int32], classes: Sequence[tuple[str, ...]] = ()
) -> NDArray[np.bool_]:
    """Which articles are about a subject without a place; all, where none is. `classes` say what each is an instance
    of."""
    if engine.layout.language != ENGLISH:
        return np.ones(len(page_ids), bool)
    asked, kind = asked_by(topic), kind_of_title(topic.title, engine)
    n, page_ids = len(page_ids), page_ids[:MOST_READ]
    pages = list(_read(engine, page_ids))
    if asked.is_of_gender and _narrows(asked):
        tiers = [[is_of_fields(asked, page) and _speaks_of_gender(page) for page in pages]]
    elif kind:
        tiers = _of_kind(engine, topic, kind, pages, classes[: len(pages)] or [()] * len(pages))
    else:
        tiers = []
    kept = next((tier for tier in tiers if any(tier)), None)
    kept = kept or _most_prominent([prominence(topic, page) for page in pages])
    found = kept if any(kept) else [True] * len(pages)
    return np.array([*found, *[False] * (n - len(pages))], bool)


def _speaks_of_gender(page: ReadPage) -> bool:
    """Whether a page that is about women or men says so; of biographies, pronouns have told."""
    return page.is_person or any(map(gender_words, [*page.title, *page.defining]))


def _of_kind(
    engine: Engine, topic: Topic, kind: str, pages: Sequence[ReadPage], classes: Sequence[tuple[str, ...]]
) -> list[list[bool]]:
    """Which articles are of a kind of thing or people with what else the title says, strictest first: of the kind in
    the title, then of one in the keywords."""
    words = [word for word in words_in(topic.title) if word not in GONE | word_list("stop_words")]
    sought = [forms_of(word) for word in words if singular(word) != kind and not gender_words(word)]
    has_all = [all(one.among(page.said if page.is_person else page.head) for one in sought) for page in pages]
    if names_people(kind) or kind == BIOGRAPHY:
        kinds = {kind, *named_kinds(topic, engine)}
        is_own = [kind == BIOGRAPHY or _is_called(page, kinds) for page in pages]
        return [[own and has for own, has in zip(is_own, has_all, strict=True)], has_all]
    tiers = []
    for kinds in ({kind}, {kind, *named_kinds(topic, engine)}):
        is_one = [_is_thing(page, of, kinds) for page, of in zip(pages, classes, strict=True)]
        tiers.append([one and has for one, has in zip(is_one, has_all, strict=True)])
    has_enough = sought and (sum(tiers[0]) >= CHOSEN["fewest_of_kind"] or not any(tiers[1]))
    return [*(tiers[:1] if has_enough else tiers[1:]), *([has_all] if sought else [])]


def _is_called(page: ReadPage, kinds: Collection[str]) -> bool:
    """Whether somebody is called one of some kinds of people, of which a field may have more; a pitcher is a player."""
    is_one = any(singular(word) in kinds for word in page.own)
    return is_one or "player" in kinds or any(field_of(kind).words.among(page.own) for kind in kinds)


def _is_thing(page: ReadPage, classes: Collection[str], kinds: Collection[str]) -> bool:
    """Whether an article says that it is a thing of a kind, a stratovolcano for a volcano; its title does where its
    first sentence says nothing."""
    of_classes = [word for name in classes for word in split_words(name)[-1:]]
    ends = tuple(kind for kind in kinds if len(kind) >= LEAST_BEGINNING)
    head = words_in(_AFTER_HEAD.split(page.name, maxsplit=1)[0])[-1:]
    words = [singular(word) for word in [*(page.defining or head), *of_classes]]
    return any(word in kinds or word.endswith(ends) for word in words)


def _read(engine: Engine, page_ids: NDArray[np.int32]) -> Iterator[ReadPage]:
    """What each article says of itself."""
    is_person = are_biographies(engine, page_ids).tolist()
    for stored, person in zip(engine.stored(page_ids.tolist()), is_person, strict=True):
        yield ReadPage("" if stored is None else stored.title, "" if stored is None else stored.opening, person)
