"""What an article says that it is, by its first sentence: "is a river in …", or somebody, whose article is a biography.

Pages are asked whether they are biographies when they are indexed, so that a search can tell them at no cost; kinds of
thing (`query/kinds.py`) are read from what the index stores.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from evenrank.retrieval.word_lists import word_list

HEAD = 300
"""Characters of an article in which it says what it is, and a biography gives the dates of a life."""


class Definition(NamedTuple):
    """How "is a …" is read."""

    says: re.Pattern[str]
    """The first group is what follows "is a"."""
    end: re.Pattern[str]
    """Where the noun phrase in it ends."""


def _phrase_end(*words: str, flags: int = 0) -> re.Pattern[str]:
    always = ("who", "that", "which", "in", "for", "from", "by", "with", "at", "on", "based", "born", "and", "known")
    return re.compile(rf",|\b(?:{'|'.join((*always, *words))})\b", flags)


_PERSON = Definition(
    re.compile(r"(?:i(?<=\bi)s|w(?<=\bw)as) (?:an?|the)\s+([^.;:()]{1,100})"), _phrase_end("of", flags=re.IGNORECASE)
)
"""A word boundary is looked for behind the first letter, which is found faster than a boundary."""
KIND_OF_THING = Definition(
    re.compile(r"\b(?:is|was|are|were) (?:one of |among )?(?:an?|the)\s+([^.;:()]{1,120})"),
    _phrase_end(
        *("where", "when", "to", "as", "near", "along", "between", "through"),
        *("located", "situated", "found", "endemic", "native", "written"),
    ),
)
"""Things can be many, are somewhere, and may be "a species of moth"."""


def defining_phrase(text: str, definition: Definition) -> str:
    """The noun phrase after the first "is a" of an article; empty when it does not say."""
    said = definition.says.search(text[:HEAD])
    return definition.end.split(said[1], maxsplit=1)[0] if said else ""


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
