"""Marks the words of a topic in an article, under any ending that the index takes for the same word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from evenrank.records import Topic
from evenrank.search.engine.analysis import analyser_for
from evenrank.search.query.topic_query import WORD, split_words, subject_words

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


def topic_stems(topic: Topic) -> dict[str, str]:
    """Stem → word of the topic's title and keywords; of the scope when they have none that tell the subject."""
    words = [word for name in _NAMES.split(topic.title) for word in subject_words(name, is_name=True)]
    words += [word for keyword in topic.keywords for word in subject_words(keyword, is_name=False)]
    words = words or subject_words(topic.scope, is_name=True) or split_words(topic.title)
    return {stem(word): word for word in reversed(words)}


def marker(stems: dict[str, str], texts: Iterable[str]) -> Marker:
    """The marker of an article, in time linear in its length: each distinct word is stemmed once."""
    times = Counter(word for text in texts for word in WORD.findall(text))
    found: Counter[str] = Counter()
    forms = []
    for form, count in times.items():
        word = stems.get(stem(form))
        if word is not None:
            forms.append(form)
            found[word] += count
    pattern = re.compile(rf"\b({'|'.join(sorted(forms, key=len, reverse=True))})\b") if forms else None
    return Marker(pattern, tuple(found.most_common()))


@lru_cache(100_000)
def stem(word: str) -> str:
    """A word as the index has it; itself when the index has no such word."""
    made = analyser_for("en").stems(word)
    return made[0] if made else word
