"""Weighted terms and restrictions → a tantivy query, built from terms so that no text of a user is ever parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from evenrank.search.engine.protocol import Restriction, WeightedTerm, groups_in, merge_terms

if TYPE_CHECKING:
    from tantivy import Query, Schema


def build_query(schema: Schema, terms: Sequence[WeightedTerm], restriction: Restriction) -> Query:
    """The query that scores by `terms` among the pages that `restriction` allows."""
    from tantivy import Occur, Query

    scoring = Query.boolean_query([(Occur.Should, _term_query(schema, term, Query)) for term in merge_terms(terms)])
    filters = list(_filters(schema, restriction))
    if not filters:
        return scoring
    silent = [(Occur.Must, Query.const_score_query(query, 0.0)) for query in filters]
    return Query.boolean_query([(Occur.Must, scoring), *silent])


def _term_query(schema: Schema, term: WeightedTerm, query: type[Query]) -> Query:
    """The best of the alternatives, or the words in a row, times the weight."""
    if term.is_phrase and len(term.words) > 1:
        found = query.phrase_query(schema, term.field, list(term.words))
    elif len(term.words) == 1:
        found = query.term_query(schema, term.field, term.words[0], "freq")
    else:
        single = [query.term_query(schema, term.field, word, "freq") for word in dict.fromkeys(term.words)]
        found = query.disjunction_max_query(single)
    return found if term.weight == 1.0 else query.boost_query(found, float(term.weight))


def _filters(schema: Schema, restriction: Restriction) -> Iterable[Query]:
    from tantivy import FieldType, Query

    for name, mask in restriction.groups.items():
        yield Query.term_set_query(schema, f"{name}_group", list(groups_in(int(mask))))
    if restriction.page_ids is not None:
        yield Query.term_set_query(schema, "page_id", [int(page) for page in restriction.page_ids])
    if restriction.up_to_page_id is not None:
        last = int(restriction.up_to_page_id)
        yield Query.range_query(schema, "page_id", FieldType.Integer, None, last)
