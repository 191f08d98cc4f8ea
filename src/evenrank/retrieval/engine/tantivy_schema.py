"""The tantivy schema: its fields, documents, analysers and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from evenrank.retrieval.engine.analysis import (
    ABSENT,
    UNSTEMMED_FIELDS,
    analyse,
    analyser_for,
    compile_analyser,
    field_texts,
    fold,
)
from evenrank.retrieval.engine.protocol import (
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
BUILT_IN = {STEMMED: "en_stem", WORDS: "default"}
"""tantivy's own analysers, which give English text that is folded the same words, and are faster than any that can be
put together from here; indexes made before they were used have ours."""


def build_schema(groups: Iterable[str], language: str = "en") -> tantivy.Schema:
    """The fields of an index whose pages carry the masks of some dimensions."""
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("page_id", fast=True, indexed=True)
    builder.add_integer_field("ordinal", fast=True)
    for name in TEXT_FIELDS:
        analyser = WORDS if name in UNSTEMMED_FIELDS else STEMMED
        option = "position" if name in POSITION_FIELDS else "freq"
        tokenizer = BUILT_IN[analyser] if language == "en" else analyser
        builder.add_text_field(name, tokenizer_name=tokenizer, index_option=option)
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

    English arrives folded and is analysed while it is indexed, any other language as words joined by spaces
    (`document_maker`).
    """
    if language == "en":
        return {WORDS: compile_analyser("en", is_stemmed=False), STEMMED: compile_analyser("en", is_stemmed=True)}
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return {name: TextAnalyzerBuilder(Tokenizer.whitespace()).build() for name in (WORDS, STEMMED)}


def document_maker(layout: IndexLayout) -> Callable[[IndexPage, int], tantivy.Document]:
    """The function from a page, and its number in the build, to its document.

    The number says how far a build came when it was killed. Fields are added one by one, with the type of each, which
    takes a third of the time of a document made from a dictionary; what all pages share is looked up once.
    """
    from tantivy import Document

    analyser = analyser_for(layout.language)
    is_english = layout.language == "en"
    dimensions = [(name, f"{name}_group") for name in layout.groups]

    def to_document(page: IndexPage, ordinal: int) -> tantivy.Document:
        document = Document()
        add_integer, add_text, add_bytes = document.add_integer, document.add_text, document.add_bytes
        add_integer("page_id", page.page_id)
        add_integer("ordinal", ordinal)
        for name, text in field_texts(page, analyser).items():
            if is_english:
                add_text(name, fold(text))
            else:
                add_text(name, ABSENT if text is ABSENT else " ".join(analyse(analyser, name, text)))
        for shown, content in shown_texts(page).items():
            if content:
                add_bytes(shown, content)
        for dimension, group_field in dimensions:
            mask = int(page.masks.get(dimension, 1))
            add_integer(dimension, mask)
            for group in set_bits(mask):
                add_integer(group_field, group)
        add_integer("quality_class", page.quality_class)
        if not isnan(page.quality_score):
            document.add_float("quality_score", page.quality_score)
        return document

    return to_document


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
