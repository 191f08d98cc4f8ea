"""Search that finds synonyms: words that people look for become keywords of the pages that have another word for them.

`synonyms.toml` lists, for each word of our pages, what others say. A page with the word in a heading is found by these.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

SYNONYMS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "synonyms.toml").read_text("utf-8"))


def keywords_of(headings: list[str]) -> list[str]:
    """What else people may call the things that headings name; plural forms count as the same word."""
    words = {
        form for word in re.findall(r"[\w-]+", " ".join(headings).lower()) for form in (word, word.removesuffix("s"))
    }
    return sorted({other for word, others in SYNONYMS.items() if word in words for other in others})


def add_keywords(app: Sphinx, doctree: nodes.document) -> None:
    """Gives a page the keywords of its headings, which Sphinx puts into the index of its search."""
    keywords = keywords_of([title.astext() for title in doctree.findall(nodes.title)])
    if keywords:
        doctree.insert(0, nodes.meta(name="keywords", content=", ".join(keywords)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the keywords with Sphinx."""
    app.connect("doctree-read", add_keywords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
