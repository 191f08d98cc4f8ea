"""The lists of words that come with the package."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of a list: `stop_words`, `generic_words` or `person_words`."""
    return frozenset(" ".join(lines_of(name)).split())


@cache
def lines_of(name: str) -> tuple[str, ...]:
    """The lines of a list, without comments."""
    text = resources.files("evenrank.retrieval.query").joinpath(f"{name}.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))
