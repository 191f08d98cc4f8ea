"""The tantivy schema: which fields there are, how their words are made, how a page becomes a document.

Integers are signed throughout: deletion by an unsigned term silently deletes nothing, and an unsigned value in a
document kills the writer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from evenrank.search.engine.analysis import UNSTEMMED_FIELDS, analyse, analyser_for, compile_analyser, field_texts
from evenrank.search.engine.protocol import (
    POSITION_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    IndexLayout,
    IndexPage,
    groups_in,
    shown_texts,
)

if TYPE_CHECKING:
    import tantivy

STEMMED, WORDS = "evenrank_stemmed", "evenrank_words"


def build_schema(groups: Iterable[str]) -> tantivy.Schema:
    """The fields of an index whose pages carry the masks of some dimensions."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("page_id", fast=True, indexed=True)
    builder.add_integer_field("ordinal", fast=True)
    for name in TEXT_FIELDS:
        analyser = WORDS if name in UNSTEMMED_FIELDS else STEMMED
        option = "position" if name in POSITION_FIELDS else "freq"
        builder.add_text_field(name, tokenizer_name=analyser, index_option=option)
    for shown in SHOWN_FIELDS:
        builder.add_bytes_field(shown, stored=True)
    for dimension in groups:
        builder.add_integer_field(dimension, fast=True)
        builder.add_integer_field(f"{dimension}_group", indexed=True)
    builder.add_integer_field("quality_class", fast=True)
    builder.add_float_field("quality_score", fast=True)
    return builder.build()


def build_analysers(language: str) -> dict[str, tantivy.TextAnalyzer]:
    """Analysers by name; an index forgets them, so they are registered after every open.

    English is analysed while it is indexed. Any other language arrives as words joined by spaces (`to_document`).
    """
    if language == "en":
        return {WORDS: compile_analyser("en", is_stemmed=False), STEMMED: compile_analyser("en", is_stemmed=True)}
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return {name: TextAnalyzerBuilder(Tokenizer.whitespace()).build() for name in (WORDS, STEMMED)}


def to_document(page: IndexPage, ordinal: int, layout: IndexLayout) -> tantivy.Document:
    """The document of a page. `ordinal` counts the pages of a build, so that a killed build knows where it was."""
    from tantivy import Document

    document = Document()
    document.add_integer("page_id", page.page_id)
    document.add_integer("ordinal", ordinal)
    _add_texts(document, page, layout.language)
    for name, text in shown_texts(page).items():
        document.add_bytes(name, text.encode())
    for name in layout.groups:
        mask = int(page.masks.get(name, 1))
        document.add_integer(name, mask)
        for group in groups_in(mask):
            document.add_integer(f"{name}_group", group)
    document.add_integer("quality_class", page.quality_class)
    if not math.isnan(page.quality_score):
        document.add_float("quality_score", page.quality_score)
    return document


def _add_texts(document: tantivy.Document, page: IndexPage, language: str) -> None:
    """Each text under its field."""
    analyser = analyser_for(language)
    for name, text in field_texts(page, analyser).items():
        document.add_text(name, text if language == "en" else " ".join(analyse(analyser, name, text)))
