"""Text → words, the same for every engine: what a page is indexed under and what a query asks for.

Pages are asked whether they are biographies when they are indexed, so that a search can tell them at no cost; kinds of
thing (`query/people.py`) are read from what the index stores.

Words are made on the client. Engines that cannot run this analysis themselves index the words joined by spaces, so
that every engine holds the same words and gives the same answers.
"""

from __future__ import annotations

import codecs
import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evenrank.core.records import LANGUAGE_CODE
from evenrank.errors import UnknownNameError
from evenrank.retrieval.engine.protocol import IndexPage, TextField
from evenrank.retrieval.word_lists import word_list

if TYPE_CHECKING:
    import tantivy


HEAD = 300
"""Characters of an article in which it says what it is, and a biography gives the dates of a life."""


class Definition(NamedTuple):
    """How "is a …" is read."""

    says: re.Pattern[str]
    """The first group is what follows "is a"."""
    end: re.Pattern[str]
    """Where the noun phrase in it ends."""


def _phrase_end(*words: str, flags: int = 0) -> re.Pattern[str]:
    always = ("who", "that", "which", "in", "for", "from", "by", "with", "at", "on", "born", "and", "known")
    return re.compile(rf",|\b(?:{'|'.join((*always, *words))})\b", flags)


_PERSON = Definition(
    re.compile(r"(?:i(?<=\bi)s|w(?<=\bw)as) (?:an?|the)\s+([^.;:()]{1,100})"),
    _phrase_end("of", "based", flags=re.IGNORECASE),
)
"""A word boundary is looked for behind the first letter, which is found faster than a boundary."""
KIND_OF_THING = Definition(
    re.compile(r"\b(?:is|was|are|were) (?:one of |among )?(?:an?|the)\s+([^.;:()]{1,120})"),
    _phrase_end(
        *("(?<!-)based", "where", "when", "to", "as", "near", "along", "between", "through"),
        *("located", "situated", "found", "endemic", "native", "written"),
    ),
)
"""Things can be many, are somewhere, and may be "a species of moth"."""


def defining_phrase(text: str, definition: Definition) -> str:
    """The noun phrase after the first "is a" of an article; empty when it does not say."""
    said = definition.says.search(text[:HEAD])
    return definition.end.split(said[1], maxsplit=1)[0] if said else ""


_SENTENCE_END = re.compile(r"(?<=[^\s.][^\s.][^\s.])[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[^\W\d_a-z])|[。！？।]")
"""A full stop after a word of three letters or more, before a capital: neither "b." nor "U.S." nor "St." ends one."""
LONGEST_SENTENCE = 600
"""Characters that are searched for the end of a sentence."""
N_RECENT = 64
"""Texts whose first sentence is remembered: what looks at a page asks for it several times."""


@lru_cache(N_RECENT)
def first_sentence(text: str) -> str:
    """The first sentence of a text, at most 600 characters."""
    head = text.lstrip()[:LONGEST_SENTENCE]
    end = _SENTENCE_END.search(head)
    return head[: end.end()].rstrip() if end else head


BIOGRAPHY = "biography"
"""The word of the field `person` of a biography."""
_LIFE_DATES = re.compile(r"\([^()]*\b(?:born\b|b\.\s|\d{3,4}[^()]*[–-][^()]*\d{3,4})")
_WORD = re.compile(r"\w+")
_NOT_ONE_PERSON = frozenset({"people", "biography", "biographical", "model", "official", "nobility", "royalty"})
"""Words about people that mean something else, or several, after "is a"."""
_OF_LIVES = re.compile(r"\b(?:births|deaths)$|^Living people$")
"""English categories that only biographies have."""


def is_biography(text: str, categories: Iterable[str] = ()) -> bool:
    """Whether the first words hold the dates of a life or name a person's occupation, or a category tells of births."""
    head = text[:HEAD]
    has_life_dates = "(" in head and _LIFE_DATES.search(head) is not None
    return has_life_dates or _is_somebody(head) or any(map(_OF_LIVES.search, categories))


def _is_somebody(head: str) -> bool:
    """Whether the first "is a" or "was the" is followed by a word for a person: "is a retired Indian diplomat"."""
    words = _WORD.findall(defining_phrase(head, _PERSON).lower())
    return bool(words) and words[-1] in word_list("person_words") and words[-1] not in _NOT_ONE_PERSON


LONGEST_WORD = 40
"""Bytes; runs of letters and digits that are so long, or longer, are not words."""
ABSENT = "zzabsentfieldzz"
"""The word of a field that a page does not have. Nobody asks for it: engines differ in whether pages without a field
count in its statistics, and so in their scores, unless every page has every field."""
UNSTEMMED_FIELDS: frozenset[TextField] = frozenset({"lead", "person"})
"""Fields whose words keep their endings: "boxing" must not find boxes, nor "engineering" engines."""


class Analyser(Protocol):
    """A pure function from text to words, for one language; any thread may call it."""

    @property
    def language(self) -> str:
        """Language code."""
        ...

    def words(self, text: str) -> list[str]:
        """The words of a text: lower case, without accents."""
        ...

    def stems(self, text: str) -> list[str]:
        """The words of a text without their endings."""
        ...


def analyse(analyser: Analyser, field: TextField, text: str) -> list[str]:
    """The words of a text as a field indexes them."""
    return analyser.words(text) if field in UNSTEMMED_FIELDS else analyser.stems(text)


_SHORT_WORD = re.compile(r"(?<![^\W_])[^\W_]{1,9}(?![^\W_])")
"""A run of letters and digits that every analysis takes for a word."""


def field_texts(page: IndexPage, analyser: Analyser) -> dict[TextField, str]:
    """The text of every field of a page; a text without a word gets the word that says so."""
    texts: dict[TextField, str] = {
        "title": page.title,
        "lead": page.lead,
        "text": page.text,
        "categories": page.categories,
        "infobox": page.infobox,
        "kind": page.kind,
    }
    for name, text in texts.items():
        if not (text and (_SHORT_WORD.search(text) or analyse(analyser, name, text))):
            texts[name] = ABSENT
    texts["person"] = BIOGRAPHY if is_biography(page.text, page.categories.splitlines()) else ABSENT
    return texts


SNOWBALL = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Languages with a stemmer, by code."""
STOP_WORD_LISTS = frozenset(SNOWBALL) - {"ar", "el", "ro", "ta", "tr"}
"""Languages with a list of stop words."""
UNSEGMENTED = frozenset({"ja", "km", "ko", "lo", "my", "th", "wuu", "yue", "zh"})
"""Languages that do not put spaces between words, or only between groups of them: indexed by pairs of characters."""
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u31f0-\u31ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul, Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # Han
)
_RUNS = re.compile(f"([{_PAIRED}]+)|([^\\W_{_PAIRED}]+)")


_PLAIN_FORMS = "evenrank.plain_forms"


def fold(text: str) -> str:
    """A text with plain lower-case letters and digits in place of their other forms: é, ﬁ and ² become e, fi and 2.

    ASCII and letters without a plain form are left alone, other characters become blanks. An encoder copies ASCII,
    which is nearly everything, as fast as memory can be read, and asks only for what is between; tantivy's own filter,
    which has the same forms, would cost every word a call.
    """
    return text if text.isascii() else text.encode("ascii", _PLAIN_FORMS).decode()


def _encode_rest(error: UnicodeError) -> tuple[bytes, int]:
    """What the encoder writes for characters that are not ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    return _plain_forms(error.object[error.start : error.end]), error.end


codecs.register_error(_PLAIN_FORMS, _encode_rest)


@lru_cache(1 << 14)
def _plain_forms(characters: str) -> bytes:
    whole = characters.encode("utf-8", "replace").decode()
    return "".join(map(_plain_form, whole)).encode()


@lru_cache(1 << 14)
def _plain_form(character: str) -> str:
    """The plain form of a letter or digit, by tantivy's table, else the letter itself; a blank for anything else."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    def lower_case() -> TextAnalyzerBuilder:
        return TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase())

    lower, plain = (a.build().analyze(character) for a in (lower_case(), lower_case().filter(Filter.ascii_fold())))
    return " " if not lower else character if lower == plain else plain[0].lower()


_LETTERS_AND_DIGITS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)).ljust(256)


def _ascii_words(text: str) -> list[str]:
    """Runs of letters and digits of an ASCII text, in lower case: what tantivy finds, in a third of the time."""
    return text.encode("ascii").translate(_LETTERS_AND_DIGITS).decode("ascii").split()


_IS_IN_WORD = bytes(code > 127 or chr(code).isalnum() for code in range(256))
"""For the bytes of a folded text, in which all letters but those of ASCII have several, none of which is ASCII."""


def count_words(analyser: Analyser, text: str) -> int:
    """How many words a text has; in English, their beginnings are counted, which takes a tenth of the time."""
    if isinstance(analyser, WordAnalyser) and analyser.language == "en":
        marked = b"\0" + fold(text).encode().translate(_IS_IN_WORD)
        if b"\1" * LONGEST_WORD not in marked:
            return marked.count(b"\0\1")
    return len(analyser.words(text))


class _EnglishStems(dict[str, str]):
    """The stems of words, by tantivy, as far as they were asked for; empty for what is too long for a word."""

    MOST = 1 << 18
    """Words that are kept; a whole Wikipedia has millions, most of them once."""

    def __init__(self) -> None:
        self._local = threading.local()  # a compiled analyser serves one thread at a time

    def __missing__(self, word: str) -> str:
        if len(self) >= self.MOST:
            self.clear()
        self[word] = stem = self._stemmer().analyze(word)[0] if len(word) < LONGEST_WORD else ""
        return stem

    def _stemmer(self) -> tantivy.TextAnalyzer:
        if not hasattr(self._local, "stemmer"):
            from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

            builder = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer("english"))
            self._local.stemmer = builder.build()
        compiled: tantivy.TextAnalyzer = self._local.stemmer
        return compiled


_ENGLISH_STEMS = _EnglishStems()


class WordAnalyser:
    """Letters and digits, lower case, folded to ASCII; stems by the Snowball stemmer of the language if there is one.

    Compiled by tantivy, which is always installed; no index is needed.
    """

    def __init__(self, language: str) -> None:
        self.language = language
        self._local = threading.local()  # a compiled analyser serves one thread at a time

    def words(self, text: str) -> list[str]:
        """The words of a text: lower case, without accents."""
        text = self._normal(text)
        if self.language == "en" and text.isascii():
            return [word for word in _ascii_words(text) if len(word) < LONGEST_WORD]
        return list(self._compiled(is_stemmed=False).analyze(text))

    def stems(self, text: str) -> list[str]:
        """The words of a text without their endings."""
        text = self._normal(text)
        if self.language == "en" and text.isascii():
            stems = list(map(_ENGLISH_STEMS.__getitem__, _ascii_words(text)))
            return [stem for stem in stems if stem] if "" in stems else stems
        return list(self._compiled(is_stemmed=self.language in SNOWBALL).analyze(text))

    def _normal(self, text: str) -> str:
        return fold(text) if self.language == "en" else unicodedata.normalize("NFKC", text)

    def _compiled(self, *, is_stemmed: bool) -> tantivy.TextAnalyzer:
        name = "stems" if is_stemmed else "words"
        if not hasattr(self._local, name):
            setattr(self._local, name, compile_analyser(self.language, is_stemmed=is_stemmed))
        compiled: tantivy.TextAnalyzer = getattr(self._local, name)
        return compiled


def compile_analyser(language: str, *, is_stemmed: bool) -> tantivy.TextAnalyzer:
    """The analysis of a language in the form that tantivy runs while it indexes.

    English must be folded to ASCII before (`fold`); the stemmers of other languages know their accents.
    """
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = (
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    )
    if is_stemmed:
        builder = builder.filter(Filter.stemmer(SNOWBALL[language]))
    return (builder if language == "en" else builder.filter(Filter.ascii_fold())).build()


class PairAnalyser:
    """Overlapping pairs of characters of scripts without spaces between words; words of other scripts as they are."""

    def __init__(self, language: str) -> None:
        self.language = language

    def words(self, text: str) -> list[str]:
        """The pairs and words of a text; a single character between other scripts stays single."""
        found: list[str] = []
        for run in _RUNS.finditer(unicodedata.normalize("NFKC", text).lower()):
            if run[2]:
                if len(run[2].encode()) < LONGEST_WORD:
                    found.append(run[2])
                continue
            characters = run[1]
            found += [characters[at : at + 2] for at in range(max(len(characters) - 1, 1))]
        return found

    def stems(self, text: str) -> list[str]:
        """The same: pairs have no endings."""
        return self.words(text)


@cache
def analyser_for(language: str) -> Analyser:
    """The analyser of a language code; a language without a stemmer is analysed into whole words."""
    if not LANGUAGE_CODE.fullmatch(language):
        raise UnknownNameError("language of text", language, sorted({*SNOWBALL, *UNSEGMENTED}))
    return PairAnalyser(language) if language.partition("-")[0] in UNSEGMENTED else WordAnalyser(language)


def without_stop_words(words: Sequence[str], language: str) -> list[str]:
    """Words of a language without its stop words, as far as a list of them is known."""
    if language not in STOP_WORD_LISTS:
        return list(words)
    return [word for word in words if _stop_filter(language).analyze(word)]


@cache
def _stop_filter(language: str) -> tantivy.TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stopword(SNOWBALL[language]))
    return builder.build()
