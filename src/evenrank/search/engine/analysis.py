"""Text → words, the same for every engine: what a page is indexed under and what a query asks for.

Words are made on the client. Engines that cannot run this analysis themselves index the words joined by spaces, so
that every engine holds the same words and gives the same answers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol

from evenrank.errors import UnknownNameError
from evenrank.search.engine.protocol import TEXT_FIELDS, IndexPage, TextField

if TYPE_CHECKING:
    import tantivy

LONGEST_WORD = 40
"""Bytes; runs of letters and digits that are so long, or longer, are not words."""
ABSENT = "zzabsentfieldzz"
"""The word of a field that a page does not have. Nobody asks for it: engines differ in whether pages without a field
count in its statistics, and so in their scores, unless every page has every field."""
UNSTEMMED_FIELDS: frozenset[TextField] = frozenset({"lead"})
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
    texts: dict[TextField, str] = {name: getattr(page, name) for name in TEXT_FIELDS}
    for name, text in texts.items():
        if not (_SHORT_WORD.search(text) or analyse(analyser, name, text)):
            texts[name] = ABSENT
    return texts


class EnglishAnalyser:
    """Letters and digits, lower case, folded to ASCII; stems by the Snowball English stemmer.

    Compiled by tantivy, which is always installed; no index is needed.
    """

    language = "en"

    def __init__(self) -> None:
        self._local = threading.local()  # a compiled analyser serves one thread at a time

    def words(self, text: str) -> list[str]:
        """The words of a text: lower case, without accents."""
        return list(self._compiled(is_stemmed=False).analyze(text))

    def stems(self, text: str) -> list[str]:
        """The words of a text without their endings."""
        return list(self._compiled(is_stemmed=True).analyze(text))

    def _compiled(self, *, is_stemmed: bool) -> tantivy.TextAnalyzer:
        name = "stems" if is_stemmed else "words"
        if not hasattr(self._local, name):
            setattr(self._local, name, compiled_english(is_stemmed=is_stemmed))
        compiled: tantivy.TextAnalyzer = getattr(self._local, name)
        return compiled


def compiled_english(*, is_stemmed: bool) -> tantivy.TextAnalyzer:
    """The English analysis in the form that tantivy runs while it indexes."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD))
    builder = builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())
    return (builder.filter(Filter.stemmer("english")) if is_stemmed else builder).build()


ANALYSERS: dict[str, Callable[[], Analyser]] = {"en": EnglishAnalyser}
"""The visible list of languages, by code."""


@cache
def analyser_for(language: str) -> Analyser:
    """The analyser of a language; an error that lists the known ones otherwise."""
    if language not in ANALYSERS:
        raise UnknownNameError("language of text", language, ANALYSERS)
    return ANALYSERS[language]()
