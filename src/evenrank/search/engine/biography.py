"""Is a page about one person? The dates of a life, what somebody "is" or "was", or a category of births tells.

Pages are asked when they are indexed, so that a search can tell biographies from other pages at no cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from evenrank.search.word_lists import word_list

BIOGRAPHY = "biography"
"""The word of the field `person` of a biography."""
_LIFE_DATES = re.compile(r"\([^()]*\b(?:born\b|b\.\s|\d{3,4}[^()]*[–-][^()]*\d{3,4})")
_IS_A = re.compile(r"(?:i(?<=\bi)s|w(?<=\bw)as) (?:an?|the)\s+([^.;:()]{1,100})")
"""A word boundary is looked for behind the first letter, which is found faster than a boundary."""
_NOUN_PHRASE_END = re.compile(r",|\b(?:who|that|which|of|in|for|from|by|with|at|on|based|born|and|known)\b")
_WORD = re.compile(r"\w+")
_NOT_ONE_PERSON = frozenset({"people", "biography", "biographical", "model", "official", "nobility", "royalty"})
"""Words about people that mean something else, or several, after "is a"."""
_OF_LIVES = re.compile(r"\b(?:births|deaths)$|^Living people$")
"""English categories that only biographies have."""
_HEAD = 300
"""Characters at the beginning in which a biography gives the dates of a life."""


def is_biography(text: str, categories: Iterable[str] = ()) -> bool:
    """Whether the first words hold the dates of a life or name a person's occupation, or a category tells of births."""
    head = text[:_HEAD]
    has_life_dates = "(" in head and _LIFE_DATES.search(head) is not None
    return has_life_dates or _is_somebody(head) or any(map(_OF_LIVES.search, categories))


def _is_somebody(head: str) -> bool:
    """Whether the first "is a" or "was the" is followed by a word for a person: "is a retired Indian diplomat"."""
    said = _IS_A.search(head)
    words = _WORD.findall(_NOUN_PHRASE_END.split(said[1].lower(), maxsplit=1)[0]) if said else []
    return bool(words) and words[-1] in word_list("person_words") and words[-1] not in _NOT_ONE_PERSON
