"""An article laid out for reading: blocks of marked text, long articles up to a limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evenrank.app.assess.ballot import MAX_COMMENT, new_nonce
from evenrank.app.assess.content import ArticleContent, ContentPart
from evenrank.app.assess.judging import Judging
from evenrank.app.assess.marking import SHOWN_WORDS, Marker, marker
from evenrank.trec.assessment.queues import MAX_REMARK, remarks_on

FIRST_CHARACTERS = 30_000
"""Text that is shown at once; the rest follows on request."""


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


def article_context(judging: Judging, topic: int, page_id: int, is_whole: bool) -> dict[str, Any]:
    """Values for a template that shows an article of a topic and asks about it."""
    content = judging.content(page_id)
    return {
        "topic": judging.topic(topic),
        "page_id": page_id,
        "article": None if content is None else lay_out(content, judging.stems(topic), is_whole, judging.language),
        "is_whole": is_whole,
        "guidelines": judging.guidelines,
        "answers": list(judging.answers.values()),
        "label_of": judging.labels(),
        "max_comment": MAX_COMMENT,
        "nonce": new_nonce(),
        "remarks": remarks_on(judging.store, topic, page_id),
        "max_remark": MAX_REMARK,
        "opened": f"{time.time():.1f}",
    }
