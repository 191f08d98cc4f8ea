"""The tantivy schema: its fields, documents, analysers and queries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from evenrank.search.engine.analysis import UNSTEMMED_FIELDS, analyse, analyser_for, compile_analyser, field_texts
from evenrank.search.engine.protocol import (
    POSITION_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    IndexLayout,
    IndexPage,
    Restriction,
    TextField,
    WeightedTerm,
    merge_terms,
    set_bits,
    shown_texts,
)

if TYPE_CHECKING:
    import tantivy
    from tantivy import Query, Schema


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
        document.add_bytes(name, text)
    for name in layout.groups:
        mask = int(page.masks.get(name, 1))
        document.add_integer(name, mask)
        for group in set_bits(mask):
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


def scoring_query(schema: Schema, terms: Sequence[WeightedTerm]) -> Query:
    """The query that scores by `terms`."""
    from tantivy import Occur, Query

    return Query.boolean_query([(Occur.Should, _term_query(schema, term, Query)) for term in merge_terms(terms)])


def restrict(schema: Schema, scoring: Query, restriction: Restriction) -> Query:
    """A query among the pages that `restriction` allows."""
    from tantivy import Occur, Query

    filters = list(_filters(schema, restriction))
    if not filters:
        return scoring
    silent = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in filters]
    return Query.boolean_query([(Occur.Must, scoring), *silent])


def _term_query(schema: Schema, term: WeightedTerm, query: type[Query]) -> Query:
    """The best of the alternatives, the words in a row, or all of several words, times the weight."""
    from tantivy import Occur

    if term.is_phrase and len(term.words) > 1:
        found = query.phrase_query(schema, term.field, list(term.words))
    elif term.with_words:
        parts = [_best_word(schema, term.field, words, query) for words in (term.words, *term.with_words)]
        found = query.boolean_query([(Occur.Must, part) for part in parts])
    else:
        found = _best_word(schema, term.field, term.words, query)
    return found if term.weight == 1.0 else query.boost_query(found, float(term.weight))


def _best_word(schema: Schema, field: TextField, words: Sequence[str], query: type[Query]) -> Query:
    single = [query.term_query(schema, field, word, "freq") for word in dict.fromkeys(words)]
    return single[0] if len(single) == 1 else query.disjunction_max_query(single)


def is_one_of(scoring: Query, filters: Sequence[Query]) -> Query:
    """A query among the pages that at least one filter lets through."""
    from tantivy import Occur, Query

    either = Query.boolean_query([(Occur.Should, each) for each in filters])
    return Query.boolean_query([(Occur.Must, scoring), (Occur.Must, Query.const_score_query(either, 0.0))])


def group_filter(schema: Schema, groups: Mapping[str, int]) -> Query:
    """Pages that share a bit with the mask of every dimension."""
    from tantivy import Occur, Query

    parts = [_in_groups(schema, name, int(mask)) for name, mask in groups.items()]
    return parts[0] if len(parts) == 1 else Query.boolean_query([(Occur.Must, part) for part in parts])


def _in_groups(schema: Schema, dimension: str, mask: int) -> Query:
    """Pages of any of the groups in a mask."""
    from tantivy import Query

    groups, field = set_bits(mask), f"{dimension}_group"
    if len(groups) == 1:  # read from the postings; of a set, all pages are collected first
        return Query.term_query(schema, field, groups[0], "basic")
    return Query.term_set_query(schema, field, list(groups))


def _filters(schema: Schema, restriction: Restriction) -> Iterable[Query]:
    from tantivy import FieldType, Query

    for name, mask in restriction.groups.items():
        yield _in_groups(schema, name, int(mask))
    if restriction.page_ids is not None:
        yield Query.term_set_query(schema, "page_id", [int(page) for page in restriction.page_ids])
    if restriction.up_to_page_id is not None:
        last = int(restriction.up_to_page_id)
        yield Query.range_query(schema, "page_id", FieldType.Integer, None, last)
