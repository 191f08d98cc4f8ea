"""Marks the words of a topic in an article, under any ending that the index takes for the same word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import UNSEGMENTED, analyser_for
from evenrank.retrieval.query.topic_query import WORD, split_words, subject_words

SHOWN_WORDS = 12
"""Words that the summary above an article names."""
_NAMES = re.compile(r"[/:]")


@dataclass(frozen=True)
class Marker:
    """Marks the words that one article shares with a topic."""

    pattern: re.Pattern[str] | None
    """Finds the words; None when there are none."""
    counts: tuple[tuple[str, int], ...]
    """The topic's words in the article and how often they stand there, most frequent first."""

    def __call__(self, text: str) -> Markup:
        """The text, escaped, with each of the words in a `<mark>`."""
        if self.pattern is None:
            return escape(text)
        pieces = self.pattern.split(text)
        pieces[::2] = map(escape, pieces[::2])
        pieces[1::2] = [f"<mark>{word}</mark>" for word in pieces[1::2]]  # words have no character to escape
        return Markup("".join(pieces))


def topic_stems(topic: Topic, language: str = "en") -> dict[str, str]:
    """Stem → word of the topic's title and keywords; of the scope when they have none that tell the subject."""
    words = [word for name in _NAMES.split(topic.title) for word in _subject(name, language, is_name=True)]
    words += [word for keyword in topic.keywords for word in _subject(keyword, language)]
    words = words or _subject(topic.scope, language, is_name=True) or split_words(topic.title, language)
    return {stem(word, language): word for word in reversed(words)}


def _subject(text: str, language: str, *, is_name: bool = False) -> list[str]:
    return subject_words(text, is_name=is_name, language=language)


def marker(stems: dict[str, str], texts: Iterable[str], language: str = "en") -> Marker:
    """The marker of an article, in time linear in its length: each distinct word is stemmed once."""
    if language in UNSEGMENTED:
        return _pair_marker(stems, texts)
    times = Counter(word for text in texts for word in WORD.findall(text))
    found: Counter[str] = Counter()
    forms = []
    for form, count in times.items():
        word = stems.get(stem(form, language))
        if word is not None:
            forms.append(form)
            found[word] += count
    pattern = re.compile(rf"\b({'|'.join(sorted(forms, key=len, reverse=True))})\b") if forms else None
    return Marker(pattern, tuple(found.most_common()))


def _pair_marker(stems: dict[str, str], texts: Iterable[str]) -> Marker:
    """The marker of an article without spaces between words: the pairs of characters that the index has."""
    if not stems:
        return Marker(None, ())
    pattern = re.compile(f"({'|'.join(map(re.escape, sorted(stems, key=len, reverse=True)))})")
    found = Counter(stems[pair] for text in texts for pair in pattern.findall(text))
    return Marker(pattern, tuple(found.most_common()))


@lru_cache(100_000)
def stem(word: str, language: str = "en") -> str:
    """A word as the index has it; itself when the index has no such word."""
    made = analyser_for(language).stems(word)
    return made[0] if made else word
