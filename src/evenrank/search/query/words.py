"""Words of a topic: which of them tell the subject, and the forms under which unstemmed text has them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib import resources

from evenrank.search.engine.analysis import analyser_for, without_stop_words

ENGLISH = "en"
WORD = re.compile(r"\w+")
_CUT_OFF = re.compile(r"\w*(?:\.\.\.|…)\s*$")
_SIBILANT = ("s", "x", "z", "ch", "sh")


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of a list that comes with the package: `stop_words`, `generic_words` or `person_words`."""
    return frozenset(" ".join(lines_of(name)).split())


@cache
def lines_of(name: str) -> tuple[str, ...]:
    """The lines of a list that comes with the package, without comments."""
    text = resources.files("evenrank.search.query").joinpath(f"{name}.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


def split_words(text: str, language: str = ENGLISH) -> list[str]:
    """Words in lower case and without accents; a last word that is cut off by an ellipsis is left out."""
    if language != ENGLISH:
        return analyser_for(language).words(_CUT_OFF.sub("", text))
    plain = unicodedata.normalize("NFKD", _CUT_OFF.sub("", text).lower())
    return WORD.findall("".join(char for char in plain if not unicodedata.combining(char)))


def subject_words(text: str, *, is_name: bool, language: str = ENGLISH) -> list[str]:
    """Words of a text that tell its subject; of a project's name or scope also without the usual wording."""
    if language != ENGLISH:
        return without_stop_words(split_words(text, language), language)
    dropped = word_list("stop_words") | (word_list("generic_words") if is_name else frozenset())
    return [word for word in split_words(text) if word not in dropped]


def singular(word: str) -> str:
    """A word without its regular plural ending (Harman's S-stemmer)."""
    if len(word) <= 3 or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and word[:-2].endswith(_SIBILANT):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def number_forms(word: str, language: str = ENGLISH) -> tuple[str, ...]:
    """The word itself, and its regular singular or plural: the forms that count as one word without stemming."""
    if language != ENGLISH:
        return (word,)
    single = singular(word)
    if single.endswith("y") and len(single) > 2 and single[-2] not in "aeiou":
        plural = single[:-1] + "ies"
    else:
        plural = single + ("es" if single.endswith(_SIBILANT) else "s")
    return tuple(dict.fromkeys((word, single, plural)))
