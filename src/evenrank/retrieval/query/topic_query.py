"""Topics and words of readers as weighted terms: no stop words, singular and plural forms, phrases.

Endings decide, and short lists where spelling does not tell: that of `houses` is as that of `viruses`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import analyser_for, without_stop_words
from evenrank.retrieval.engine.protocol import Engine, TextField, WeightedTerm
from evenrank.retrieval.word_lists import word_list

SIBILANTS = ("s", "x", "z", "ch", "sh")
"""Endings of nouns whose plural has `es`."""
_IRREGULAR = {
    "calves": "calf",
    "dwarves": "dwarf",
    "elves": "elf",
    "halves": "half",
    "hooves": "hoof",
    "knives": "knife",
    "loaves": "loaf",
    "midwives": "midwife",
    "scarves": "scarf",
    "shelves": "shelf",
    "thieves": "thief",
    "wives": "wife",
    "wolves": "wolf",
    "housewives": "housewife",
    "werewolves": "werewolf",
    "children": "child",
    "geese": "goose",
    "mice": "mouse",
    "oxen": "ox",
    "teeth": "tooth",
    "quizzes": "quiz",
    "crises": "crisis",
    "oases": "oasis",
    "neuroses": "neurosis",
    "psychoses": "psychosis",
}
"""Plurals that no rule gives. Not `lives` and `leaves`, which are verbs more often."""
_PLURALS = {single: plural for plural, single in _IRREGULAR.items()}
_NOUNS_IN_S = frozenset(
    (
        *("alias", "atlas", "bias", "bus", "canvas", "chaos", "christmas", "cosmos", "ethos", "gas", "iris", "lens"),
        *("mantis", "minibus", "pancreas", "pelvis", "rhinoceros", "trellis", "trolleybus"),
        *("news", "series", "species"),
    )
)
"""Nouns that end like plurals."""
_NOUNS_IN_IE = frozenset(
    (
        *("aggie", "birdie", "bogie", "brownie", "calorie", "collie", "cookie", "eerie", "genie", "hippie", "junkie"),
        *("magpie", "movie", "necktie", "pixie", "prairie", "rookie", "selfie", "sortie", "zombie"),
    )
)
"""Nouns whose plural does not come from a `y`; so are all of three letters, such as `tie`."""
_NOUNS_IN_OE = frozenset(("aloe", "canoe", "floe", "foe", "hoe", "oboe", "roe", "sloe", "toe"))
_NOUNS_IN_CHE = frozenset(("avalanche", "creche", "niche", "psyche", "quiche"))
_NOUNS_IN_USE = frozenset(
    ("abuse", "accuse", "excuse", "fuse", "hypotenuse", "misuse", "muse", "recluse", "refuse", "ruse", "use")
)
"""Other than `house` and `cause`; all further ones are like `virus`."""
_FROM_SIS = re.compile(r"(?:lyses|theses|gnoses|phoses)$")
_FROM_SILENT_E = re.compile(r"(?:[^s]s|[^tz]z)es$|[^aeo]aches$")
"""Plurals of nouns in `e`: houses, prizes, headaches; not classes, waltzes, beaches."""


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """A word without its plural ending; any other word as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word in _NOUNS_IN_S:
        return word
    if word.endswith("es"):
        return _without_es(word)
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _without_es(word: str) -> str:
    """The singular of a word in `es`, of which `e` may be part of the noun, the ending, or both."""
    noun, short = word[:-1], word[:-2]
    if word.endswith("ies"):
        has_ie = noun in _NOUNS_IN_IE or len(noun) <= 3 or noun.endswith(("eie", "aie"))
        return noun if has_ie else word[:-3] + "y"
    if short in _NOUNS_IN_S or short.endswith("polis"):
        return short
    if word.endswith("oes"):
        return noun if noun in _NOUNS_IN_OE or noun.endswith("shoe") else short
    if not short.endswith(SIBILANTS) or noun in _NOUNS_IN_CHE:
        return noun
    if _FROM_SIS.search(word):
        return short + "is"
    if word.endswith("uses") and noun[-4:-3] not in ("a", "o"):
        return noun if noun in _NOUNS_IN_USE else short
    return noun if _FROM_SILENT_E.search(word) else short


def plural_forms(single: str) -> tuple[str, ...]:
    """The plurals of a noun: mostly one, and both of `volcanos` and `volcanoes`."""
    if single in _PLURALS:
        return (_PLURALS[single],)
    if single in ("series", "species"):
        return (single,)
    before = single[-2:-1]
    if single.endswith("y") and len(single) > 2 and before not in "aeiou":
        return (single[:-1] + "ies",)
    if single.endswith("o") and len(single) > 2 and before not in "aeiou":
        return (single + "s", single + "es")
    if single.endswith(("lysis", "thesis", "gnosis", "phosis")):
        return (single[:-2] + "es",)
    return (single + ("es" if single.endswith(SIBILANTS) else "s"),)


ENGLISH = "en"
WORD = re.compile(r"\w+")
_CUT_OFF = re.compile(r"(?<!\w)\w*+(?:\.\.\.|…)\s*+$")


def split_words(text: str, language: str = ENGLISH) -> list[str]:
    """Words in lower case and without accents; a last word that is cut off by an ellipsis is left out."""
    if "..." in text or "…" in text:
        text = _CUT_OFF.sub("", text)
    if language != ENGLISH:
        return analyser_for(language).words(text)
    plain = text.lower()
    if plain.isascii():  # most texts, in a third of the time
        return WORD.findall(plain)
    plain = unicodedata.normalize("NFKD", plain)
    return WORD.findall(_HIGH.sub(_without_accents, plain))


_HIGH = re.compile(r"[\u0300-\U0010ffff]+")
"""Where combining characters are: the others need no look at each."""


def _without_accents(found: re.Match[str]) -> str:
    return "".join(char for char in found[0] if not unicodedata.combining(char))


def subject_words(text: str, *, is_name: bool, language: str = ENGLISH) -> list[str]:
    """Words of a text that tell its subject; of a project's name or scope also without the usual wording."""
    if language != ENGLISH:
        return without_stop_words(split_words(text, language), language)
    dropped = word_list("stop_words") | (word_list("generic_words") if is_name else frozenset())
    return [word for word in split_words(text) if word not in dropped]


def number_forms(word: str, language: str = ENGLISH) -> tuple[str, ...]:
    """The word itself, and its singular or plural: the forms that count as one word without stemming."""
    if language != ENGLISH:
        return (word,)
    single = singular(word)
    return tuple(dict.fromkeys((word, single, *plural_forms(single))))


LONGEST_PHRASE = 4
GENDER_WORDS = (("woman", "women", "female", "she", "her"), ("man", "men", "male", "he", "his"))
"""Words for women and for men; a text about such a person has at least one, mostly a pronoun."""
_POSSESSIVE = re.compile(r"\w['’]s\b")


@dataclass(frozen=True)
class QuerySettings:
    """How a topic becomes a query. The same for all topics; nothing is fitted to a collection."""

    title_weight: float = 1.0
    """Weight of a word of the topic's title."""
    keyword_mass: float = 10.0
    """Each keyword weighs 1, or less when there are many: at most this much together."""
    doubtful_share: float = 0.5
    """What a keyword counts that fits neither the title nor the other keywords, as a share of its weight."""
    scope_weight: float = 0.1
    """Weight of a word of the scope: little, for a scope mostly tells how the project works, not what it is about."""
    fields: Mapping[TextField, float] = field(
        default_factory=lambda: {"text": 1.0, "lead": 1.0, "categories": 1.0, "infobox": 0.5, "kind": 1.0}
    )
    """Weight of a match in each field. Titles are left out: a title word is as often a name as a subject."""
    phrase_fields: Mapping[TextField, float] = field(default_factory=lambda: {"lead": 1.0, "categories": 1.0})
    """Weight of a keyword of several words that appears in the field word for word."""
    together_fields: Mapping[TextField, float] = field(default_factory=lambda: {"lead": 1.0, "categories": 1.0})
    """Weight of all words of a title or keyword in the field, in any order."""
    people_bonus: float = 0.2
    """What a biography is worth when the title names people, where the best page by words can reach 1."""


@dataclass(frozen=True)
class QueryWords:
    """The words of a query before they meet an index."""

    weights: Mapping[str, float]
    """Weight of each word; singular and plural are one word."""
    phrases: tuple[tuple[str, ...], ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    """Words of a title or keyword that only together are the subject: women scientists are no women's football."""
    names: frozenset[str] = frozenset()
    """Words of keywords that are written with a capital and look like plurals."""


def topic_words(
    topic: Topic, settings: QuerySettings | None = None, language: str = ENGLISH, doubtful: Collection[str] = ()
) -> QueryWords:
    """The words of a topic, weighted by where they stand; keywords that are in doubt weigh less."""
    settings = settings or QuerySettings()
    weights: Counter[str] = Counter()
    names = [part for part in re.split(r"[/:]", topic.title) if part.strip()]
    for name in names:
        _count(weights, subject_words(name, is_name=True, language=language), settings.title_weight)
    each = min(1.0, settings.keyword_mass / max(len(topic.keywords), 1))
    for keyword in topic.keywords:
        weight = settings.doubtful_share * each if keyword in doubtful else each
        _count(weights, subject_words(keyword, is_name=False, language=language), weight)
    _count(weights, dict.fromkeys(subject_words(topic.scope, is_name=True, language=language)), settings.scope_weight)
    phrases = tuple(_phrases([*names, *topic.keywords], language))
    named = [(text, subject_words(text, is_name=True, language=language)) for text in names]
    texts = [*named, *((text, subject_words(text, is_name=False, language=language)) for text in topic.keywords)]
    qualified = [(tuple(dict.fromkeys(words)), qualifying_words(text, words, language)) for text, words in texts]
    alone = {word for _, qualifying in qualified for word in qualifying}
    kept = Counter({word: weight for word, weight in weights.items() if word not in alone})
    together = tuple(dict.fromkeys(words for words, qualifying in qualified if qualifying))
    capitals = (word for keyword in topic.keywords for word in keyword.split() if word[:1].isupper())
    written = frozenset(part for word in capitals for part in split_words(word, language) if singular(part) != part)
    return QueryWords(_or_all(kept, topic, language), phrases, together, written)


def free_words(text: str, language: str = ENGLISH) -> QueryWords:
    """The words that a reader typed, each weighing 1 an occurrence."""
    weights: Counter[str] = Counter()
    _count(weights, subject_words(text, is_name=False, language=language) or split_words(text, language), 1.0)
    return QueryWords(dict(weights), tuple(_phrases([text], language)))


def build_terms(words: QueryWords, engine: Engine, settings: QuerySettings | None = None) -> list[WeightedTerm]:
    """The weighted terms of a query, for one engine's way of analysing text."""
    settings = settings or QuerySettings()
    names = names_like_plurals(words, engine)
    terms = []
    for name, field_weight in settings.fields.items():
        for word, weight in words.weights.items():
            if forms := analysed_forms(engine, name, word, is_name=word in names):
                terms.append(WeightedTerm(name, forms, weight * field_weight))
    for name, field_weight in settings.phrase_fields.items():
        for phrase in words.phrases:
            analysed = tuple(engine.analyse(name, " ".join(phrase)))
            terms.append(WeightedTerm(name, analysed, field_weight, is_phrase=True))
    for name, field_weight in settings.together_fields.items():
        for together in words.together:
            forms_of = [forms for word in together if (forms := _with_pronouns(engine, name, word))]
            if len(forms_of) > 1:
                terms.append(WeightedTerm(name, forms_of[0], field_weight, with_words=tuple(forms_of[1:])))
    return [term for term in terms if term.weight]


def _count(weights: Counter[str], words: Iterable[str], weight: float) -> None:
    """Add the weight of each word to that of the form under which it is counted already."""
    if not weight:
        return
    known = {singular(other): other for other in weights}
    for word in words:
        weights[known.setdefault(singular(word), word)] += weight  # type: ignore[assignment]


def _or_all(weights: Counter[str], topic: Topic, language: str) -> dict[str, float]:
    """The weights; of a topic that has nothing but generic words, those words."""
    if not weights:
        _count(weights, [word for part in (topic.title, *topic.keywords) for word in split_words(part, language)], 1.0)
    return dict(weights)


def _phrases(texts: Sequence[str], language: str) -> list[tuple[str, ...]]:
    """Texts of two to four words that are no mere wording, word for word."""
    generic = word_list("generic_words") if language == ENGLISH else frozenset()
    found = [tuple(split_words(text, language)) for text in texts]
    kept = [phrase for phrase in found if 2 <= len(phrase) <= LONGEST_PHRASE and not generic & set(phrase)]
    return list(dict.fromkeys(kept))


def gender_words(word: str) -> tuple[str, ...]:
    """Of a word for women or men: all such words and the pronouns, any of which tells that a text is about them."""
    return next((words for words in GENDER_WORDS if word in words[:3]), ())


def qualifying_words(text: str, words: Sequence[str], language: str = ENGLISH) -> tuple[str, ...]:
    """The words that only say of whom a text like "women scientists" speaks; "women's rights" is a subject as it is."""
    if language != ENGLISH or _POSSESSIVE.search(text):
        return ()
    found = tuple(word for word in words if gender_words(word))
    return found if len(found) < len(words) else ()


def _with_pronouns(engine: Engine, name: TextField, word: str) -> tuple[str, ...]:
    """The alternatives of a word in a field; of women and men, also other words for them."""
    of_gender = gender_words(word) if engine.layout.language == ENGLISH else ()
    forms = [form for other in of_gender for form in engine.analyse(name, other)]
    return tuple(dict.fromkeys([*analysed_forms(engine, name, word), *forms]))


def analysed_forms(engine: Engine, name: TextField, word: str, *, is_name: bool = False) -> tuple[str, ...]:
    """Alternatives of a word in a field: its number forms where text is not stemmed, one stem where it is. A name has
    none."""
    forms_of = (word,) if is_name else number_forms(word, engine.layout.language)
    forms = [engine.analyse(name, form) for form in forms_of]
    return tuple(dict.fromkeys(form[0] for form in forms if form))


def names_like_plurals(words: QueryWords, engine: Engine) -> frozenset[str]:
    """Names that look like the plural of a rarer word: Lagos is not Lago, while "Rivers" are rivers."""
    if not words.names:
        return frozenset()
    names = sorted(words.names)
    n_with = engine.document_frequencies("lead", [*names, *map(singular, names)])
    plural, single = n_with[: len(names)], n_with[len(names) :]
    return frozenset(name for name, more, fewer in zip(names, plural, single, strict=True) if fewer < more)
