"""An article laid out for reading: the topic's words are marked, and long articles are cut at a limit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup, escape

from evenrank.app.assess.texts import ArticleContent, ContentPart
from evenrank.core.records import Topic
from evenrank.retrieval.engine.analysis import UNSEGMENTED, analyser_for
from evenrank.retrieval.query.topic_query import WORD, split_words, subject_words

SHOWN_WORDS = 12
"""Words that the summary above an article names."""
_NAMES = re.compile(r"[/:]")
FIRST_CHARACTERS = 30_000
"""Text that is shown at once; the rest follows on request."""


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
        return Markup("".join(pieces))  # pieces are escaped # nosec B704


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


@dataclass(frozen=True)
class TextBlock:
    """A heading or a paragraph."""

    level: int
    """1 to 6 for a heading, 0 for a paragraph."""
    text: Markup


@dataclass(frozen=True)
class Reading:
    """What appears on the page."""

    title: str
    blocks: tuple[TextBlock, ...]
    facts: tuple[tuple[str, Markup], ...]
    tables: tuple[Markup, ...]
    captions: tuple[Markup, ...]
    categories: tuple[Markup, ...]
    words: tuple[tuple[str, int], ...]
    """Words of the topic in the whole article, most frequent first."""
    n_more_words: int
    """Words of the topic beyond those."""
    n_left: int
    """Characters that are not shown yet."""


def lay_out(content: ArticleContent, stems: dict[str, str], is_whole: bool = False, language: str = "en") -> Reading:
    """The article with the topic's words marked; long ones end after the paragraph at the limit unless whole."""
    mark = marker(stems, content.texts(), language)
    blocks, n_left = _cut(list(_blocks(content.parts)), None if is_whole else FIRST_CHARACTERS)
    return Reading(
        title=content.title,
        blocks=tuple(TextBlock(level, mark(text)) for level, text in blocks),
        facts=tuple((name, mark(value)) for name, value in content.facts),
        tables=_marked(mark, content.tables) if not n_left else (),
        captions=_marked(mark, content.captions) if not n_left else (),
        categories=_marked(mark, content.categories),
        words=mark.counts[:SHOWN_WORDS],
        n_more_words=max(0, len(mark.counts) - SHOWN_WORDS),
        n_left=n_left,
    )


def _marked(mark: Marker, texts: tuple[str, ...]) -> tuple[Markup, ...]:
    return tuple(map(mark, texts))


def _blocks(parts: tuple[ContentPart, ...]) -> Iterator[tuple[int, str]]:
    for part in parts:
        if part.title:
            yield max(part.level, 1), part.title
        yield from ((0, line) for line in part.text.split("\n") if line.strip())


def _cut(blocks: list[tuple[int, str]], limit: int | None) -> tuple[list[tuple[int, str]], int]:
    """The blocks up to the limit, and the number of characters behind it; one long paragraph is cut inside."""
    if limit is None:
        return blocks, 0
    shown: list[tuple[int, str]] = []
    room = limit
    for place, (level, text) in enumerate(blocks):
        if len(text) > room:
            end = text.rfind(" ", 0, room) if not shown else -1
            shown += [(level, text[:end])] if end > 0 else []
            left = len(text) - max(end, 0) + sum(len(rest) for _, rest in blocks[place + 1 :])
            return shown, left
        shown.append((level, text))
        room -= len(text)
    return shown, 0
