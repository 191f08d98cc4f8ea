"""What an encoder reads of a page: its title and first sentence, which say what it is about, and its categories."""

from __future__ import annotations

import re

from evenrank.retrieval.engine.protocol import StoredPage
from evenrank.wikipedia.annotate.wikitext import first_paragraph

READ_OF_A_PAGE = "title, first sentence; categories"
"""Changes when other texts of a page are encoded: vectors of different texts do not mix."""
_SENTENCE_END = re.compile(r"(?<=[^\s.][^\s.][^\s.])[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[^\W\d_a-z])|[。！？।]")
"""A full stop after a word of three letters or more, before a capital: neither "b." nor "U.S." nor "St." ends one."""
LONGEST_SENTENCE = 600
"""Characters that are searched for the end of a sentence."""


def first_sentence(text: str) -> str:
    """The first sentence of a text, at most 600 characters."""
    head = text.lstrip()[:LONGEST_SENTENCE]
    end = _SENTENCE_END.search(head)
    return head[: end.end()].rstrip() if end else head


def title_and_sentence(title: str, opening: str) -> str:
    """What a page says of itself: its title and the first sentence of its first paragraph."""
    lead = " ".join(first_paragraph(opening)[0].split())
    return f"{title}. {first_sentence(lead)}"


def encoded_texts(page: StoredPage) -> tuple[str, ...]:
    """The texts of a page whose vectors make up its own: what it says of itself, and what others filed it under."""
    said = title_and_sentence(page.title, page.opening)
    if not page.categories:
        return (said,)
    return said, f"{page.title}; {'; '.join(page.categories)}"
