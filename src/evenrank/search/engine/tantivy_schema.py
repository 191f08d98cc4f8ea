"""The tantivy schema: which fields there are, how their words are made, how a page becomes a document.

Integers are signed throughout: deletion by an unsigned term silently deletes nothing, and an unsigned value in a
document kills the writer.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from evenrank.search.engine.protocol import GROUP_FIELDS, IndexPage, TextField

if TYPE_CHECKING:
    import tantivy

SCHEMA_VERSION = 1
"""Changes when an index must be built anew."""
LONGEST_WORD = 40
OPENING_LENGTH = 2000
"""Characters of the text that are stored: for feedback, encoders and people."""
STEMMED, WORDS = "evenrank_stemmed", "evenrank_words"
ANALYSER_OF: dict[TextField, str] = {
    "title": STEMMED,
    "lead": WORDS,  # unstemmed: "boxing" must not find boxes, nor "engineering" engines
    "text": STEMMED,
    "categories": STEMMED,
    "infobox": STEMMED,
}
_POSITIONS: tuple[TextField, ...] = ("title", "lead", "categories")
"""Fields that know phrases; positions of the whole text would triple the index."""


def build_schema() -> tantivy.Schema:
    """The fields of an index."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("page_id", fast=True, indexed=True)
    builder.add_integer_field("ordinal", fast=True)
    for name, analyser in ANALYSER_OF.items():
        option = "position" if name in _POSITIONS else "freq"
        builder.add_text_field(name, stored=name == "title", tokenizer_name=analyser, index_option=option)
    builder.add_bytes_field("opening", stored=True)
    for dimension in GROUP_FIELDS:
        builder.add_integer_field(dimension, fast=True)
        builder.add_integer_field(f"{dimension}_group", indexed=True)
    builder.add_integer_field("quality_class", fast=True)
    builder.add_float_field("quality_score", fast=True)
    return builder.build()


def build_analysers() -> dict[str, tantivy.TextAnalyzer]:
    """Analysers by name; an index forgets them, so they are registered after every open."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    def words() -> tantivy.TextAnalyzerBuilder:
        builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD))
        return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())

    return {WORDS: words().build(), STEMMED: words().filter(Filter.stemmer("english")).build()}


def to_document(page: IndexPage, ordinal: int) -> tantivy.Document:
    """The document of a page. `ordinal` counts the pages of a build, so that a killed build knows where it was."""
    from tantivy import Document

    document = Document()
    document.add_integer("page_id", page.page_id)
    document.add_integer("ordinal", ordinal)
    document.add_text("title", page.title)
    document.add_text("text", page.text)
    for name, text in (("lead", page.lead), ("categories", page.categories), ("infobox", page.infobox)):
        if text:
            document.add_text(name, text)
    document.add_bytes("opening", page.text[:OPENING_LENGTH].encode("utf-8", "replace"))
    for name in GROUP_FIELDS:
        mask = int(page.masks[name])
        document.add_integer(name, mask)
        for group in groups_in(mask):
            document.add_integer(f"{name}_group", group)
    document.add_integer("quality_class", page.quality_class)
    if not math.isnan(page.quality_score):
        document.add_float("quality_score", page.quality_score)
    return document


@lru_cache(4096)
def groups_in(mask: int) -> tuple[int, ...]:
    """Positions of the bits that are set."""
    return tuple(position for position in range(mask.bit_length()) if mask >> position & 1)
