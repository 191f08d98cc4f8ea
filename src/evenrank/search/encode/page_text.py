"""What an encoder reads of a page: its title and first sentence, which say what the page is about."""

from __future__ import annotations

import re

_SENTENCE_END = re.compile(r"(?<=[^\s.][^\s.][^\s.])[.!?][\"'”’)\]]*(?=\s+[\"'“‘(\[]?[^\W\d_a-z])|[。！？।]|\n")
"""A full stop after a word of three letters or more, before a capital: neither "b." nor "U.S." nor "St." ends one."""
LONGEST_SENTENCE = 600
"""Characters that are searched for the end of a sentence."""


def first_sentence(text: str) -> str:
    """The first sentence of a text, at most 600 characters."""
    head = text.lstrip()[:LONGEST_SENTENCE]
    end = _SENTENCE_END.search(head)
    return head[: end.end()].rstrip() if end else head


def encoded_text(title: str, opening: str) -> str:
    """The text of a page that becomes its vector."""
    return f"{title}. {first_sentence(opening)}"
