"""How often words occur, from a tantivy index: it tells that only when it explains a score, page by page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from evenrank.retrieval.engine.protocol import TextField, WordCounts

if TYPE_CHECKING:
    import tantivy

MOST_COUNTED = 1000
"""Pages of a word in which its occurrences are counted; those of a more frequent word are projected from as many pages,
evenly spread over their ids, so that they do not depend on how the index was written."""
_TERM = re.compile(r'Term=Term\(field=\d+, type=Str, "(.*)"\)$', re.DOTALL)


def count_words(
    searcher: tantivy.Searcher,
    schema: tantivy.Schema,
    field: TextField,
    words: Sequence[str],
    addresses: Sequence[tantivy.DocAddress | None],
) -> WordCounts:
    """Occurrences of words in pages (None: a page that is not there) and in all pages."""
    from tantivy import Occur, Query

    terms = [Query.term_query(schema, field, word) for word in words]
    query = Query.boolean_query([(Occur.Should, term) for term in terms])
    numbers = {word: number for number, word in enumerate(words)}
    counts, lengths = np.zeros((len(addresses), len(words))), np.zeros(len(addresses))
    mean_length = 0.0
    for row, address in enumerate(addresses):
        for word, count, length, mean in _explained(query, searcher, address):
            counts[row, numbers[word]], lengths[row], mean_length = count, length, mean
    total = np.array([_occurrences(term, searcher) for term in terms])
    return WordCounts(counts, lengths, total, mean_length, searcher.num_docs)


def _occurrences(term: tantivy.Query, searcher: tantivy.Searcher) -> float:
    """Of a word in all pages."""
    found = searcher.search(term, max(searcher.num_docs, 1), count=False, order_by_field="page_id").hits
    if not found:
        return 0.0
    chosen = np.unique(np.linspace(0, len(found) - 1, min(len(found), MOST_COUNTED)).astype(np.intp))
    counts = [count for place in chosen for _, count, _, _ in _explained(term, searcher, found[place][1])]
    return float(np.mean(counts) * len(found))


def _explained(
    query: tantivy.Query, searcher: tantivy.Searcher, address: tantivy.DocAddress | None
) -> Iterator[tuple[str, float, float, float]]:
    """(word, its occurrences, length of the field, mean length) for the words of a query that a page has."""
    if address is None:
        return
    try:
        explanation = orjson.loads(query.explain(searcher, address).to_json())
    except ValueError:  # no word of the query is in the page
        return
    yield from _term_scores(explanation)


def _term_scores(node: dict[str, Any]) -> Iterator[tuple[str, float, float, float]]:
    found = _TERM.match((node.get("context") or [""])[0])
    if found is None:
        for part in node.get("details") or ():
            yield from _term_scores(part)
        return
    parts = {part["description"].partition(",")[0]: part for part in node["details"][2]["details"]}
    yield orjson.loads(f'"{found.group(1)}"'), *(float(parts[name]["value"]) for name in ("freq", "dl", "avgdl"))
