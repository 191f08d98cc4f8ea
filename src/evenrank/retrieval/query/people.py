"""What subjects name: people, whose biographies come first, or a kind of thing.

The leads of fish, towns and dams name rivers, too. What an article is about is said by its first sentence ("is a river
in …"), its title ("River Thames", "Krishna River") or, where the collection has them, its classes by Wikidata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import BIOGRAPHY, HEAD, KIND_OF_THING, N_RECENT, defining_phrase, first_sentence
from evenrank.retrieval.engine.protocol import Engine, Hits, Restriction, WeightedTerm
from evenrank.retrieval.query.feedback import inverse_document_frequencies
from evenrank.retrieval.query.topic_query import (
    ENGLISH,
    GENDER_WORDS,
    gender_words,
    number_forms,
    singular,
    split_words,
)
from evenrank.retrieval.word_lists import word_list


@lru_cache(1 << 14)
def names_people(title: str) -> bool:
    """Whether a word of a title denotes people."""
    people = word_list("person_words")
    return any(word in people or singular(word) in people for word in split_words(title))


def are_biographies(engine: Engine, page_ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each page is a biography."""
    if not len(page_ids):
        return np.zeros(0, bool)
    restriction = Restriction(page_ids=page_ids.tolist())
    found = engine.search([WeightedTerm("person", (BIOGRAPHY,))], len(page_ids), restriction).page_ids
    return np.isin(page_ids, found)


def add_people_bonus(engine: Engine, title: str, hits: Hits, bonus: float) -> Hits:
    """Hits in their new order, with a bonus for each biography if the title names people; the same hits otherwise."""
    if bonus <= 0.0 or not names_people(title):
        return hits
    scores = hits.scores + bonus * are_biographies(engine, hits.page_ids)
    order = np.lexsort((hits.page_ids, -scores))
    return Hits(hits.page_ids[order], scores[order])


def people_term(engine: Engine, bonus: float) -> WeightedTerm:
    """The term whose score is the bonus of a biography: every page has one word in this field."""
    (rarity,) = inverse_document_frequencies(engine, "person", [BIOGRAPHY])
    return WeightedTerm("person", (BIOGRAPHY,), bonus / rarity)


def leaning(engine: Engine, word: str, page_ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """1 for a text with more pronouns that fit a word for women or men than others, −1 for fewer, else 0; English only.

    A page's score by one word is the rarity of the word times a number that grows with its occurrences, so two words
    can be compared without counting them.
    """
    fitting = [words[3] for words in GENDER_WORDS if words == gender_words(word)]
    if not fitting or not len(page_ids) or engine.layout.language != ENGLISH:
        return np.zeros(len(page_ids))
    (other,) = [words[3] for words in GENDER_WORDS if words[3] not in fitting]
    return np.sign(_occurrence(engine, fitting[0], page_ids) - _occurrence(engine, other, page_ids))


def _occurrence(engine: Engine, word: str, page_ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """A number for each page that grows with how often its text has a word, alike for all words; 0 without it."""
    analysed = engine.analyse("text", word)
    (rarity,) = inverse_document_frequencies(engine, "text", analysed)
    hits = engine.search(
        [WeightedTerm("text", tuple(analysed))], len(page_ids), Restriction(page_ids=page_ids.tolist())
    )
    found = np.zeros(len(page_ids))
    order = np.argsort(page_ids)
    found[order[np.searchsorted(page_ids[order], hits.page_ids)]] = hits.scores / rarity
    return found


_COMPOUND_MODIFIER = re.compile(r"\w+(?:[-‐‑–]\w+)+\s+(?=\w)")
"""What comes before the thing itself: "a Japanese-language song" is no language."""
_CONTAINERS = frozenset(
    (
        *("species", "genus", "genera", "family", "type", "kind", "form", "breed", "variety", "class", "name", "part"),
        *("group", "groups", "chain", "series", "set", "collection", "pair"),
    )
)
"""Words before "of" that leave it to the word after it to say what something is: "a species of moth"."""
NOT_A_PLURAL = re.compile(r"ics$|^(?:news|rights|arts|affairs|relations)$")
"""Words that look like plurals, and plurals that name no things: physics, human rights."""
SINGULAR_SHARE = 0.6
"""Leads that have the singular of a kind of thing, beside those with its plural: `river` is frequent, `texa` is not."""
_LIST_OF = re.compile(r"^lists? of (?:the )?", re.IGNORECASE)
_BEFORE_NAME = re.compile(r"\w+(?: (?:[^\W\d_a-z]|\d|(?:of|in)\b)|[,(]| \(|$)")
"""A first word that a name, a place or nothing follows."""
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")
_IS_SOMEBODY = re.compile(
    r"\b(?:is|was) (?:an?|the) ([^.;:]{1,120}?)(?: (?:who|that|which|for|from|by|with|in|at|on)\b|[.;:]|$)"
)
_ENDS_NOUN = re.compile(rf"(?:ed|ing)$|^(?:{'|'.join(sorted(_CONTAINERS))}|during|under|about|over|set)$")
"""What follows the name of a thing: "a song recorded", "a novel series"."""
_NAMED_AFTER = frozenset(
    (
        *("film", "novel", "album", "game", "programme", "program", "episode", "magazine", "newspaper", "band", "team"),
        *("song", "single", "musical", "opera", "poem", "painting", "podcast", "duo", "trio", "collective", "software"),
        *(
            "company",
            "firm",
            "publisher",
            "label",
            "service",
            "platform",
            "town",
            "city",
            "village",
            "suburb",
            "hamlet",
        ),
        *("community", "township", "townland", "neighborhood", "neighbourhood"),
    )
)
"""Things that are called after other things: "Park Bridge is a townland", "The Bridge on the River Kwai is a film"."""
_OF_PLACE = re.compile(r"\s(?:of|in)\s")
_TITLE_HEAD_END = re.compile(r",|\s(?:of|in|at|on|for|by|and)\s")


def named_kinds(topic: Topic, engine: Engine) -> frozenset[str]:
    """The kinds of thing that a subject names, in the singular: the head of its title, a plural (`clubs` of "Football
    clubs of Ghana"), and keywords of one word. Where it names people, kinds of people, and where not, none.

    Empty for subjects that are no kind of thing. `biography` stands for all people.
    """
    kind = kind_of_title(topic.title, engine)
    if not kind:
        return frozenset()
    is_people = kind == BIOGRAPHY or names_people(kind)
    single = [parts[0] for keyword in topic.keywords if len(parts := split_words(keyword)) == 1]
    further = {singular(one) for one in single if names_people(one) == is_people and one not in _CONTAINERS}
    return frozenset(further or {kind}) if kind == BIOGRAPHY else frozenset({kind, *further})


def kind_of_title(title: str, engine: Engine) -> str:
    """The kind of thing, or of people, that the head of a title names, in the singular; empty if it names none."""
    if engine.layout.language != ENGLISH:
        return ""
    head = "".join(split_words(_TITLE_HEAD_END.split(title, maxsplit=1)[0])[-1:])
    if singular(head) == BIOGRAPHY:
        return BIOGRAPHY
    is_kind = head and head not in word_list("generic_words") and not gender_words(head) and _is_plural(head, engine)
    return singular(head) if is_kind else ""


def _is_plural(word: str, engine: Engine) -> bool:
    """Whether a word is the plural of one that articles use: `rivers` is, `physics` and `Wales` are not."""
    if word == "series":
        return True
    if singular(word) == word or NOT_A_PLURAL.search(word):
        return False
    plural, single = engine.document_frequencies("lead", [word, singular(word)])
    return single > 0 and single >= SINGULAR_SHARE * plural


def are_of_kind(
    engine: Engine,
    topic: Topic,
    page_ids: NDArray[np.int32],
    titles: Sequence[str],
    classes: Sequence[tuple[str, ...]] | None = None,
) -> NDArray[np.bool_]:
    """Whether each article is about a thing of the kind that a subject names; none where it names no kind.

    Keywords name further kinds only where these are many: novels are books, but airlines no airports.
    `classes` are the names of what each article is an instance of (`Collection.classes`).
    """
    kinds, own = named_kinds(topic, engine), kind_of_title(topic.title, engine)
    if not kinds:
        return np.zeros(len(page_ids), bool)
    openings = ["" if page is None else page.opening for page in engine.stored(page_ids.tolist())]
    is_person = are_biographies(engine, page_ids).tolist()
    pages = list(zip(titles, openings, is_person, classes or [()] * len(titles), strict=True))

    def having(names: Collection[str]) -> NDArray[np.bool_]:
        forms = frozenset(form for name in names for form in number_forms(name))
        return np.array([is_of_kind(forms, *page) for page in pages], bool)

    are_kind = having(kinds)
    if own in kinds and not names_people(own):
        is_own = having({own})
        if is_own.sum() >= max(FEWEST_OWN, OWN_SHARE * are_kind.sum()):
            return is_own
    return are_kind


def asks_for_people(topic: Topic, engine: Engine) -> bool:
    """Whether the kinds of thing that a subject names are people."""
    return any(kind == BIOGRAPHY or names_people(kind) for kind in named_kinds(topic, engine))


FEWEST_OWN, OWN_SHARE = 10, 0.6
"""Articles of the title's own kind, and their share of those of any named kind, from which on they are enough: keywords
then say what such things have, not what they are."""
LEAST_COMPOUND = 5
"""Letters that a kind must have to be found at the end of a longer word."""


def is_of_kind(forms: frozenset[str], title: str, opening: str, is_person: bool, classes: tuple[str, ...] = ()) -> bool:
    """Whether the first sentence says so, or the title with its first or last word, or a class with its last word; of a
    person, only what they are. A stratovolcano is a volcano."""
    if BIOGRAPHY in forms:
        return is_person
    if is_person or any(map(names_people, forms)):
        return is_person and any(word in forms and names_people(word) for word in _occupations(opening))
    if names_people(" ".join(_occupations(opening)[-1:])):
        return False  # "a film and television actor"
    said = [] if _is_about_its_place(title, opening) else defining_nouns(opening)
    of_classes = [word for name in classes for word in split_words(name)[-1:]]
    ends = tuple(form for form in forms if len(form) >= LEAST_COMPOUND)
    heads = _title_heads(title)
    if said and not _LIST_OF.match(title):
        heads = [] if _NAMED_AFTER.intersection(said) else [word for word in heads if singular(word) == word]
    return any(word in forms or word.endswith(ends) for word in [*said, *heads, *of_classes])


def _is_about_its_place(title: str, opening: str) -> bool:
    """Whether a first sentence speaks of the place in a title: "Armenia is a country", of "Geography of Armenia"."""
    head, *place = _OF_PLACE.split(title, maxsplit=1)
    if not place:
        return False
    said = split_words(opening[:HEAD])
    said = said[1:] if said[:1] == ["the"] else said
    named = [split_words(re.sub(r"^the ", "", text)) for text in place]
    return any(words and said[: len(words)] == words for words in named) and said[:1] != split_words(head)[:1]


def _occupations(opening: str) -> list[str]:
    """What a first sentence says that somebody is, all of it: "a Slovak businessman and convicted criminal"."""
    said = _IS_SOMEBODY.search(opening[:HEAD])
    return split_words(said[1]) if said else []


def _title_heads(title: str) -> list[str]:
    """Words of a title that may say what it names: `river` of `Rhone (river)`, `university` of `University of Oslo`.

    The first word does before a name or a place ("River Thames"), not in "Right triangle".
    A plural is the name of a firm or an album as often ("Baen Books"), so it counts only where nothing else tells.
    """
    in_brackets = split_words(" ".join(_IN_BRACKETS.findall(title)))
    if _NAMED_AFTER.intersection(in_brackets[-1:]):
        return in_brackets[-1:]
    name = _TITLE_HEAD_END.split(_LIST_OF.sub("", _IN_BRACKETS.sub("", title)), maxsplit=1)[0]
    words = split_words(name)
    first = words[:1] if _BEFORE_NAME.match(title) else []
    return [*first, *words[-1:], *(word for word in in_brackets[-1:] if singular(word) == word)]


def defining_words(text: str) -> list[str]:
    """What the first sentence says that its subject is: `tributary` in "The Una is a tributary of the Sava"."""
    return list(_defining_words(text))


@lru_cache(N_RECENT)
def _defining_words(text: str) -> tuple[str, ...]:
    before, after, *_ = (*defining_phrase(first_sentence(text), KIND_OF_THING).split(" of "), "", "")
    words = split_words(_COMPOUND_MODIFIER.sub("", before))
    return (*words, *(split_words(after) if _CONTAINERS.intersection(words[-1:]) else ()))


def defining_nouns(text: str) -> list[str]:
    """Those that name the thing itself: `team` of "a school football team", `volcano` of "a volcano lying near"; not
    `bird` of "a species of bird dropping moth"."""
    words = defining_words(text)
    found = []
    for word, after, further in zip_longest(words, words[1:], words[2:], fillvalue=""):
        is_modified = after.endswith("ing") and further and further not in word_list("stop_words")
        if not after or (_ENDS_NOUN.search(after) and not is_modified):
            found.append(word)
    return found
