"""Weighted terms and restrictions → the body of an OpenSearch search; no text of a user is ever parsed by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evenrank.retrieval.engine.opensearch_index import MOST_TERMS
from evenrank.retrieval.engine.protocol import Query, Restriction, WeightedTerm, merge_terms, set_bits

_NO_WORD = "zqnowhereqz"
"""A word of no page."""
NOTHING_STORED = {"_source": False, "stored_fields": "_none_"}
"""Hits without what is stored, ids of documents included: unpacking it takes most of the time of a long answer."""


def search_body(query: Query, n_asked: int) -> dict[str, Any]:
    """The body that asks for the first `n_asked` pages of a query, equal scores by page id."""
    terms = merge_terms(query.terms)
    scoring = [_term_clause(term) for term in terms]
    scoring += [_statistics_clause(field) for field in sorted({term.field for term in terms if term.is_phrase})]
    body: dict[str, Any] = {
        "size": n_asked,
        **NOTHING_STORED,
        "track_total_hits": False,
        "sort": [{"_score": "desc"}, {"page_id": "asc"}],
        "query": {
            "bool": {"should": scoring, "minimum_should_match": 1, "filter": list(_filters(query.restriction))},
        },
    }
    if query.restriction.up_to_page_id is not None:
        # Among the filters, a range makes shards without such a page drop out, and their statistics with them.
        body["post_filter"] = {"range": {"page_id": {"lte": int(query.restriction.up_to_page_id)}}}
    return body


def _term_clause(term: WeightedTerm) -> dict[str, Any]:
    """The best of the alternatives, the words in a row, or all of several words, times the weight."""
    weight = float(term.weight)
    if term.with_words:
        parts = [_best_word(term.field, words, 1.0) for words in (term.words, *term.with_words)]
        return {"bool": {"must": parts, "boost": weight}}
    if term.is_phrase and len(term.words) > 1:
        phrase = {"query": " ".join(term.words), "analyzer": "whitespace", "boost": weight}
        return {"match_phrase": {term.field: phrase}}
    return _best_word(term.field, term.words, weight)


def _best_word(field: str, words: Sequence[str], weight: float) -> dict[str, Any]:
    single = [{"term": {field: {"value": word}}} for word in dict.fromkeys(words)]
    if len(single) == 1:
        return {"term": {field: {"value": words[0], "boost": weight}}}
    return {"dis_max": {"queries": single, "tie_breaker": 0.0, "boost": weight}}


def _statistics_clause(field: str) -> dict[str, Any]:
    """Matches nothing, and makes every shard report the statistics of the field: a shard that lacks the words of a
    phrase reports none for it, and the phrase would be scored as if the shard's pages did not exist."""
    return {"term": {field: {"value": _NO_WORD}}}


def _filters(restriction: Restriction) -> Iterator[dict[str, Any]]:
    for name, mask in restriction.groups.items():
        yield {"terms": {f"{name}_group": list(set_bits(int(mask)))}}
    if restriction.page_ids is not None:
        yield {"bool": {"should": list(_id_clauses(restriction.page_ids)), "minimum_should_match": 1}}


def _id_clauses(page_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    ids = [int(page_id) for page_id in page_ids]
    for start in range(0, max(1, len(ids)), MOST_TERMS):
        yield {"terms": {"page_id": ids[start : start + MOST_TERMS]}}
